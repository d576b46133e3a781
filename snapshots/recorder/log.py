"""Writes what a process does as events in Cutline's native format.

A call puts a finished line into a queue in memory; a thread of the log takes it from there to disk.
So a call takes microseconds, from any thread and from coroutines.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from .targets import FileTarget, ServerTarget
from .values import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable

MessageId = Union[int, str]

_LOG = logging.getLogger("cutline_recorder")
_PAUSE = 0.02  # seconds in which events gather before they are written
_LINES_AT_ONCE = 5_000
_MOST_WAITING = 100_000


class Log:
    """The log of one process.

    The times in it never fall. No event is left out in silence: if one cannot be written, because
    the disk or the spool is full, its ``index`` is missing, a warning says so, and ``lost`` counts
    it. Use one log in one process of the operating system, opened behind any fork.
    """

    def __init__(
        self,
        process: str,
        target: FileTarget | ServerTarget,
        header: dict[str, Any],
        *,
        at_once: bool,
    ) -> None:
        """Use ``Log.to_file`` or ``Log.to_server``."""
        if process not in [item["id"] for item in header["processes"]]:
            raise ValueError(f"The header does not name the process {process!r}.")
        self.process = process
        self._lost_in_memory = self._lost_on_disk = 0
        self._is_losing = False
        self._target = target
        self._origin = target.origin
        self._next, self._at = target.next_index, target.last_at
        self._write_counter = target.counter.write
        self._incoming = _channels(header, "target", process)
        self._outgoing = _channels(header, "source", process)
        self._begin = f'","process":{json_text(process)},"index":'
        self._waiting: deque[bytes] = deque()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._wake, self._closing = threading.Event(), threading.Event()
        self._is_closed = False
        self._at_once = at_once
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="cutline log", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        if target.missing:
            _LOG.warning("%d events of %s before this start are missing.", target.missing, process)

    @classmethod
    def to_file(
        cls, process: str, path: str | Path, header: dict[str, Any], *, at_once: bool = False
    ) -> Log:
        """Log to a file of this process; ``python -m cutline_recorder join`` joins several.

        A log goes on behind the events that a file has already.

        at_once: whether each call writes its event before it returns. That takes longer, and then
        ``kill -9`` loses no event: what the process did and what its log says are the same.

        Raises: ValueError, InUse or OSError if the file is another log, is in use or not writable.
        """
        return cls(process, FileTarget(Path(path), process, header), header, at_once=at_once)

    @classmethod
    def to_server(
        cls,
        process: str,
        address: str,
        header: dict[str, Any],
        *,
        token: str,
        spool: str | Path,
        most_bytes: int = 256 * 1024 * 1024,
        at_once: bool = False,
        **sending: Any,
    ) -> Log:
        """Log to an open recording of a Cutline server.

        address: of the recording, such as ``https://cutline.example.org/api/recordings/12``.
        spool: a folder of this process for events that the server has not taken yet.
        most_bytes: how much may wait there.
        at_once: whether each call writes its event to the spool before it returns.
        sending: see ``Sender``.

        Raises: ValueError, InUse or OSError, about the address and the spool.
        """
        target = ServerTarget(Path(spool), process, header, address, most_bytes, token, **sending)
        return cls(process, target, header, at_once=at_once)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def lost(self) -> int:
        """How many events of this run could not be written, or were refused as too large."""
        return self._lost_in_memory + self._lost_on_disk + self._target.refused

    @property
    def problem(self) -> str | None:
        """Why the server does not take the events at the moment, in a sentence."""
        return self._target.problem

    @property
    def waiting_bytes(self) -> int:
        """How many bytes of events the server has not taken yet; 0 for a file."""
        return self._target.waiting_bytes

    def sent(
        self,
        channel: str,
        value: Any = None,
        *,
        state: Any = None,
        message: MessageId | None = None,
    ) -> MessageId:
        """Log that a message goes out, and return its id, which travels with it.

        state: of the process after the event; None if not known. message: an id of your own, which
        no other message of the channel has.
        """
        rest = _part(self._outgoing, channel, "outgoing")
        rest += _optional("value", value) + _optional("state", state)
        if message is None:
            return self._add("send", rest, "message")
        self._add("send", f',"message":{json_text(message)}{rest}')
        return message

    def received(
        self, channel: str, message: MessageId, value: Any = None, *, state: Any = None
    ) -> None:
        """Log that a message came in, with the id that it carried."""
        rest = _part(self._incoming, channel, "incoming") + f',"message":{json_text(message)}'
        rest += _optional("value", value) + _optional("state", state)
        self._add("receive", rest)

    def state(self, state: Any, label: str | None = None) -> None:
        """Log that the state changed without a message."""
        self.internal(label, state=state)

    def internal(self, label: str | None = None, *, state: Any = None) -> None:
        """Log anything else that the process does. Without a state its state is not known then."""
        self._add("internal", _optional("label", label) + _optional("state", state))

    def recorded(self, snapshot: str, state: Any) -> None:
        """Log that the process recorded its state for a snapshot."""
        self._add("record_state", _of_snapshot(snapshot) + _optional("state", state))

    def recorded_channel(self, snapshot: str, channel: str, messages: Iterable[MessageId]) -> None:
        """Log which messages the process recorded for an incoming channel, by their ids."""
        part = _of_snapshot(snapshot) + _part(self._incoming, channel, "incoming")
        self._add("record_channel", f'{part},"messages":{json_text(list(messages))}')

    def marker_sent(self, channel: str, snapshot: str) -> None:
        self._add(
            "marker_send", _of_snapshot(snapshot) + _part(self._outgoing, channel, "outgoing")
        )

    def marker_received(self, channel: str, snapshot: str) -> None:
        self._add(
            "marker_receive", _of_snapshot(snapshot) + _part(self._incoming, channel, "incoming")
        )

    def restored(self, snapshot: str | None, epoch: int | None = None) -> None:
        """Log that the process went back to a snapshot, or to the start if that is None.

        epoch: above that of every restore before, and the same at all processes. With it, Cutline
        knows which messages the restore takes back. Log the state behind it, and then the messages
        that the snapshot recorded in the channels, as they are received again.
        """
        named = "" if snapshot is None else _of_snapshot(snapshot)
        self._add("restore", named + _optional("epoch", epoch))

    def flush(self) -> None:
        """Write what was logged so far to the file or the spool."""
        if os.getpid() != self._pid:
            return
        with self._write_lock:
            while self._waiting:
                count = min(len(self._waiting), _LINES_AT_ONCE)
                self._write([self._waiting.popleft() for _ in range(count)])

    def close(self, timeout: float = 5.0) -> None:
        """Write all, let the server take it for at most so many seconds, and end the log.

        What the server has not taken by then is sent when the process starts the next time. In a
        coroutine: ``await asyncio.to_thread(log.close)``. In a child of a fork nothing is done.
        """
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        atexit.unregister(self.close)
        self._closing.set()
        self._wake.set()
        self._thread.join()
        self.flush()
        self._target.close(timeout)

    def _add(self, kind: str, rest: str, with_own_id: str = "") -> int:
        """Put one event into the queue and return its index. ``rest``: the further fields."""
        if os.getpid() != self._pid:
            raise ValueError("The log was opened before this process was forked. Open it after.")
        with self._lock:
            if self._is_closed:
                raise ValueError("The log is closed.")
            index = self._next
            at = max(self._at, time.time_ns() - self._origin)
            if with_own_id:
                rest = f',"{with_own_id}":{index}{rest}'
            line = f'{{"kind":"{kind}{self._begin}{index},"at":{at}{rest}}}\n'.encode()
            self._next, self._at = index + 1, at
            if self._at_once:
                self._write([line])  # before it counts, so that no kill can come in between
                self._write_counter(index + 1, at)
                return index
            self._write_counter(index + 1, at)
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.append(line)
            else:
                self._lost_in_memory += 1
                self._say_lost("the disk is too slow")
        if not self._wake.is_set():
            self._wake.set()
        return index

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wake.wait()
            self._closing.wait(_PAUSE)
            self._wake.clear()
            self.flush()

    def _write(self, lines: list[bytes]) -> None:
        try:
            if self._target.append(b"".join(lines)):
                self._is_losing = False
                return
            reason = "the spool is full"
        except OSError as error:
            reason = f"they cannot be written: {error}"
        self._lost_on_disk += len(lines)
        self._say_lost(reason)

    def _say_lost(self, reason: str) -> None:
        """Warn once, until something can be written again."""
        if not self._is_losing:
            self._is_losing = True
            _LOG.warning("Events of %s are lost, for %s.", self.process, reason)


def _channels(header: dict[str, Any], end: str, process: str) -> dict[str, str]:
    """Return the field of each channel that has the process at this end."""
    ids = [channel["id"] for channel in header["channels"] if channel[end] == process]
    return {channel: f',"channel":{json_text(channel)}' for channel in ids}


def _part(channels: dict[str, str], channel: str, direction: str) -> str:
    try:
        return channels[channel]
    except KeyError:
        raise ValueError(
            f"{channel!r} is not an {direction} channel of this process in the header. It has "
            f"{', '.join(channels) or 'none'}."
        ) from None


def _optional(field: str, value: Any) -> str:
    return "" if value is None else f',"{field}":{json_text(value)}'


def _of_snapshot(snapshot: str) -> str:
    return f',"snapshot":{json_text(snapshot)}'

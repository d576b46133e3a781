"""A process of a system that takes snapshots of itself, over TCP, and goes back to them.

Every node has a channel to every other. Chandy and Lamport's rules take the snapshots; each process
keeps its own piece. After a crash all processes are started again with the last complete snapshot
and a new epoch. Whoever starts them finds both in their folders: see ``last_complete`` and
``next_epoch``.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from .links import Links, PeerLost
from .pieces import Folder
from .rules import Complete, RecordChannel, RecordState, SendMarker
from .rules_fifo import FifoRules
from .taking import Taking
from .values import json_text
from .wire import BadFrame, Handshake, frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .log import Log
    from .rules import Effect

_LOG = logging.getLogger("cutline_recorder")


@dataclass(frozen=True)
class Message:
    """What a peer sent. ``id`` begins with the epoch in which it was sent."""

    sender: str
    value: Any
    id: str


@dataclass(frozen=True)
class Restore:
    """What all processes of a system go back to: a snapshot, or None for the very start.

    epoch: above every epoch so far, and the same for all processes.
    """

    snapshot: str | None
    epoch: int


class Node:
    """One process. Use it with ``async with``; an exception in the block counts as a crash."""

    def __init__(
        self,
        name: str,
        peers: Mapping[str, tuple[str, int]],
        *,
        folder: str | Path,
        secret: str,
        state: Callable[[], Any],
        set_state: Callable[[Any], None],
        receive: Callable[[Message], None],
        restore: Restore | None = None,
        log: Log | None = None,
        keep: int = 3,
        most_bytes: int = 1024 * 1024,
    ) -> None:
        """Describe the process.

        peers: host and port of every process by name, also of this one, which listens there.
        folder: where this process keeps its pieces of snapshots.
        secret: what all processes of the system know and nobody else.
        state: returns the state as a JSON value. set_state: is called with the state of the
            snapshot, if the process goes back to one.
        receive: is called with each message. What it changes and what it sends are one step, which
            no snapshot cuts through. Outside of it the same holds for a change and a ``send`` with
            no ``await`` in between.
        keep: how many complete snapshots are kept. most_bytes: the largest message.
        """
        if name not in peers:
            raise ValueError(f"The peers do not name {name} itself: where does it listen?")
        if keep < 1:
            raise ValueError(f"keep is {keep}: at least the last snapshot has to be kept.")
        self.name = name
        self._peers = dict(peers)
        self._path, self._keep = Path(folder), keep
        self._state, self._set_state, self._receive = state, set_state, receive
        self._restore = restore or Restore(None, 0)
        self._log = log
        self._most_bytes = most_bytes
        self._handshake = Handshake(secret.encode(), name, self._restore.epoch)
        others = [peer for peer in peers if peer != name]
        self._incoming = {f"{peer}->{name}": peer for peer in others}
        self._outgoing = {f"{name}->{peer}": peer for peer in others}
        self._rules = FifoRules(self._incoming, self._outgoing)
        self._sent = 0
        self._is_receiving = False
        self._is_state_unknown = False
        self._posted: list[tuple[str, str, Any]] = []
        self._writing: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Node:
        """Go back to the snapshot, if there is one, and begin to connect.

        Raises: InUse, EpochUsed, DamagedPiece, OSError.
        """
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._folder = Folder(self._path, self._restore.epoch)
        try:
            self._taking = Taking(self.name, self._peers, self._folder, self._keep)
            self._links = Links(
                self.name, self._peers, self._handshake, self._most_bytes, self._handle, self._fail
            )
            self._go_back()
            await self._links.open()
        except BaseException:
            self._folder.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await asyncio.gather(*self._writing, return_exceptions=True)
        await self._links.close(farewell=kind is None and not self._failure.done())
        self._taking.fail(PeerLost(f"{self.name} has left."))
        self._folder.close()
        if self._failure.done() and kind is None:
            self._failure.result()
        self._failure.cancel()

    def post(self, peer: str, value: Any) -> None:
        """Send a message without waiting for room in the queue to that peer.

        Raises: KeyError for an unknown peer, ValueError or TypeError if the value is too large or
        no JSON, PeerLost if the peer has left, or what this node has failed with.
        """
        if self._failure.done():
            self._failure.result()
        if f"{self.name}->{peer}" not in self._outgoing:
            raise KeyError(f"{peer} is not a peer of {self.name}.")
        message = f"{self._restore.epoch}.{self._sent + 1}"
        json_text(value)
        frame(_message(message, value), self._most_bytes)
        self._sent += 1
        if self._is_receiving:
            self._posted.append((peer, message, value))
        else:
            self._send(peer, message, value)

    async def send(self, peer: str, value: Any) -> None:
        """Send a message, and then wait until there is room for more.

        Raises: as ``post``, also if the peer is lost while this waits.
        """
        self.post(peer, value)
        await self._links.outgoing[peer].room()
        if self._failure.done():
            self._failure.result()
        self._links.check(peer)

    async def snapshot(self, timeout: float = 30.0) -> str:
        """Take a snapshot, and return its name when every process has written its piece.

        Raises: GivenUp if it takes longer or a process gave it up, PeerLost if a process is gone.
        """
        if self._failure.done():
            self._failure.result()
        if gone := self._links.gone:
            raise PeerLost(f"No snapshot can be complete, for {', '.join(gone)} has left.")
        name = self._taking.new_name(self._restore.epoch)
        self._taking.heard_of(name)
        completion = self._taking.completion(name)
        try:
            self._carry_out(self._rules.begin_snapshot(name))
            await asyncio.wait({completion}, timeout=timeout)
        except BaseException:
            completion.cancel()
            self.give_up(name)
            raise
        if not completion.done():
            self.give_up(name)
        return await completion

    def give_up(self, snapshot: str) -> None:
        """Give a snapshot up everywhere.

        If this process has its piece already, it only stops waiting: the snapshot may still become
        complete by what the others do.
        """
        if self._taking.may_give_up(snapshot):
            self._tell_all({"type": "give up", "snapshot": snapshot})
            self._drop(snapshot)
        else:
            self._taking.stop_waiting(snapshot)

    async def wait(self) -> None:
        """Wait until the node fails. Raises: what it failed with, such as PeerLost."""
        await asyncio.shield(self._failure)

    async def connected(self) -> None:
        """Wait until every peer is connected. Raises: what the node failed with."""
        links = [link.is_connected.wait() for link in self._links.outgoing.values()]
        everybody: asyncio.Future[Any] = asyncio.gather(*links)
        await asyncio.wait({everybody, self._failure}, return_when=asyncio.FIRST_COMPLETED)
        if self._failure.done():
            everybody.cancel()
            self._failure.result()

    def _go_back(self) -> None:
        piece = self._taking.go_back(self._restore.snapshot)
        if piece is not None:
            self._set_state(piece["state"])
        if self._log and (piece is not None or self._restore.epoch > 0):
            self._log.restored(self._restore.snapshot, self._restore.epoch)
            self._log_with_state(self._log.internal, "restored")
        if piece is None:
            return
        for peer, messages in piece["channels"].items():
            for message, value in messages:
                self._deliver(peer, message, value)

    def _handle(self, peer: str, content: Any) -> None:
        """Do what a frame asks for. Raises: BadFrame, or what the receiver of messages raises."""
        if self._failure.done():
            return
        kind = content.get("type") if isinstance(content, dict) else None
        if kind == "message" and isinstance(content.get("id"), str):
            self._deliver(peer, content["id"], content.get("value"))
            return
        snapshot = content.get("snapshot") if kind in _ABOUT_SNAPSHOTS else None
        if not isinstance(snapshot, str):
            raise BadFrame("a frame of no known type")
        try:
            self._taking.heard_of(snapshot)
        except ValueError as error:
            raise BadFrame(str(error)) from None
        if kind == "marker":
            self._receive_marker(peer, snapshot)
        elif kind == "done":
            self._note_done(snapshot, peer)
        else:
            self._drop(snapshot)

    def _deliver(self, peer: str, message: str, value: Any) -> None:
        channel = f"{peer}->{self.name}"
        recorded = (message, json.dumps(value)) if self._rules.under_way else None
        self._carry_out(self._rules.on_receive(channel, recorded))
        self._is_receiving = True
        try:
            self._receive(Message(peer, value, message))
        finally:
            self._is_receiving = False
        if self._log:
            self._log_with_state(self._log.received, channel, message, _loggable(value))
        posted, self._posted = self._posted, []
        for each in posted:
            self._send(*each)

    def _send(self, peer: str, message: str, value: Any) -> None:
        """Log a message and queue it. What cannot be logged is not sent."""
        self._links.check(peer)
        channel = f"{self.name}->{peer}"
        self._rules.on_send(channel)
        if self._log:
            self._log_with_state(self._log.sent, channel, value, message=message)
        self._links.put(peer, _message(message, value))

    def _log_with_state(self, call: Callable[..., Any], *args: Any, **fields: Any) -> None:
        """Log an event with the state behind it; without one that a log cannot hold."""
        state = self._state()
        try:
            json_text(state)
        except (TypeError, ValueError) as error:
            if not self._is_state_unknown:
                _LOG.warning("A state of %s is not logged: %s", self.name, error)
            self._is_state_unknown, state = True, None
        call(*args, state=state, **fields)

    def _receive_marker(self, peer: str, snapshot: str) -> None:
        channel = f"{peer}->{self.name}"
        if self._log:
            self._log.marker_received(channel, snapshot)
        self._carry_out(self._rules.on_marker(channel, snapshot))

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, RecordState):
                state = self._state()
                self._taking.begin_piece(effect.snapshot, json_text(state))
                if self._log:
                    self._log.recorded(effect.snapshot, state)
            elif isinstance(effect, SendMarker):
                self._send_marker(effect.channel, effect.snapshot)
            elif isinstance(effect, RecordChannel):
                self._record_channel(effect)
            elif isinstance(effect, Complete):
                self._write(effect.snapshot)

    def _send_marker(self, channel: str, snapshot: str) -> None:
        self._links.tell(self._outgoing[channel], {"type": "marker", "snapshot": snapshot})
        if self._log:
            self._log.marker_sent(channel, snapshot)

    def _record_channel(self, effect: RecordChannel) -> None:
        peer = self._incoming[effect.channel]
        self._taking.add_channel(effect.snapshot, peer, effect.messages)
        if self._log:
            messages = [message for message, _ in effect.messages]
            self._log.recorded_channel(effect.snapshot, effect.channel, messages)

    def _write(self, snapshot: str) -> None:
        task = asyncio.ensure_future(self._write_and_say_done(snapshot))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _write_and_say_done(self, snapshot: str) -> None:
        try:
            if await self._taking.write(snapshot):
                self._tell_all({"type": "done", "snapshot": snapshot})
                self._note_done(snapshot, self.name)
        except Exception as error:  # a piece that cannot be written is a crash like any other
            self._fail(error)

    def _note_done(self, snapshot: str, process: str) -> None:
        if self._taking.done(snapshot, process):
            self._rules.forget(snapshot)

    def _drop(self, snapshot: str) -> None:
        self._rules.give_up(snapshot)
        self._taking.give_up(snapshot)

    def _tell_all(self, content: Any) -> None:
        for peer in self._outgoing.values():
            self._links.tell(peer, content)

    def _fail(self, error: BaseException) -> None:
        """Stop. The connections end, so that the peers notice."""
        if self._failure.done():
            return
        _LOG.error("%s has failed: %s", self.name, error)
        self._failure.set_exception(error)
        self._failure.exception()  # seen, also if nobody waits for it
        self._taking.fail(error)
        self._links.cut()


_ABOUT_SNAPSHOTS = frozenset({"marker", "done", "give up"})


def _loggable(value: Any) -> Any:
    """Return a value that a peer sent, or its text if a log cannot hold it."""
    try:
        json_text(value)
    except ValueError:
        return json.dumps(value)
    return value


def _message(message: str, value: Any) -> dict[str, Any]:
    return {"type": "message", "id": message, "value": value}

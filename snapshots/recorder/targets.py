"""Write the events of a log to a file, or send them to an open recording by way of a spool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .counter import Counter
from .files import Lines, last_line, replace
from .sender import Sender, check
from .spool import Spool

if TYPE_CHECKING:
    from pathlib import Path


class FileTarget:
    """A file in the native format, which Cutline takes as an upload."""

    problem = None
    refused = 0
    waiting_bytes = 0

    def __init__(self, path: Path, process: str, header: dict[str, Any]) -> None:
        """Open or create the file. If it exists, the log goes on behind its last event.

        Raises: ValueError if it is the log of another process or system, InUse, OSError.
        """
        _check_is_log(path, _header_line(header))
        self._lines = Lines(path)
        counted = path.with_name(path.name + ".count")
        if self._lines.size == 0 and counted.exists():
            counted.unlink()  # of a file that was taken away
        try:
            self.origin = self._begin(path, header)
            last = _event_of(last_line(path))
            _check_process(path, last, process)
        except BaseException:
            self._lines.close()
            raise
        self.counter = Counter(counted)
        self.next_index, self.last_at, self.missing = _behind(last, self.counter, 0)

    def append(self, data: bytes) -> bool:
        self._lines.append(data)
        return True

    def close(self, timeout: float) -> None:
        self._lines.close()
        self.counter.close()

    def _begin(self, path: Path, header: dict[str, Any]) -> int:
        if self._lines.size == 0:
            self._lines.append(_header_line(header))
            return int(header["origin"])
        with path.open("rb") as file:
            there = json.loads(file.readline())
        if {**there, "origin": 0} != json.loads(json.dumps({**header, "origin": 0})):
            raise ValueError(f"{path} is the log of another system. Choose another file.")
        return int(there["origin"])


class ServerTarget:
    """An open recording of a server. What it has not taken yet waits in a folder."""

    def __init__(
        self,
        folder: Path,
        process: str,
        header: dict[str, Any],
        address: str,
        most_bytes: int,
        token: str,
        **sending: Any,
    ) -> None:
        """Open the spool and begin to send what waits there.

        The times go on from the origin that the header had when the spool was made.

        Raises: ValueError if events of another process or recording wait there, InUse, OSError.
        """
        check(address, token)
        self._spool = Spool(folder, most_bytes)
        try:
            owner = {"process": process, "address": address, "origin": int(header["origin"])}
            self.origin = _own(folder, owner, self._spool)
            self.counter = Counter(folder / "count")
            last = _event_of(self._spool.last_line())
            counted, _ = self.counter.read()
            self.next_index, self.last_at, self.missing = _behind(last, self.counter, counted)
            self._sender = Sender(address, token, self._spool, **sending)
        except BaseException:
            self._spool.close()
            raise

    @property
    def problem(self) -> str | None:
        return self._sender.problem

    @property
    def refused(self) -> int:
        return self._sender.refused

    @property
    def waiting_bytes(self) -> int:
        return self._spool.waiting_bytes

    def append(self, data: bytes) -> bool:
        fits = self._spool.append(data)
        self._sender.wake()
        return fits

    def close(self, timeout: float) -> None:
        self._sender.close(timeout)
        self._spool.close()
        self.counter.close()


def _event_of(line: bytes) -> dict[str, Any]:
    """Return the event on the last line, which is empty if there is none yet."""
    fields: dict[str, Any] = json.loads(line) if line else {}
    return {} if fields.get("kind") == "header" else fields


def _behind(last: dict[str, Any], counter: Counter, without: int) -> tuple[int, int, int]:
    """Return the next index, the latest time, and how many events were counted and not written.

    without: how many were written if there is no last event: none in a file, and all that were
        counted in a spool, which drops what was taken.
    """
    counted, latest = counter.read()
    written = last["index"] + 1 if last else without
    return max(counted, written), max(latest, last.get("at", 0)), max(0, counted - written)


def _header_line(header: dict[str, Any]) -> bytes:
    return json.dumps(header, ensure_ascii=False).encode() + b"\n"


def _check_is_log(path: Path, header: bytes) -> None:
    """Check the first line before anything is changed. Raises: ValueError."""
    if not path.exists():
        return
    with path.open("rb") as file:
        first = file.readline()
    try:
        # What a log that was killed at once has of its header is the beginning of it.
        is_log = header[:20].startswith(first[:20]) and (
            not first.endswith(b"\n") or isinstance(json.loads(first)["origin"], int)
        )
    except (ValueError, KeyError):
        is_log = False
    if not is_log:
        raise ValueError(f"{path} is no log of the recorder. Choose another file.")


def _check_process(path: Path, last: dict[str, Any], process: str) -> None:
    if last and last["process"] != process:
        raise ValueError(
            f"{path} is the log of the process {last['process']}, not of {process}. Each process "
            "writes a file of its own."
        )


def _own(folder: Path, owner: dict[str, Any], spool: Spool) -> int:
    """Note whose the spool is, and return the origin of its times. Raises: ValueError."""
    path = folder / "owner"
    there = _owner_in(path) if path.exists() else None
    if there is not None and {**there, "origin": owner["origin"]} == owner:
        owner = {**owner, **there}
    elif there is not None:
        _check_is_empty(folder, there, spool)
        spool.clear()
        (folder / "count").unlink(missing_ok=True)
    if owner != there:
        replace(path, json.dumps(owner).encode(), to_disk=True)
    return int(owner["origin"])


def _owner_in(path: Path) -> dict[str, Any]:
    try:
        there = json.loads(path.read_bytes())
        if isinstance(there["process"], str) and isinstance(there["address"], str):
            return {**there, "origin": int(there["origin"])}
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(
        f"{path} does not say whose events are in the spool, so it is damaged. Choose another "
        "folder; what was not sent stays in this one."
    )


def _check_is_empty(folder: Path, owner: dict[str, Any], spool: Spool) -> None:
    if spool.waiting_bytes:
        raise ValueError(
            f"The spool {folder} holds events of the process {owner['process']} for "
            f"{owner['address']}. Choose another folder, or let them be sent first."
        )

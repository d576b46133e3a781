"""Events that wait on disk until a server has taken them.

A folder of segments, each a file of whole lines; what was taken is noted in the file ``taken``. A
segment goes when all of it was taken. If the process ends in between, a part may be sent again:
the server knows an event by its process and index. Nothing waits for the disk itself, so the spool
outlives ``kill -9`` of the process and may lose its last lines with a power cut.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .files import Lines, last_line, replace

if TYPE_CHECKING:
    from pathlib import Path

_SEGMENTS = 8  # at least so many fit into the spool


class Position(NamedTuple):
    """All before this byte of this segment, and all earlier segments, were taken."""

    segment: int
    offset: int


class Spool:
    """Lines in a folder: appended at one end, taken at the other. Any thread may call."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        """Open the folder. Raises: ValueError if ``taken`` is damaged, InUse, OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        numbers = [int(path.stem) for path in folder.glob("[0-9]*.jsonl")]
        self._taken = self._read_taken(numbers)
        self._current = max([self._taken.segment, *numbers])
        self._lines = Lines(self._path(self._current))
        self._remove_taken()

    @property
    def waiting_bytes(self) -> int:
        """How many bytes were not taken yet."""
        with self._lock:
            return self._bytes_on_disk() - self._taken.offset

    def last_line(self) -> bytes:
        """Return the newest line that is still here; empty if there is none."""
        for number in range(self._current, self._taken.segment - 1, -1):
            if self._path(number).is_file() and (line := last_line(self._path(number))):
                return line
        return b""

    def append(self, data: bytes) -> bool:
        """Add whole lines, or return False if they do not fit. Raises: OSError."""
        with self._lock:
            if self._bytes_on_disk() + len(data) > self._most_bytes:
                return False
            if self._lines.size and self._lines.size + len(data) > self._most_bytes // _SEGMENTS:
                self._begin_segment()
            self._lines.append(data)
            return True

    def read(self, most_bytes: int) -> tuple[bytes, Position]:
        """Return the next lines to send, and the position behind them.

        At least one line is returned if there is one, however long it is.
        """
        with self._lock:
            segment, offset = self._taken
            while segment < self._current and offset >= self._size(segment):
                segment, offset = segment + 1, 0
            data = self._read_lines(segment, offset, most_bytes)
            return data, Position(segment, offset + len(data))

    def take(self, position: Position) -> None:
        """Note that all before a position was taken.

        If the disk is full, only this object knows that, and frees what it can; the next start then
        sends a part again.
        """
        with self._lock:
            self._taken = position
            with suppress(OSError):
                replace(self._folder / "taken", json.dumps(position).encode())
            self._remove_taken()

    def clear(self) -> None:
        """Forget everything that is here, also what was taken."""
        with self._lock:
            self._begin_segment()
        self.take(Position(self._current, 0))

    def close(self) -> None:
        with self._lock:
            self._lines.close()

    def _read_taken(self, numbers: list[int]) -> Position:
        """Return what was taken of the segments with these numbers. Raises: ValueError, OSError."""
        path = self._folder / "taken"
        if not path.is_file():
            return Position(1, 0)
        try:
            segment, offset = json.loads(path.read_bytes())
            is_known = type(segment) is type(offset) is int and segment >= 1 and offset >= 0
        except (ValueError, TypeError):
            is_known = False
        if not is_known or (numbers and segment > max(numbers)):
            raise ValueError(
                f"{path} does not say what of the spool the server has taken, so it is damaged. "
                "Remove it: then everything that is in the spool is sent again, which changes "
                "nothing that the server has."
            )
        there = self._path(segment)
        if there.is_file() and there.stat().st_size < offset:  # a power cut took its last lines
            return Position(segment + 1, 0)
        return Position(segment, offset)

    def _read_lines(self, segment: int, offset: int, most_bytes: int) -> bytes:
        if not self._path(segment).is_file():
            return b""
        with self._path(segment).open("rb") as file:
            file.seek(offset)
            data = file.read(most_bytes)
            whole = data[: data.rfind(b"\n") + 1]
            if whole or not data:
                return whole
            return data + file.readline()

    def _begin_segment(self) -> None:
        following = Lines(self._path(self._current + 1))
        self._lines.close()
        self._lines = following
        self._current += 1

    def _remove_taken(self) -> None:
        for path in self._folder.glob("[0-9]*.jsonl"):
            if int(path.stem) < self._taken.segment:
                path.unlink()

    def _bytes_on_disk(self) -> int:
        return sum(self._size(number) for number in range(self._taken.segment, self._current + 1))

    def _size(self, segment: int) -> int:
        if segment == self._current:
            return self._lines.size
        path = self._path(segment)
        return path.stat().st_size if path.is_file() else 0

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:08}.jsonl"

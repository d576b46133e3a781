"""Reads the beginning of an input, once for all recognisers."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from orjson import JSONDecodeError, loads

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.compression import BoundedStream, open_stream
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import BYTE_ORDER_MARK, first_line
from snapshots.readers.formats.not_text import not_text

SIZE = 2**16  # bytes, unpacked
_FIRST = 512  # bytes that are kept even if damage follows within the head


@dataclass(frozen=True)
class Head:
    """The first bytes of an input, and what follows from them.

    Attributes:
        compression: ``gzip`` or ``zstd``. None means that the input is not compressed.
        start: the first SIZE bytes, unpacked; fewer if the input ends or cannot be read.
        is_whole: whether the input ends within ``start``.
        fault: why reading stopped before SIZE bytes. None means that it did not.
    """

    source: Path
    limits: Limits
    compression: str | None
    start: bytes
    is_whole: bool
    fault: InputRefused | None = None

    def first(self, size: int = SIZE) -> bytes:
        """Return at most ``size`` bytes. Raises: InputRefused if fewer could be read."""
        if self.fault is not None and len(self.start) < size:
            raise self.fault
        return self.start[:size]

    @cached_property
    def not_text(self) -> tuple[str, str] | None:
        """A refusal's code and sentence if the input is no text, else None."""
        return not_text(self.start)

    @cached_property
    def first_line(self) -> tuple[int, bytes]:
        """The number and the text of the first line that is not blank.

        The line of an input that is no text is empty. A line that is longer than the head is read
        to its end. Raises: InputRefused (``empty``, and those of ``lines.chunks``).
        """
        if self.not_text is not None:
            return 1, b""
        lines = self.start.removeprefix(BYTE_ORDER_MARK).split(b"\n")
        for line, text in enumerate(lines if self.is_whole else lines[:-1], 1):
            if text and not text.isspace():
                return line, text
        return first_line(self.source, self.limits)

    @cached_property
    def fields(self) -> dict | None:
        """The JSON object on the first line, None if there is none.

        Raises: InputRefused as ``first_line``.
        """
        try:
            value = loads(self.first_line[1])
        except JSONDecodeError:
            return None
        return value if type(value) is dict else None

    def is_longer_than(self, size: int) -> bool:
        """Return whether the input holds more than ``size`` bytes, unpacked.

        Raises: InputRefused.
        """
        if self.is_whole:
            return len(self.start) > size
        with open_stream(self.source, self.limits) as stream:
            left = size
            while left >= 0 and (block := stream.read()):
                left -= len(block)
        return left < 0


def read_head(source: Path, limits: Limits) -> Head:
    """Read the beginning of a file; a fault in its compression is kept. Raises: OSError."""
    start, is_whole, fault = b"", False, None
    with open_stream(source, limits) as stream:
        try:
            start = _read(stream, _FIRST)
            start += _read(stream, SIZE - len(start))
            is_whole = not stream.read(1)
        except InputRefused as refused:
            fault = refused
    return Head(source, limits, stream.compression, start, is_whole, fault)


def _read(stream: BoundedStream, size: int) -> bytes:
    """Return ``size`` bytes, fewer only at the end of the stream."""
    parts = []
    while size and (block := stream.read(size)):
        parts.append(block)
        size -= len(block)
    return b"".join(parts)

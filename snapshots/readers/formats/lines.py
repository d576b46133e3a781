"""Reads text as chunks of whole lines; memory holds at most one chunk and one line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snapshots.domain.model.defects import refuse
from snapshots.readers.formats.compression import BoundedStream, open_stream
from snapshots.readers.formats.limits import Limits

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK_BYTES = 4 * 2**20


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a text.

    Attributes:
        offset: the place of the first byte in the unpacked text.
        first_line: the number of the first line, from 1.
    """

    offset: int
    first_line: int
    data: bytes

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the text of each line that is not blank."""
        for line, text in enumerate(self.data.split(b"\n"), self.first_line):
            if text and not text.isspace():
                yield line, text


def chunks(path: Path, limits: Limits, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Yield the lines of a plain or compressed text, about ``size`` bytes at a time.

    A byte order mark is left out. Raises: InputRefused (``truncated``, ``too-large``,
    ``line-too-long``).
    """
    with open_stream(path, limits) as stream:
        offset, first_line, rest = 0, 1, b""
        while data := _fill(stream, rest, size):
            if offset == 0 and data.startswith(BYTE_ORDER_MARK):
                offset, data = len(BYTE_ORDER_MARK), data[len(BYTE_ORDER_MARK) :]
            end = data.rfind(b"\n") + 1
            if end == 0:
                if len(data) > limits.line_bytes:
                    raise _too_long(first_line, limits)
                grown = _fill(stream, data, min(2 * len(data), limits.line_bytes) + size)
                if len(grown) > len(data):
                    rest = grown
                    continue
                end = len(data)  # the last line, without a newline
            whole, rest = data[:end], data[end:]
            _check_lines(whole, first_line, limits)
            yield Chunk(offset, first_line, whole)
            offset += end
            first_line += whole.count(b"\n")


def _fill(stream: BoundedStream, data: bytes, size: int) -> bytes:
    """Return ``data`` and what follows it: ``size`` bytes or more, fewer only at the end."""
    parts, held = [data], len(data)
    while held < size and (block := stream.read(size - held)):
        parts.append(block)
        held += len(block)
    return b"".join(parts)


def _check_lines(data: bytes, first_line: int, limits: Limits) -> None:
    if len(data) <= limits.line_bytes:
        return
    for line, text in enumerate(data.split(b"\n"), first_line):
        if len(text) > limits.line_bytes:
            raise _too_long(line, limits)


def _too_long(line: int, limits: Limits) -> Exception:
    return refuse(
        "line-too-long",
        f"The line is longer than {limits.line_bytes:,} bytes. Is a newline missing?",
        line=line,
    )


def first_line(path: Path, limits: Limits) -> tuple[int, bytes]:
    """Return the number and the text of the first line that is not blank.

    Raises: InputRefused (``empty``, and those of ``chunks``).
    """
    for chunk in chunks(path, limits, size=2**16):
        for numbered in chunk.lines():
            return numbered
    raise refuse("empty", "The file is empty: it holds no header and no event.")

"""Which bytes of a stream belong to which key group."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """``size`` bytes from ``offset`` of the stream."""

    key_group: int
    offset: int
    size: int


def key_group_parts(first: int, offsets: Sequence[int], begin: int, end: int) -> list[Part]:
    """A part for each key group, from its offset to the next one's. No byte is in two parts.

    first: the key group of offsets[0]. begin, end: where parts can lie; what an offset outside of
    them, or one that another key group has as well, points to has no bytes.
    """
    starts = sorted({offset for offset in offsets if begin <= offset < end})
    ends = dict(zip(starts, [*starts[1:], end], strict=False))
    return [
        Part(group, offset, ends.pop(offset, offset) - offset)
        for group, offset in enumerate(offsets, first)
    ]


def gap_before(parts: Sequence[Part], begin: int, end: int) -> tuple[int, int]:
    """The stretch from ``begin`` to the first part, which no part holds."""
    return begin, min((part.offset for part in parts if part.size), default=end)

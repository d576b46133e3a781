"""Divide the bytes of a stream among its key groups."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of one key group: ``size`` bytes of the stream from ``offset`` on."""

    key_group: int
    offset: int
    size: int


def key_group_parts(first: int, offsets: Sequence[int], begin: int, end: int) -> list[Part]:
    """Return a part for each key group, from its offset to the next one. Parts do not overlap.

    A part has no bytes if its offset lies outside of begin .. end - 1, or if an earlier key group
    has the same offset.

    Args:
        first: the key group of ``offsets[0]``.
        offsets: the offset of each key group.
        begin, end: the range in which parts can lie.
    """
    starts = sorted({offset for offset in offsets if begin <= offset < end})
    ends = dict(zip(starts, [*starts[1:], end], strict=False))
    return [
        Part(group, offset, ends.pop(offset, offset) - offset)
        for group, offset in enumerate(offsets, first)
    ]


def gap_before(parts: Sequence[Part], begin: int, end: int) -> tuple[int, int]:
    """Return the range from ``begin`` to the first part, which belongs to no part."""
    return begin, min((part.offset for part in parts if part.size), default=end)

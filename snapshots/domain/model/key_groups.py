"""Compute key groups, the units in which keyed state is spread over subtasks and rescaled.

Source: Flink, KeyGroupRangeAssignment. The ranges are Flink's; the hash of a key is murmur3 over
its UTF-8 text, where Flink has murmur over Java's hashCode.
"""

from functools import lru_cache

_WORD = 0xFFFFFFFF


@lru_cache(maxsize=100_000)
def key_group(key: str, max_parallelism: int) -> int:
    """Return the key group of a key: 0 .. max_parallelism - 1, the same on every machine."""
    return stable_hash(key) % max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups of a subtask (0 .. parallelism - 1). All ranges form a partition."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


def owning_subtask(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask in whose range the key group lies."""
    return group * parallelism // max_parallelism


def stable_hash(text: str) -> int:
    """Return murmur3 of the UTF-8 text."""
    return murmur3(text.encode())


def murmur3(data: bytes, seed: int = 0) -> int:
    """Return the 32-bit murmur3 hash as an unsigned number."""
    value = seed
    for begin in range(0, len(data) - len(data) % 4, 4):
        value ^= _mixed(int.from_bytes(data[begin : begin + 4], "little"))
        value = (_rotated(value, 13) * 5 + 0xE6546B64) & _WORD
    if len(data) % 4:
        value ^= _mixed(int.from_bytes(data[-(len(data) % 4) :], "little"))
    value ^= len(data)
    value = ((value ^ value >> 16) * 0x85EBCA6B) & _WORD
    value = ((value ^ value >> 13) * 0xC2B2AE35) & _WORD
    return value ^ value >> 16


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _WORD

"""Limits how much of one input is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How much one input may hold; bytes count after decompression."""

    total_bytes: int = 8 * 2**30
    line_bytes: int = 16 * 2**20
    processes: int = 100_000
    channels: int = 1_000_000

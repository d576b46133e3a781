"""Files with damage: bytes flipped, cut, repeated, numbers made huge. The same ones every time."""

import os
import random
from collections.abc import Iterator

MANY = int(os.environ.get("MUTATED_FILES", "300"))  # 10,000 for a thorough run
_PATCHES = (
    b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\n", b'"',
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x7f\xff\xff\xff\xff\xff\xff\xff", b"{", b"(", b"9",
)  # fmt: skip


def mutated(seeds: list[bytes], count: int = MANY, start: int = 0) -> Iterator[bytes]:
    """``count`` damaged copies of the seeds, in turn, each with one to four faults."""
    for number in range(start, start + count):
        chance = random.Random(number)
        data = seeds[number % len(seeds)]
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            data = _damaged(data, chance)
        yield data


def _damaged(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    fault = chance.choice(("flip", "flip", "byte", "patch", "insert", "delete", "cut", "repeat"))
    if fault == "flip" and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if fault == "byte":
        return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
    patch = chance.choice(_PATCHES)
    if fault == "patch":
        return data[:at] + patch + data[at + len(patch) :]
    if fault == "insert":
        return data[:at] + patch + data[at:]
    if fault == "delete":
        return data[:at] + data[at + chance.randrange(1, 9) :]
    if fault == "cut":
        return data[:at]
    return data[:at] + data[max(0, at - chance.randrange(1, 65)) :]

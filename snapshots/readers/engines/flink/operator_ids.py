"""The id that Flink gives an operator with a uid: murmur3, x64, 128 bits, seed 0.

Source: Flink, StreamGraphHasherV2; MurmurHash3 by Austin Appleby, public domain.
"""

_WORD = 2**64 - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def id_of_uid(uid: str) -> str:
    """32 hex digits."""
    data = uid.encode("utf-8", "replace")
    first = second = 0
    whole = len(data) - len(data) % 16
    for begin in range(0, whole, 16):
        first ^= _mixed_first(_word(data[begin : begin + 8]))
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _WORD
        second ^= _mixed_second(_word(data[begin + 8 : begin + 16]))
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _WORD
    second ^= _mixed_second(_word(data[whole + 8 :]))
    first ^= _mixed_first(_word(data[whole : whole + 8]))
    first ^= len(data)
    second ^= len(data)
    first = (first + second) & _WORD
    second = (second + first) & _WORD
    first, second = _finished(first), _finished(second)
    first = (first + second) & _WORD
    second = (second + first) & _WORD
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little")).hex()


def _word(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _mixed_first(block: int) -> int:
    return _rotated(block * _C1 & _WORD, 31) * _C2 & _WORD


def _mixed_second(block: int) -> int:
    return _rotated(block * _C2 & _WORD, 33) * _C1 & _WORD


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _WORD


def _finished(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _WORD
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _WORD
    return value ^ value >> 33

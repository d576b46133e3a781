"""CRC-32C, the checksum of Castagnoli's polynomial."""

_POLYNOMIAL = 0x82F63B78
_ONES = 0xFFFFFFFF


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(map(_entry, range(256)))


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of bytes, in 32 bits. Source: RFC 3720, appendix B.4."""
    checksum = _ONES
    for byte in data:
        checksum = _TABLE[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ _ONES

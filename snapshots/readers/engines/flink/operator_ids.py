"""The ids that Flink gives to operators with a uid.

Source: Flink, StreamGraphHasherV2 (murmur3, x64, 128 bits, seed 0).
"""

import mmh3


def id_of_uid(uid: str) -> str:
    """Return the operator id that Flink computes from a uid, as 32 hex digits."""
    return mmh3.mmh3_x64_128_digest(uid.encode("utf-8", "replace")).hex()

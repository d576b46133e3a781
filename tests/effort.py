"""How many examples the generated tests try."""

import os

FEW = 5
FAST = bool(os.environ.get("FAST_TESTS"))


def examples(many: int) -> int:
    """Return ``many``, or only a few if `make test-fast` asks for an answer within half a
    minute."""
    return min(many, FEW) if FAST else many

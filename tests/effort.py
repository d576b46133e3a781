"""How hard the generated tests try."""

import os

FEW = 5


def examples(many: int) -> int:
    """``many``, or only a few where `make test-fast` asks for an answer within half a minute."""
    return min(many, FEW) if os.environ.get("FAST_TESTS") else many

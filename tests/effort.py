"""How many examples the generated tests try."""

import os

FEW, SOME = 5, 15
FAST = bool(os.environ.get("FAST_TESTS"))
THOROUGH = bool(os.environ.get("THOROUGH_TESTS"))


def examples(many: int) -> int:
    """Return ``many`` in `make test-long`, a third of it but at least some in `make test`, and a
    few in `make test-fast`."""
    if FAST:
        return min(many, FEW)
    return many if THOROUGH else max(many // 3, min(many, SOME))

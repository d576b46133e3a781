"""Lists names in a sentence."""

from collections.abc import Sequence


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Join names as ``a, b and c``; beyond ``most`` names as ``a, b and 3 more``."""
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most:,} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))

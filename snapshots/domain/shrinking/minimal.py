"""Leave out whatever can be left out.

Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2),
2002. This is the half of the algorithm that removes; the trials of single subsets are left out.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class OutOfTrials(Exception):
    """Raised by a trial that may no longer be made."""


def minimal(
    items: Sequence[Item], holds: Callable[[Sequence[Item]], bool]
) -> tuple[Sequence[Item], bool]:
    """Return items for which ``holds`` is true, and whether each of them is known to be needed.

    Args:
        items: what to begin with; ``holds`` is true for it.
        holds: the trial. When it raises OutOfTrials, what is left by then is returned.
    """
    size = max(len(items) // 2, 1)
    try:
        while True:
            before = len(items)
            first = 0
            while first < len(items):
                rest = [*items[:first], *items[first + size :]]
                if holds(rest):
                    items = rest
                else:
                    first += size
            if size == 1 and len(items) == before:
                return items, True
            size = max(size // 2, 1)
    except OutOfTrials:
        return items, False

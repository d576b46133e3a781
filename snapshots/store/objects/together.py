"""Make calls that read far files so that their requests travel at the same time.

A question reads many columns of many parts, and each may have to be fetched. One after the other,
each would take a round trip. So each call is tried first without waiting for anything. Calls for
which something is missing are made once more, each in a thread of its own. Where all is in memory,
or on a disk, there is no thread and nothing is done twice.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_MOST_THREADS = 32  # of one question; what they send is bounded once more
_here = threading.local()


class Missing(Exception):
    """What a call needs is not in memory, and it was made without waiting."""


def require_waiting() -> None:
    """Do nothing where a thread may wait for a request. Raises: Missing elsewhere."""
    if _is_trying():
        raise Missing


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what the calls return. They must not depend on each other. Raises as they do."""
    if _is_trying():
        return [call() for call in calls]
    results, late = _tried(calls)
    if len(late) > 1:
        with ThreadPoolExecutor(min(len(late), _MOST_THREADS), "together") as threads:
            found = list(threads.map(lambda place: calls[place](), late))
    else:
        found = [calls[place]() for place in late]
    for place, result in zip(late, found, strict=True):
        results[place] = result
    return results


def _tried(calls: Sequence[Callable[[], Any]]) -> tuple[list[Any], list[int]]:
    """Return the results of the calls that need not wait, and the places of the others."""
    results: list[Any] = [None] * len(calls)
    late = []
    _here.is_trying = True
    try:
        for place, call in enumerate(calls):
            try:
                results[place] = call()
            except Missing:
                late.append(place)
    finally:
        _here.is_trying = False
    return results, late


def _is_trying() -> bool:
    return getattr(_here, "is_trying", False)

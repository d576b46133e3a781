"""Bound what strangers may ask of this web process in a minute.

The counts are of this process alone. They begin anew with each minute, so that they stay small.
"""

import threading
from collections import Counter
from collections.abc import Hashable
from time import monotonic

from snapshots.problems import TooMany
from webapp.links.models import PublicLink

SECONDS = 60
WRONG = 20  # links that do not work, from one address
OF_AN_ADDRESS = 1_200  # requests and questions with one link, from one address
OF_A_LINK = 12_000  # requests and questions with one link

_lock = threading.Lock()
_uses: Counter[Hashable] = Counter()
_minute = 0


def require_few_wrong_ones(address: str) -> None:
    """Refuse further tries of an address that has guessed too often. Raises: TooMany."""
    if _used("wrong", address) >= WRONG:
        raise _too_many(
            f"Too many links that do not work were opened from your address: {WRONG} in a minute."
        )


def count_wrong_one(address: str) -> None:
    """Note that an address has opened a link that does not work."""
    _count("wrong", address)


def count_visit(link: PublicLink, address: str) -> None:
    """Count a request or a question of a visitor. Raises: TooMany."""
    if _count(link.pk, address) > OF_AN_ADDRESS:
        raise _too_many(
            f"Your address asked for more than {OF_AN_ADDRESS:,} things of this public link in a "
            "minute."
        )
    if _count(link.pk) > OF_A_LINK:
        raise _too_many(
            f"More than {OF_A_LINK:,} things of this public link were asked for in a minute."
        )


def forget() -> None:
    """Begin to count anew."""
    with _lock:
        _uses.clear()


def _count(*key: Hashable) -> int:
    """Count one use in the current minute, and return how many there are."""
    _used(*key)
    with _lock:
        _uses[key] += 1
        return _uses[key]


def _used(*key: Hashable) -> int:
    global _minute
    now = int(monotonic()) // SECONDS
    with _lock:
        if now != _minute:
            _minute = now
            _uses.clear()
        return _uses[key]


def _too_many(sentence: str) -> TooMany:
    return TooMany(f"{sentence} Wait a minute.", retry_after=SECONDS)

"""Decide who presents in a room of people who look at the same thing.

At most one page presents. Another person gets the floor if the presenter offers it, accepts a
request, or has been away for AWAY_SECONDS. A presenter who returns before that still presents.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

AWAY_SECONDS = 8.0  # for which the floor waits for a presenter whose connection ended
MOST_REQUESTS = 20


@dataclass(frozen=True, slots=True)
class Seat:
    """One open page of a person.

    Attributes:
        person: the number of the person.
        page: a text that the page chose at random when it was loaded.
    """

    person: int
    page: str


@dataclass(frozen=True, slots=True)
class Floor:
    """Who presents in a room, and who asks to.

    Attributes:
        presenter: the page that presents; None if nobody presents.
        left_at: when the presenter's connection ended, in seconds; None while it is open.
        requests: the pages that asked to present, the oldest request first.
        offered_to: the person whom the presenter offered the floor; None without an offer.
    """

    presenter: Seat | None = None
    left_at: float | None = None
    requests: tuple[Seat, ...] = ()
    offered_to: int | None = None


Change = Callable[[Floor, Set[Seat], float], Floor]
EMPTY = Floor()


def is_free(floor: Floor, here: Set[Seat], now: float) -> bool:
    """Tell whether anybody may take the floor, because nobody presents or the presenter has gone.

    Args:
        floor: the floor.
        here: the pages that are connected.
        now: the time in seconds.
    """
    if floor.presenter is None:
        return True
    if floor.presenter in here:
        return False
    return floor.left_at is None or now - floor.left_at >= AWAY_SECONDS


def take(floor: Floor, seat: Seat, here: Set[Seat], now: float) -> Floor:
    """Give the floor to a page if it may have it, else note its request."""
    is_own = floor.presenter is not None and floor.presenter.person == seat.person
    if is_own or floor.offered_to == seat.person or is_free(floor, here, now):
        return Floor(seat, requests=_without(floor.requests, seat.person))
    others = _without(floor.requests, seat.person)
    return replace(floor, requests=(*others, seat)[-MOST_REQUESTS:])


def offer(floor: Floor, seat: Seat, person: int) -> Floor:
    """Offer the presenter's floor to a person, or hand it over if the person has asked for it."""
    if floor.presenter != seat or person == seat.person:
        return floor
    for request in floor.requests:
        if request.person == person:
            return Floor(request, requests=_without(floor.requests, person))
    return replace(floor, offered_to=person)


def decline(floor: Floor, seat: Seat) -> Floor:
    """Drop all requests if the page presents, else the offer to its person."""
    if floor.presenter == seat:
        return replace(floor, requests=(), offered_to=None)
    if floor.offered_to == seat.person:
        return replace(floor, offered_to=None)
    return floor


def stop(floor: Floor, seat: Seat) -> Floor:
    """End presenting if the page presents, else withdraw the request of its person."""
    if floor.presenter == seat:
        return EMPTY
    return replace(floor, requests=_without(floor.requests, seat.person))


def leave(floor: Floor, seat: Seat, now: float) -> Floor:
    """Note that the connection of a page has ended."""
    requests = tuple(request for request in floor.requests if request != seat)
    if floor.presenter == seat:
        return replace(floor, left_at=now, requests=requests)
    return replace(floor, requests=requests)


def come_back(floor: Floor, seat: Seat) -> Floor:
    """Note that the presenter's page is connected again."""
    return replace(floor, left_at=None) if floor.presenter == seat else floor


def _without(requests: tuple[Seat, ...], person: int) -> tuple[Seat, ...]:
    return tuple(request for request in requests if request.person != person)

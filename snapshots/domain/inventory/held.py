"""What the state of a query holds, in the words of SQL."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from snapshots.quantities import counted

# What is counted, in the singular.
ROWS, GROUPS, KEYS, VALUES, ENTRIES = "row", "group", "key", "value", "entry"

# What removes entries, if no time to live is set.
UNTIL_RETRACTED, ONE_A_KEY = "until retracted", "one a key"
WINDOW, PASSES, BOUNDED, MATCH = "window", "passes", "bounded", "match"
AS_PROGRAMMED = "as programmed"

_PLURALS = {ENTRIES: "entries"}
_GROWS = {
    UNTIL_RETRACTED: "It grows without end: no TTL, and only a retraction removes a row.",
    ONE_A_KEY: "It grows with each new key: no TTL.",
}
_LASTS = {
    WINDOW: "It is cleared when the window ends.",
    PASSES: "It is cleared as time passes.",
    BOUNDED: "Its size is limited.",
    MATCH: "It stays until a match is complete or the time of WITHIN has passed; without WITHIN "
    "nothing else removes it, and a checkpoint does not tell whether there is one.",
}
_MOST_NAMED = 20  # operators
_GROWTH = {
    UNTIL_RETRACTED: "Without a TTL these grow without end, unless their input retracts: {}.",
    ONE_A_KEY: "Without a TTL these grow with each new key: {}.",
}
_PAST = "What is past it counts until Flink removes it."
_NOT_TOLD = (
    "Whether it has a TTL is not known: Flink puts a time stamp on every state of such a function."
)


@final
@dataclass(frozen=True, slots=True)
class Held:
    """What one state of a query holds.

    Attributes:
        what: what lies in it, with an article.
        unit: what ``count`` counts: ``row``, ``group``, ``key``, ``value`` or ``entry``.
        count: how many there are. None if that is not counted, or not known.
        keys: how many keys of the operator they belong to. None if that is not known.
        unmatched: how many rows match no row of the other side of an outer join, by the numbers in
            the state. None if the state keeps no such numbers.
        alone: how many rows have a key that the other side of the join lacks, so that they match
            nothing. None if that is not known, or is no question.
        stays: what removes entries if there is no time to live: ``until retracted``, ``one a key``,
            ``window``, ``passes``, ``bounded``, ``match`` or ``as programmed``.
        has_ttl: whether a time to live is set. None if the checkpoint does not tell.
        ttl: the time to live, in the words of a compiled plan. None if no plan tells.
    """

    what: str
    unit: str
    count: int | None
    keys: int | None
    unmatched: int | None
    alone: int | None
    stays: str
    has_ttl: bool | None
    ttl: str | None = None

    @property
    def grows(self) -> bool | None:
        """Whether nothing but retractions takes anything away. None if it is not known."""
        if self.has_ttl is None or (self.stays == MATCH and not self.has_ttl):
            return None
        return not self.has_ttl and self.stays in _GROWS


@final
@dataclass(frozen=True, slots=True)
class WindowClock:
    """By which clock the windows of an operator start and end.

    Attributes:
        offsets: how many minutes that clock is before UTC, as the timers of the windows say. Empty
            if no timer is there.
        zone: the time zone of the session, as a compiled plan names it. None if none does.
    """

    offsets: tuple[int, ...]
    zone: str | None


def clock_sentence(clock: WindowClock) -> str:
    """Say in which time the ends of windows are shown."""
    start = "Its windows start and end"
    named = f"; the compiled plan names {clock.zone} as the session's zone" if clock.zone else ""
    if clock.offsets == (0,):
        return f"{start} in UTC, or by a TIMESTAMP that has no zone, as their timers say{named}."
    if clock.offsets:
        offsets = " and ".join(map(offset_text, clock.offsets))
        return f"{start} in local time, which was {offsets}, as their timers say{named}."
    if clock.zone:
        return (
            f"{start} in the local time of {clock.zone}, which the compiled plan names, if their "
            "time is a TIMESTAMP_LTZ."
        )
    return f"{start} in the local time of the session's zone, which no file of the upload names."


def offset_text(minutes: int) -> str:
    """Return how far a clock is before UTC: 480 minutes are "+08:00"."""
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


def sentences(held: Held) -> Iterator[str]:
    """Yield how much a state holds, and what removes it."""
    what = held.what[0].upper() + held.what[1:]
    yield f"{what}: {_amount(held)}." if held.count is not None else f"{what}."
    if held.ttl is not None:
        yield f"It has a TTL of {held.ttl}, by the compiled plan. {_PAST}"
    elif held.has_ttl:
        yield f"It has a TTL; how long that is does not stand in a checkpoint. {_PAST}"
    elif held.has_ttl is None:
        yield _NOT_TOLD
    else:
        yield (_GROWS | _LASTS)[held.stays]


def _amount(held: Held) -> str:
    assert held.count is not None
    text = counted(held.count, held.unit, _PLURALS.get(held.unit, ""))
    if held.unit in (ROWS, VALUES) and held.keys is not None and held.count:
        text += f" of {counted(held.keys, 'key')}"
    if held.unmatched is not None and held.count:
        return f"{text}, {_some(held.unmatched)} without a match"
    if held.alone:
        return f"{text}, {_some(held.alone)} with keys that the other side lacks"
    return text


def _some(count: int) -> str:
    return f"{counted(count, 'of them', 'of them')}" if count else "none of them"


def growing(states: Iterable[tuple[str, str, Held]]) -> Iterator[str]:
    """Yield which states only grow, as a sentence for each way of growing.

    Args:
        states: operator, state, and what that holds. Numbers and marks that a state keeps for each
            key are not named beside its rows.
    """
    rows: dict[str, dict[str, list[str]]] = {UNTIL_RETRACTED: {}, ONE_A_KEY: {}}
    for operator, name, held in states:
        if held.grows and held.unit != KEYS and (held.count is None or held.count):
            rows[held.stays].setdefault(operator, []).append(name)
    for stays, named in rows.items():
        listed = [f"{' and '.join(own)} of {operator}" for operator, own in named.items()]
        if more := listed[_MOST_NAMED:]:
            listed[_MOST_NAMED:] = [counted(len(more), "more operator")]
        if listed:
            yield _GROWTH[stays].format(", ".join(listed))

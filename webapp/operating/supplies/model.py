"""Define what is said of a thing that can run out, and the sentences that say it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from typing_extensions import TypedDict

from snapshots.payloads.declaring import described
from snapshots.quantities import counted, file_size, thousands
from webapp.operating.presence import Taken
from webapp.operating.rates import LONGEST, Outlook, Rate, words

State = Literal["out", "soon", "near", "ok", "unknown"]
SOON = 14 * 86_400  # seconds
MONTHS = 60 * 86_400  # seconds
NEAR = 0.8  # of a limit
RANKS: dict[State, int] = {"out": 0, "soon": 1, "near": 2, "ok": 3, "unknown": 4}


@described
class RatePayload(TypedDict):
    """How fast something grew over a time.

    Attributes:
        seconds: the length of the time, which ends now.
        per_day: how much more is used after a day at this rate; below zero where it gets less.
        runs_out_at: when nothing is left at this rate, as ISO 8601 in UTC; null where that is
            never, or later than in ten years.
    """

    seconds: int
    per_day: float
    runs_out_at: str | None


@described
class Supply(TypedDict):
    """Something that can run out.

    Attributes:
        name: what it is: ``disk``, ``inodes``, ``object-store``, ``database-disk``,
            ``stored-bytes``, ``open-jobs``, ``collectors``, ``open-files``, ``body-places``,
            ``connections``, ``redis-memory`` or ``workers``.
        of: whose it is, such as the host name of a machine or an e-mail address; empty where there
            is only one.
        account: the number of the person or team whose it is; null for all else.
        path: the page that shows more about whose it is; empty where there is none.
        title: what it is and whose, in words.
        state: ``out`` where nothing is left, ``soon`` if that comes within 14 days, ``near`` from
            80 percent of a limit, ``unknown`` where it is not known, else ``ok``.
        unit: ``B`` for bytes, else empty.
        used: how much is used now; null where that is not known.
        limit: how much can be used; null where that is not known.
        runs_out_at: when nothing is left, as ISO 8601 in UTC: the first of ``rates``; null where
            that never comes, or is not known.
        rates: how fast it grew over several times, the shortest first.
        answer: when it runs out, or why that is not known, in words.
        basis: from what the answer follows, as sentences.
        remedy: what to do about it, as a sentence.
    """

    name: str
    of: str
    account: int | None
    path: str
    title: str
    state: State
    unit: str
    used: float | None
    limit: float | None
    runs_out_at: str | None
    rates: list[RatePayload]
    answer: str
    basis: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Thing:
    """What can run out, and what to do then."""

    name: str
    title: str
    remedy: str
    of: str = ""
    unit: str = ""
    account: int | None = None
    path: str = ""

    def how_full(self, used: float, limit: float) -> str:
        """Say how much of a limit is used."""
        return f"{self.shown(used)} of {self.shown(limit)} are used."

    @property
    def shown(self) -> Callable[[float], str]:
        """The function that writes an amount of it."""
        return (lambda number: file_size(round(number))) if self.unit == "B" else thousands


def growing(
    thing: Thing, used: float, limit: float, outlook: Outlook, now: float, basis: str
) -> Supply:
    """Return what is said of something that grows until it is full.

    Args:
        now: the epoch seconds at which ``used`` is used.
        basis: sentences that say how much is used; those about the rates follow.
    """
    first = outlook.first
    state, answer = _when(used, limit, outlook, now)
    ends_at = now if state == "out" else now + (first.ends_in or 0) if first else None
    sentences = [basis, *(_rate_sentence(thing, rate) for rate in outlook.rates)]
    return {
        **_of(thing, state, answer, " ".join(sentences)),
        "used": used,
        "limit": limit,
        "runs_out_at": iso(ends_at) if ends_at is not None else None,
        "rates": [_rate_payload(rate, now) for rate in outlook.rates],
    }


def _when(used: float, limit: float, outlook: Outlook, now: float) -> tuple[State, str]:
    if used >= limit:
        return "out", "has run out"
    is_near = used >= NEAR * limit
    if outlook.unknown:
        return "near" if is_near else "unknown", f"when it runs out is not known: {outlook.unknown}"
    first = outlook.first
    if first is None:
        grows = any(rate.per_second > 0 for rate in outlook.rates)
        end = f" within {LONGEST // (365 * 86_400)} years" if grows else ""
        return "near" if is_near else "ok", f"does not run out{end} at the present rate"
    seconds = first.ends_in or 0
    state: State = "soon" if seconds < SOON else "near" if is_near else "ok"
    return state, f"runs out in {_far(seconds)}, on {_day(now + seconds, seconds)}"


def _far(seconds: float) -> str:
    """Write how far away an end is; what is months away is not known to the hour."""
    return words(seconds) if seconds < MONTHS else counted(round(seconds / 86_400), "day")


def _day(end: float, seconds: float) -> str:
    return minute(end) if seconds < MONTHS else minute(end)[: len("2026-12-01")]


def _rate_sentence(thing: Thing, rate: Rate) -> str:
    difference = rate.per_second * rate.seconds
    if round(difference) == 0:
        return f"Over the last {words(rate.seconds)}, as much was added as became free."
    amount = thing.shown(abs(round(difference)))
    change = f"{amount} {'were added' if difference > 0 else 'became free'}"
    end = f": at this rate it ends in {_far(rate.ends_in)}" if rate.ends_in is not None else ""
    return f"Over the last {words(rate.seconds)}, {change}{end}."


def _rate_payload(rate: Rate, now: float) -> RatePayload:
    ends = iso(now + rate.ends_in) if rate.ends_in is not None else None
    return {
        "seconds": round(rate.seconds),
        "per_day": round(rate.per_second * 86_400, 3),
        "runs_out_at": ends,
    }


def taken(thing: Thing, each: Taken, since: str) -> Supply:
    """Return what is said of places that are taken and given back.

    Args:
        since: when the count began, as ISO 8601 in UTC.
    """
    state: State = "near" if each.most >= NEAR * each.limit else "ok"
    if each.now >= each.limit:
        state = "out"
    answer = f"at most {thousands(each.most)} of {thousands(each.limit)} were taken at once"
    when = f"That was on {_minute_of(each.most_at)}. "
    if each.most == 0:
        answer, when = f"none of {thousands(each.limit)} was taken so far", ""
    basis = f"{when}{thousands(each.now)} are taken now. This is counted since {_minute_of(since)}."
    supply = _of(thing, state, answer, basis)
    runs_out_at = datetime.now(UTC).isoformat(timespec="seconds") if state == "out" else None
    return {**supply, "used": each.now, "limit": each.limit, "runs_out_at": runs_out_at}


def said(
    thing: Thing,
    state: State,
    answer: str,
    basis: str = "",
    *,
    used: float | None = None,
    limit: float | None = None,
) -> Supply:
    """Return what is said in words of its own; what has run out did so now."""
    runs_out_at = datetime.now(UTC).isoformat(timespec="seconds") if state == "out" else None
    supply = _of(thing, state, answer, basis)
    return {**supply, "used": used, "limit": limit, "runs_out_at": runs_out_at}


def not_known(thing: Thing, reason: str, basis: str = "", *, used: float | None = None) -> Supply:
    return said(thing, "unknown", f"when it runs out is not known: {reason}", basis, used=used)


def _of(thing: Thing, state: State, answer: str, basis: str) -> Supply:
    return {
        "name": thing.name,
        "of": thing.of,
        "account": thing.account,
        "path": thing.path,
        "title": thing.title,
        "state": state,
        "unit": thing.unit,
        "used": None,
        "limit": None,
        "runs_out_at": None,
        "rates": [],
        "answer": answer,
        "basis": basis,
        "remedy": thing.remedy,
    }


def first_to_end(supply: Supply) -> tuple:
    """Return the key that sorts supplies: what has run out, what does so first, then the rest.

    What is near a limit without a time comes after what ends within 14 days.
    """
    share = (supply["used"] or 0) / supply["limit"] if supply["limit"] else 0
    is_timed = supply["state"] in ("out", "soon") or supply["runs_out_at"] is not None
    return (
        RANKS[supply["state"]],
        not is_timed,
        supply["runs_out_at"] or "",
        -share,
        supply["title"],
    )


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def minute(seconds: float) -> str:
    """Write a moment to the minute, as in "2026-12-01 14:00 UTC"."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _minute_of(text: str) -> str:
    return minute(datetime.fromisoformat(text).timestamp())

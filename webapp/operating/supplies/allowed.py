"""Say which people and teams come to the end of what they may use."""

from collections.abc import Iterator
from dataclasses import replace

from django.urls import reverse

from snapshots import allowances
from snapshots.allowances import Filled
from snapshots.quantities import thousands
from webapp.accounts.audit import name_of
from webapp.operating import history
from webapp.operating.history import MOST_ACCOUNTS
from webapp.operating.noted import Noted
from webapp.operating.supplies.model import (
    NEAR,
    State,
    Supply,
    Thing,
    first_to_end,
    growing,
    said,
)

STORED = Thing(
    "stored-bytes",
    "Storage allowance",
    "Ask them to delete recordings, or raise their limit on the page of people.",
    unit="B",
)
JOBS = Thing(
    "open-jobs",
    "Allowance of open jobs",
    "Nothing, if they can wait. Else raise their limit on the page of people.",
)
COLLECTORS = Thing(
    "collectors",
    "Allowance of collectors",
    "Raise their limit on the page of people, if they need more.",
)
_NAMES = {"stored-bytes": "stored_bytes", "open-jobs": "open_jobs", "collectors": "collectors"}
SHOWN = 3  # accounts, of those that come to their end


def stored(noted: Noted, now: float) -> Iterator[Supply]:
    """Yield the accounts whose space ends first; if none does, the fullest.

    Raises: DatabaseError.
    """
    fullest = allowances.fullest("stored_bytes", MOST_ACCOUNTS)
    series = history.stored_of_accounts(noted.shared)
    found = [_stored(each, series.get(each.owner.pk, []), noted, now) for each in fullest]
    ending = [each for each in found if each["runs_out_at"] is not None]
    yield from sorted(ending, key=first_to_end)[:SHOWN] or found[:1] or [_nobody(STORED)]


def _stored(each: Filled, series: history.Series, noted: Noted, now: float) -> Supply:
    outlook = noted.outlook(series, now, each.used, each.limit - each.used)
    thing = _of(STORED, each, f"Storage allowance of {name_of(each.owner)}")
    basis = thing.how_full(each.used, each.limit)
    return growing(thing, each.used, each.limit, outlook, now, basis)


def fullest(thing: Thing) -> Iterator[Supply]:
    """Yield the account that has most of what it may have of jobs or collectors.

    Raises: DatabaseError.
    """
    first = next(iter(allowances.fullest(_NAMES[thing.name], 1)), None)
    if first is None:
        yield _nobody(thing)
        return
    state: State = "near" if first.share >= NEAR else "ok"
    if first.share >= 1:
        state = "out"
    name = name_of(first.owner)
    answer = f"{name} has {thousands(first.used)} of {thousands(first.limit)}"
    basis = "Nobody has a larger share of what they may have."
    whose = _of(thing, first, thing.title)
    yield said(whose, state, answer, basis, used=first.used, limit=first.limit)


def _of(thing: Thing, each: Filled, title: str) -> Thing:
    """Return the thing as that of one person or team, with the operator's page about them."""
    page = "team-of-operator" if hasattr(each.owner, "team") else "person"
    path = reverse(page, args=[each.owner.pk])
    name = name_of(each.owner)
    return replace(thing, of=name, account=each.owner.pk, path=path, title=title)


def _nobody(thing: Thing) -> Supply:
    return said(thing, "ok", "nobody who has a limit uses any", used=0)

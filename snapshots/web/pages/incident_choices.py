"""The lists of the page of a review from which a person chooses an exhibit or a person.

A list shows its first rows and says how many there are. The others are found by their name.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from snapshots import access
from snapshots.fields import storable
from snapshots.reviews.models import Review
from webapp.accounts.auth import SignedInRequest

SHOWN = 100  # rows of a list
LONGEST_SEARCH = 200  # characters
ADDRESS = re.compile(r"/(recordings|archive)/([0-9]{1,18})(?![0-9])")


@dataclass(frozen=True)
class Choice:
    """The rows of a list, as far as they are shown.

    Attributes:
        rows: the first rows that match.
        total: how many rows match.
        wanted: what was searched; empty if nothing was.
    """

    rows: Sequence[Any]
    total: int
    wanted: str

    @property
    def is_searched(self) -> bool:
        """Tell whether the page offers a search: there are more rows, or one was searched."""
        return bool(self.wanted or self.left_out)

    @property
    def left_out(self) -> int:
        """Return how many rows match and are not shown."""
        return self.total - len(self.rows)


def choices(request: SignedInRequest, review: Review) -> dict[str, Choice]:
    """Return the lists of the page of a review by their names in its templates."""
    exhibit, person = _searched(request, "exhibit"), _searched(request, "person")
    recordings = access.recordings(request.user).filter(owner__isnull=False)
    recordings = recordings.exclude(pk__in=_exhibited(review, "recording"))
    jobs = access.engine_jobs(request.user).exclude(pk__in=_exhibited(review, "engine_job"))
    people = access.readers(review).exclude(pk__in=review.participants.values("person"))
    return {
        "recordings": _choice(recordings, exhibit, "recordings", ["name"]),
        "jobs": _choice(jobs, exhibit, "archive", ["name", "key"]),
        "readers": _choice(people.order_by("username"), person, "people", ["username"]),
    }


def _exhibited(review: Review, subject: str) -> QuerySet:
    """Return the subjects that are exhibits as a whole; where a part is one, the whole is not."""
    whole = review.exhibits.filter(place="").exclude(**{subject: None})
    return whole.values(subject)


def _searched(request: HttpRequest, parameter: str) -> str:
    return storable(request.GET.get(parameter, "")).strip()[:LONGEST_SEARCH]


def _choice(rows: QuerySet, wanted: str, kind: str, fields: Sequence[str]) -> Choice:
    rows = rows.prefetch_related(None).filter(_matches(wanted, kind, fields))
    shown = list(rows[:SHOWN])
    total = len(shown) if len(shown) < SHOWN else rows.count()
    return Choice(shown, total, wanted)


def _matches(wanted: str, kind: str, fields: Sequence[str]) -> Q:
    """Return the condition that each word is in a field, or that the row has this address."""
    if address := ADDRESS.search(wanted):
        return Q(pk=int(address[2])) if address[1] == kind else Q(pk=None)
    condition = Q()
    for word in wanted.split():
        condition &= Q(*[(f"{field}__icontains", word) for field in fields], _connector=Q.OR)
    return condition

"""Show the versions of an entry as differences of words."""

import re
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from snapshots.domain.comparing.aligning import Alignment, Effort, align
from snapshots.payloads.dates import date, optional_day
from snapshots.reviews.models import Entry
from snapshots.reviews.payloads import EntryVersion, TextChange

SAME, ADDED, REMOVED = "same", "added", "removed"
MOST_VERSIONS = 50  # in one answer
MOST_STEPS = 500_000  # comparisons of two words in one answer; beyond, parts are replaced whole
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


def with_versions(rows: QuerySet[Entry]) -> QuerySet[Entry]:
    """Add to each row as ``versions`` how many versions its history has."""
    history = Entry.history.model.objects.filter(id=OuterRef("pk")).order_by().values("id")
    counts = history.annotate(number=Count("history_id")).values("number")
    return rows.annotate(versions=Coalesce(Subquery(counts), 0))


def versions(entry: Entry, offset: int = 0, limit: int = MOST_VERSIONS) -> list[EntryVersion]:
    """Return versions of an entry, the newest first, each beside the one before it."""
    newest = entry.history.select_related("history_user").order_by("-history_date", "-pk")
    rows = list(newest[offset : offset + limit + 1])
    before = [*rows, None] if len(rows) <= limit else rows
    effort = Effort(MOST_STEPS)
    return [_version(older, row, effort) for row, older in pairwise(before)]


def _version(before, row, effort: Effort) -> EntryVersion:
    is_same_kind = before is None or before.kind == row.kind
    return {
        "at": date(row.history_date),
        "by": row.history_user and row.history_user.get_username(),
        "imported_from": row.imported_by or None,
        "kind": row.kind,
        "kind_before": None if is_same_kind else before.kind,
        "resolved": row.resolved_at is not None,
        "due_on": optional_day(row.due_on),
        "text": row.text,
        "changes": changes("" if before is None else before.text, row.text, effort),
    }


def changes(before: str, after: str, effort: Effort) -> list[TextChange]:
    """Return a text as parts that are the same, removed or added, compared word by word.

    When the effort is used up, what is left of the text counts as removed and added.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    spans = sorted(_spans(align(old, new, effort)), key=itemgetter(0, 1))
    words = {SAME: new, ADDED: new, REMOVED: old}
    parts = ((change, "".join(words[change][first:end])) for _, _, change, (first, end) in spans)
    return [{"change": change, "text": text} for change, text in parts if text]


def _spans(alignment: Alignment) -> Iterator[tuple[int, int, str, tuple[int, int]]]:
    """Yield where a part begins on both sides, what became of it, and its half-open range."""
    for stretch in alignment.stretches:
        yield stretch.left, stretch.right, SAME, (stretch.right, stretch.end[1])
    for gap in alignment.gaps:
        yield gap.left[0], gap.right[0], REMOVED, gap.left
        yield gap.left[1], gap.right[0], ADDED, gap.right

"""Show the versions of an entry as differences of words."""

import difflib
import re
from itertools import pairwise

from snapshots.payloads.dates import date
from snapshots.reviews.models import Entry
from snapshots.reviews.payloads import EntryVersion, TextChange

SAME, ADDED, REMOVED = "same", "added", "removed"
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


def versions(entry: Entry) -> list[EntryVersion]:
    """Return all versions of an entry, the newest first."""
    rows = list(entry.history.select_related("history_user").order_by("history_date", "pk"))
    pairs = pairwise([None, *rows])
    return [_version(before, row) for before, row in pairs][::-1]


def _version(before, row) -> EntryVersion:
    is_same_kind = before is None or before.kind == row.kind
    return {
        "at": date(row.history_date),
        "by": row.history_user and row.history_user.get_username(),
        "kind": row.kind,
        "kind_before": None if is_same_kind else before.kind,
        "resolved": row.resolved_at is not None,
        "text": row.text,
        "changes": changes("" if before is None else before.text, row.text),
    }


def changes(before: str, after: str) -> list[TextChange]:
    """Return a text as parts that are the same, removed or added, compared word by word."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    parts: list[TextChange] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            parts.append({"change": SAME, "text": "".join(new[new_from:new_to])})
            continue
        if old_from < old_to:
            parts.append({"change": REMOVED, "text": "".join(old[old_from:old_to])})
        if new_from < new_to:
            parts.append({"change": ADDED, "text": "".join(new[new_from:new_to])})
    return parts

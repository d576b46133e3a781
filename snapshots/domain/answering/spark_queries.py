"""The answer about a folder with several queries of Spark: how many of them can go on."""

from collections.abc import Sequence

from snapshots.domain.answering.sentences import (
    CONTENTS,
    FACT,
    LEVELS,
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import UploadSummary
from snapshots.domain.inventory.model import JobInventory
from snapshots.domain.inventory.restore_check import NOT_RESTORABLE, RESTORABLE
from snapshots.domain.model.listing import listed

WHOLE = "whole"
"""The code of the sentence about all queries."""

_MOST_NAMED = 5  # queries


def whole(
    summary: UploadSummary, jobs: Sequence[JobInventory], subjects: Sequence[Subject]
) -> Subject:
    """Return the sentences about all queries of an upload.

    Args:
        jobs: the queries.
        subjects: the sentences about each of them, in the same order.
    """
    can: list[str] = []
    cannot: list[str] = []
    unsure: list[str] = []
    for job in jobs:
        points = summary.of_job(job.key)
        answer = points[-1].completeness.answer if points and points[-1].completeness else None
        known = {RESTORABLE: can, NOT_RESTORABLE: cannot}.get(answer or "", unsure)
        known.append(job.name or job.key)
    worst = [min((item.level for item in one.sentences), key=LEVELS.index) for one in subjects]
    level = _level(worst)
    if unsure and level not in (WRONG, WATCH):
        level = NOT_KNOWN
    sentences = [Sentence(WHOLE, _restarts(can, cannot, unsure), level, _LINK)]
    for level, words in ((WRONG, "Not well"), (WATCH, "To look at")):
        names = [
            one.name or one.key for one, own in zip(subjects, worst, strict=True) if own == level
        ]
        if names:
            text = f"{words}: {len(names):,} of {len(subjects):,} queries ({_named(names)})."
            sentences.append(Sentence("queries", text, level, _LINK))
    return Subject("", f"All {len(subjects):,} queries", tuple(sentences))


_LINK = (Evidence(CONTENTS, "All batches"),)


def _restarts(can: list[str], cannot: list[str], unsure: list[str]) -> str:
    parts = [
        *([f"can go on for {len(can):,}"] if can else []),
        *([f"cannot go on for {len(cannot):,} ({_named(cannot)})"] if cannot else []),
        *([f"may go on or not for {len(unsure):,}: that is not known"] if unsure else []),
    ]
    total = len(can) + len(cannot) + len(unsure)
    return f"Of the {total:,} queries in the upload a restart {listed(parts)}."


def _named(names: list[str]) -> str:
    return listed(names, _MOST_NAMED)


def _level(worst: Sequence[str]) -> str:
    """Return the worst level of all queries; well only if every query is."""
    levels = set(worst)
    for level in (WRONG, WATCH):
        if level in levels:
            return level
    if levels <= {WELL, FACT}:
        return WELL if WELL in levels else FACT
    return NOT_KNOWN

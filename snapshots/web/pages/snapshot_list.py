"""The list of a recording's snapshots with their four answers."""

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase

from snapshots import access
from snapshots.answers.outcomes import colour_of, of_checkpoints, outcome_of
from snapshots.domain.judging.answers import QUESTIONS
from snapshots.models import Snapshot
from snapshots.payloads.recordings import snapshot_summary
from snapshots.web.pages import links
from snapshots.web.tables.sending import show

ROWS = 100
_WORDS = {"holds": "holds", "does-not-hold": "does not hold", "not-known": "not known"}


def snapshot_list(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the snapshots, a page at a time."""
    recording = access.shown_recording(request.user, pk)
    page = Paginator(recording.snapshots.all(), ROWS).get_page(request.GET.get("page"))
    context = {
        "recording": recording,
        "page": page,
        "questions": QUESTIONS,
        "is_of_engine": of_checkpoints(recording) is not None,
        "rows": [_row(item) for item in page],
        "all_rows": map(_row, recording.snapshots.select_related("recording").iterator()),
    }
    return show(request, "snapshots/snapshot/list.html", context)


def _row(row: Snapshot) -> dict[str, Any]:
    """Return what the list shows of a snapshot."""
    outcome = outcome_of(row)
    return {
        **snapshot_summary(row, outcome),
        "colour": colour_of(outcome),
        "answers": _answers(row),
        "address": links.to_snapshot(row.recording_id, row.snapshot),
    }


def _answers(row: Snapshot) -> list[dict[str, str]]:
    """Return the four answers in the order of QUESTIONS, each with its word for people."""
    by_question = {item["question"]: item for item in row.answers}
    return [
        {
            "question": question,
            "answer": item.get("answer", "not-known"),
            "word": _WORDS[item.get("answer", "not-known")],
            "sentence": item.get("sentence", "It was judged by an older version."),
            "not_compared": item.get("not_compared", ""),
        }
        for question in QUESTIONS
        for item in [by_question.get(question, {})]
    ]

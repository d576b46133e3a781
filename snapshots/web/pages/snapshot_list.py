"""The list of a recording's snapshots with their four answers, also as CSV."""

from collections.abc import Iterator
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from snapshots import access
from snapshots.answers.outcomes import colour_of, of_checkpoints, outcome_of
from snapshots.domain.judging.answers import QUESTIONS
from snapshots.models import Recording, Snapshot
from snapshots.payloads.recordings import snapshot_summary
from snapshots.web.csv import csv_file
from snapshots.web.pages import links

ROWS = 100
_WORDS = {"holds": "holds", "does-not-hold": "does not hold", "not-known": "not known"}
_HEAD = (
    *("snapshot", "outcome", "verdict"),
    *(f"{question}{part}" for question in QUESTIONS for part in ("", ": why", ": not compared")),
    *("began at", "took", "unit"),
)


def snapshot_list(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the snapshots; with ``?format=csv`` send all of them as a file."""
    recording = access.ready_recording(request.user, pk)
    if request.GET.get("format") == "csv":
        name = f"cutline-snapshots-{recording.pk}.csv"
        return csv_file(name, _HEAD, _csv_rows(recording))
    page = Paginator(recording.snapshots.all(), ROWS).get_page(request.GET.get("page"))
    context = {
        "recording": recording,
        "page": page,
        "questions": QUESTIONS,
        "is_of_engine": of_checkpoints(recording) is not None,
        "rows": [_row(item) for item in page],
    }
    return render(request, "snapshots/snapshot/list.html", context)


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


def _csv_rows(recording: Recording) -> Iterator[list[object]]:
    for row in recording.snapshots.select_related("recording").iterator():
        answers = _answers(row)
        took = snapshot_summary(row, "")["duration"]
        yield [
            *(row.snapshot, outcome_of(row), row.verdict),
            *(item[field] for item in answers for field in ("word", "sentence", "not_compared")),
            *(row.began_at, took, recording.time_unit),
        ]

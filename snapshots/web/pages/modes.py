"""The page that shows what exactly-once costs: one dataflow under each way to take checkpoints.

Without a recording, in Learn, it shows the demonstration.
"""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers import modes as answers
from snapshots.simulating.compared_modes import MODES, Row
from snapshots.web.figures.modes import mode_picture
from snapshots.web.pages.rendering import page
from snapshots.web.pages.reruns import seed_of
from snapshots.web.tables.sending import show


@page
@require_safe
def modes(request: HttpRequest, pk: int | None = None) -> HttpResponseBase:
    """Show the runs of ``?seed=`` in each mode, side by side under one cursor."""
    recording = None if pk is None else access.recording(request.user, pk)
    runs = answers.runs_of(recording, seed_of(request))
    found = answers.compared(recording, runs)
    context = {
        "recording": recording,
        "seed": runs.seed,
        "modes": MODES,
        "vertices": runs.dataflow.vertices,
        "failures": runs.parameters[0].failures,
        "sentences": found.sentences,
        "rows": [_row(row) for row in found.rows],
        "picture": mode_picture(found),
    }
    return show(request, "snapshots/reruns/modes.html", context)


def _row(row: Row) -> dict[str, Any]:
    return {
        "title": row.title,
        "unit": row.unit,
        "sentence": row.sentence,
        "values": row.values,
        "cells": [
            {"mode": mode, "text": _text(value, row.unit), "is_best": best}
            for mode, value, best in zip(MODES, row.values, row.best, strict=True)
        ],
    }


def _text(value: float | None, unit: str) -> str:
    if value is None:
        return "not known"
    if unit == "us":
        return quantities.duration(value, "us")
    if unit == "B":
        return quantities.file_size(round(value))
    return quantities.thousands(round(value))

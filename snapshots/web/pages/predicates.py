"""The page that searches all consistent cuts for conditions: possibly and definitely."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.db.models.fields.json import KT
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from snapshots import access, quantities
from snapshots.domain.conditions.conjunctions import conjunction, processes_of
from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.model.topology import JsonText, Process, ProcessId
from snapshots.domain.model.values import parsed
from snapshots.files.recordings import open_recording
from snapshots.models import Job, Recording
from snapshots.payloads.jobs import job_detail
from snapshots.problems import Problem
from snapshots.services.jobs import current_jobs, request_search
from snapshots.store.reader import StoredRecording
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_PROCESSES = 200  # in the table
MOST_LEGS = 20
MOST_NAMED = 5  # processes in a sentence
MOST_EARLIER = 8
LONGEST_CUT = 6_000  # characters in a link
LONGEST_STATE = 40  # characters in the example
WORDS = {"true": "yes", "false": "no", "unknown": "not known"}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the answer to ``?expression=``, or the progress of its search; a POST starts one."""
    recording = access.ready_recording(request.user, pk)
    if request.method == "POST":
        return _ask(request, recording)
    text = request.GET.get("expression", "").strip()
    row = _jobs(request, recording, expression=text).first() if text else None
    return _page(request, recording, text, row=row)


def _ask(request: HttpRequest, recording: Recording) -> HttpResponseBase:
    text = request.POST.get("expression", "").strip().replace("\r\n", "\n")
    try:
        request_search(request.user, recording, text)
    except Problem as problem:
        return _page(request, recording, text, refusal=problem.as_json())
    return redirect(links.to_predicate(recording.pk, text))


def _jobs(request: HttpRequest, recording: Recording, **question: str):
    jobs = current_jobs(Job.Kind.PREDICATE, request.user, recording, **question)
    return jobs.select_related("recording")


def _page(
    request: HttpRequest,
    recording: Recording,
    text: str,
    *,
    row: Job | None = None,
    refusal: Mapping[str, Any] | None = None,
) -> HttpResponseBase:
    stored = open_recording(recording)
    earlier = _earlier(request, recording, text)
    result = row.result if row and row.state == Job.State.DONE else None
    context = {
        "recording": recording,
        "text": text,
        "example": _example(stored),
        "row": row,
        "job": job_detail(row) if row else None,
        "refusal": refusal,
        "properties_query": urlencode({"expression": text}),
        "earlier": earlier[:MOST_EARLIER],
        "all_earlier": earlier or None,
        "found": _answer(recording, stored, result) if result else None,
    }
    status = refusal["status"] if refusal else 200
    return show(request, "snapshots/predicates/predicates.html", context, status=status)


def _earlier(request: HttpRequest, recording: Recording, text: str) -> list[dict[str, str]]:
    """Return other questions that were answered, the newest first."""
    answers = (
        _jobs(request, recording)
        .filter(state=Job.State.DONE)
        .exclude(expression=text)
        .values_list("expression", KT("result__possibly"), KT("result__definitely"))
    )
    return [
        {
            "expression": expression,
            "address": links.to_predicate(recording.pk, expression),
            "possibly": WORDS[possibly],
            "definitely": WORDS[definitely],
        }
        for expression, possibly, definitely in answers
    ]


# --- the example --------------------------------------------------------------------------------


def _example(stored: StoredRecording) -> str:
    """Return a conjunction that can be asked of this recording."""
    processes = stored.topology.processes
    names = frozenset(process.id for process in processes)
    return " && ".join(_condition(process, names) for process in processes[:2])


def _condition(process: Process, names: frozenset[str]) -> str:
    """Return the condition that a process is as at its start, as short as the names allow."""
    comparison = "!= null"
    fields = [""]
    value = None if process.state is None else parsed(process.state)
    if isinstance(value, dict):
        name = next((name for name, item in value.items() if _is_short(item)), None)
        fields = [""] if name is None else [f".{name}", f"[{json.dumps(name)}]"]
        value = value.get(name)
    if _is_short(value):
        comparison = f"== {json.dumps(value)}"
    for owner in (process.id, f"processes[{json.dumps(process.id)}]"):
        for field in fields:
            try:
                conjunction(f"{owner}{field} {comparison}", names)
            except ExpressionError:
                continue
            return f"{owner}{field} {comparison}"
    return f"processes[{json.dumps(process.id)}] != null"


def _is_short(value: object) -> bool:
    return isinstance(value, int | float | str) and len(json.dumps(value)) <= LONGEST_STATE


# --- the answer ---------------------------------------------------------------------------------


def _answer(
    recording: Recording, stored: StoredRecording, result: Mapping[str, Any]
) -> dict[str, Any]:
    names = [process.id for process in stored.topology.processes]
    asked = processes_of(conjunction(result["expression"], frozenset(names)))
    cuts = {head: result[head.lower()] for head in ("First", "Last") if result[head.lower()]}
    shown = [*asked, *(name for name in names if name not in set(asked))][:MOST_PROCESSES]
    return {
        **result,
        "words": {name: WORDS[result[name]] for name in ("possibly", "definitely")},
        "asked": asked,
        "one_cut": result["first"] == result["last"],
        "links": {head: _link(recording, names, cut) for head, cut in cuts.items()},
        "heads": list(cuts),
        "rows": list(_rows(stored, cuts, shown, set(asked))) if cuts else [],
        "all_rows": _whole_rows(stored, cuts, set(asked)),
        "rows_hidden": len(names) - len(shown),
        "legs": list(_legs(recording, names, asked, result)),
        "legs_hidden": max(result["avoiding_total"] - MOST_LEGS, 0),
    }


def _link(recording: Recording, names: Sequence[str], cut: Mapping[str, int]) -> str | None:
    """Return the address of a cut in the workbench, or None if it is too long for an address."""
    text = links.cut(cut[name] for name in names)
    return links.to_workbench(recording.pk, cut=text) if len(text) <= LONGEST_CUT else None


def _rows(
    stored: StoredRecording,
    cuts: Mapping[str, Mapping[str, int]],
    shown: Sequence[ProcessId],
    asked: set[str],
) -> Iterator[dict[str, Any]]:
    """Yield the position and the state of each process in each of the cuts."""
    states = _states_of(stored, cuts)
    for name in shown:
        cells = [(head, cut[name], *_state(states[head][name])) for head, cut in cuts.items()]
        yield {"name": name, "asked": name in asked, "cells": cells}


def _states_of(
    stored: StoredRecording, cuts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, JsonText | None]]:
    """Return the state of each process in each of the cuts."""
    names = [process.id for process in stored.topology.processes]
    return {
        head: dict(
            zip(names, stored.cut(np.array([cut[name] for name in names])).states, strict=True)
        )
        for head, cut in cuts.items()
    }


def _whole_rows(
    stored: StoredRecording, cuts: Mapping[str, Mapping[str, int]], asked: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the file: all processes, with their states as values."""
    states = _states_of(stored, cuts)
    for process in stored.topology.processes:
        name = process.id
        cells = {
            head: {"position": cut[name], "state": parsed(states[head][name])}
            for head, cut in cuts.items()
        }
        yield {"process": name, "asked": name in asked, **cells}


def _state(text: JsonText | None) -> tuple[str, str]:
    """Return the text of a cell and its CSS class."""
    return ("not known", "soft") if text is None else (quantities.value(parsed(text)), "value")


def _legs(
    recording: Recording, names: Sequence[str], asked: Sequence[str], result: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for leg in result["avoiding"][:MOST_LEGS]:
        places = [f"{name} at {leg['until'][name]:,}" for name in asked[:MOST_NAMED]]
        yield {
            "process": leg["process"],
            "until": ", ".join(places),
            "link": _link(recording, names, leg["until"]),
        }

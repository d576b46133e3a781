"""The page of the first answer: where one lands after the upload of an engine's files."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers.first_answer import first_answer
from snapshots.answers.plan import is_planned
from snapshots.domain.answering import sentences
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.payloads.first_answer import first_answer_detail
from snapshots.web.evidence import with_addresses
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_SUBJECTS = 10
MOST_LOADS = 200
MOST_FAILURES = 20
_WHOSE = ("vertex", "subtask")
WORDS = {
    sentences.WRONG: "not well",
    sentences.WATCH: "look",
    sentences.WELL: "well",
    sentences.FACT: "fact",
    sentences.NOT_KNOWN: "not known",
}
"""The word beside each level, which colours alone would not tell."""


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the sentences, their evidence, and where to read on."""
    recording = access.ready_recording(request.user, pk)
    answer = with_addresses(pk, first_answer_detail(first_answer(recording)))
    subjects = list(map(_shown, answer["subjects"][:MOST_SUBJECTS]))
    context = {
        "recording": recording,
        "engine": answer["engine"],
        "subjects": subjects,
        "all_subjects": answer["subjects"],
        "has_times": any(map(_has_times, subjects)),
        "has_plan": is_planned(open_recording(recording).manifest.header_extra),
        "hidden": len(answer["subjects"]) - len(subjects),
        "workbench_link": links.to_workbench(pk, t="0")
        if answer["engine"]
        else f"/recordings/{pk}",
        "archived": _archived(request, recording),
    }
    return show(request, "snapshots/answer/answer.html", context)


def _shown(subject: Mapping[str, Any]) -> dict[str, Any]:
    """Add words, and cut the tables, saying how much is not shown."""
    items = [item | {"word": WORDS[item["level"]]} for item in subject["sentences"]]
    loads = [load for load in subject["loads"] if _tells(load)]
    failures = _alike(subject["failures"])
    return {
        **subject,
        "sentences": items,
        "loads": sorted(loads, key=_busiest_first)[:MOST_LOADS],
        "loads_hidden": max(0, len(loads) - MOST_LOADS),
        "failures": failures[:MOST_FAILURES],
        "failures_hidden": max(0, len(failures) - MOST_FAILURES),
        "restorable": _restorable(items),
    }


def _tells(load: Mapping[str, Any]) -> bool:
    """Tell whether the engine said anything of how a subtask spent its time."""
    return any(value is not None for name, value in load.items() if name not in _WHOSE)


def _alike(failures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join failures with the same cause, in the order of the newest of each kind."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for failure in failures:
        item = found.setdefault((failure["name"], failure["message"]), {**failure, "all": []})
        item["all"].append(failure)
    return list(found.values())


def _busiest_first(load: Mapping[str, Any]) -> tuple[float, float]:
    return -(load["back_pressured"] or 0), -(load["busy"] or 0)


def _has_times(subject: Mapping[str, Any]) -> bool:
    """Tell whether there is a page that shows where the time went."""
    kinds = {link["kind"] for item in subject["sentences"] for link in item["evidence"]}
    return bool(kinds & {sentences.TIMES, sentences.ALL_TIMES})


def _restorable(items: list[dict[str, Any]]) -> int | None:
    """Return the number of the newest checkpoint to restore from; None if there is none."""
    for item in items:
        if item["code"] == "restorable" and item["level"] in (sentences.WELL, sentences.WATCH):
            return next((link["number"] for link in item["evidence"]), None)
    return None


def _archived(request: HttpRequest, recording: Recording) -> Any:
    return access.engine_jobs(request.user).filter(pk__in=recording.engine_jobs.values("pk"))

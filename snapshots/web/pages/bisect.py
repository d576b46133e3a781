"""The page that finds the first state of a series at which a condition holds."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import bisect, bisect_choice, inventory
from snapshots.answers.bisect_choice import Choice
from snapshots.answers.bisect_series import CHECKPOINTS, SNAPSHOTS, CheckpointSeries, Series
from snapshots.answers.inventory_sums import sums
from snapshots.domain.properties import BUILT_IN
from snapshots.domain.properties.phases import PHASE
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import NotFound, Problem
from snapshots.store.errors import StoreError
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.pages import bisect_answer
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_EXAMPLES = 3
STABLE = [item for item in BUILT_IN.values() if item.may_be_stable]
_FIELDS = ("property", "phase", "expression", "pipeline")


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Search the snapshots of a recording, or with ``?series=checkpoints`` those of an upload."""
    recording = access.ready_recording(request.user, pk)
    opened = _inventory(recording)
    question = _question(request)
    question["series"] = request.GET.get("series") or (CHECKPOINTS if opened else SNAPSHOTS)
    question["job"] = request.GET.get("job")
    choices = bisect_choice.choices(recording) if opened else []
    context = {
        "recording": recording,
        "name": recording.name,
        "has_checkpoints": opened is not None,
        "jobs": _jobs(opened, choices),
        "pipelines": _pipelines([choice.pipeline for choice in choices]),
    }
    return _shown(
        request, context, question, lambda: bisect_choice.of_recording(recording, question)
    )


@page
@require_safe
def of_archived_job(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Search the checkpoints of an archived job that an upload holds."""
    job = access.engine_job(request.user, pk)
    uploads = access.recordings(request.user).filter(engine_jobs=job)
    question = _question(request)
    pipelines = _pipelines(bisect_choice.pipelines(job))
    context = {"job": job, "name": str(job), "pipelines": pipelines}
    return _shown(
        request, context, question, lambda: bisect_choice.of_archive(job, uploads, question)
    )


def _shown(
    request: HttpRequest,
    context: dict[str, Any],
    question: dict[str, Any],
    series_of: Callable[[], Series],
) -> HttpResponseBase:
    """Show the form, and the answer if something is asked."""
    status = 200
    try:
        series = series_of()
        context["examples"] = list(_examples(series))
        if question["property"] or question["expression"]:
            answer = bisect.first_state(series, question)
            context["answer"] = bisect_answer.shown(answer, series.words)
    except Problem as problem:
        context["refusal"], status = problem.as_json(), problem.status
    context |= {"asked": question, "stable_properties": STABLE}
    return show(request, "snapshots/bisect/bisect.html", context, status=status)


def _question(request: HttpRequest) -> dict[str, Any]:
    """Return the question in the address; a number that is none stays a text."""
    question: dict[str, Any] = {name: request.GET.get(name, "").strip() or None for name in _FIELDS}
    if question["expression"]:
        question["property"] = None
    if question["property"] != PHASE.name:
        question["phase"] = None
    for name in ("phase", "pipeline"):
        question[name] = _number(question[name])
    return question | {"stable": bool(request.GET.get("stable"))}


def _number(text: str | None) -> int | str | None:
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 20
    return int(text) if is_number and text else text


def _inventory(recording: Recording) -> StoredInventory | None:
    try:
        return inventory.opened(recording)
    except NotFound:
        return None


def _jobs(opened: StoredInventory | None, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Return the jobs of an upload if there are several, the one that is the default first."""
    if opened is None:
        return []
    names = {job["key"]: job["name"] for job in opened.upload["jobs"]}
    keys = list(dict.fromkeys(choice.job for choice in choices))
    jobs = [{"key": key, "name": names.get(key)} for key in keys]
    return jobs if len(jobs) > 1 else []


def _pipelines(numbers: Sequence[int]) -> list[int]:
    """Return the pipelines if there are several, the one that is the default first."""
    several = list(dict.fromkeys(numbers))
    return several if len(several) > 1 else []


def _examples(series: Series) -> Iterator[str]:
    """Yield expressions that fit the series, to begin with."""
    if isinstance(series, CheckpointSeries):
        yield from _of_sums(series)
        return
    for channel in list(series.start.channels)[:1]:
        yield f"size(channels[{json.dumps(channel, ensure_ascii=False)}]) > 0"
    yield "channels.exists(c, size(channels[c]) > 1)"
    for process, state in list(series.start.processes.items())[:1]:
        if isinstance(state, int | float) and not isinstance(state, bool):
            yield f"processes[{json.dumps(process, ensure_ascii=False)}] < {state}"


def _of_sums(series: CheckpointSeries) -> Iterator[str]:
    """Yield the sums of the last checkpoint, each compared with what it is there."""
    for item in series.items[-1:]:
        with suppress(StoreError):  # the answer says what is damaged
            held = inventory.checkpoint(inventory.opened(item.recording), item.contents)
            rows = sums(held, open_recording(item.recording))["rows"]
            for row in rows[:MOST_EXAMPLES]:
                yield f"{row['expression']} >= {row['sum']}"

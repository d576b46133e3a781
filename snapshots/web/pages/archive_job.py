"""The pages of an archived job: trends and checkpoints, one as a Gantt chart, two compared."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.archive import filling, payloads, polls, queries, rescales, services, watching
from snapshots.archive.columns import columns_of
from snapshots.domain.archive import absence
from snapshots.domain.archive.busy import Busy
from snapshots.domain.archive.columns import Filter
from snapshots.domain.archive.comparison import WORDS
from snapshots.domain.archive.model import COMPLETED, IN_PROGRESS, STATUSES
from snapshots.domain.archive.trends import BAND_LEAST
from snapshots.domain.model import durations
from snapshots.domain.model.as_json import as_json
from snapshots.domain.reviewing.place_text import write_place
from snapshots.domain.reviewing.places import CheckpointPlace
from snapshots.models import EngineCheckpoint, EngineJob
from snapshots.problems import Invalid
from snapshots.web.figures import archive as figures
from snapshots.web.figures.gantt import gantt
from snapshots.web.json import dumps
from snapshots.web.pages.rendering import page, wants_list_alone
from snapshots.web.pages.reviews import notes_at
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

ROWS = 100
ROWS_OF_FILE = 2_000  # that are read at once for a file
MOST_UPLOADS = 10
MOST_TASKS = 300  # in the chart and the table; the slowest come first
_TEXTS = ("status", "kind", "pipeline", "longer", "failing", "cause", "phase", "slowest")
_MEASURES = {
    "duration": "duration",
    "bytes": "size of the state",
    "alignment": "alignment",
    "start_delay": "start delay",
}
_LEAST_BUSY = 0.1  # share of a checkpoint's time that is worth mentioning
_HEADS = (
    ("Checkpoint", "number"),
    ("Status", ""),
    ("Triggered, UTC", "triggered_at"),
    ("Took", "duration"),
    ("State", "bytes"),
    ("Alignment", "alignment"),
    ("Start delay", "start_delay"),
    ("Last to acknowledge", ""),
)


@page
@require_safe
def job(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show trends, failures and checkpoints that pass the filter.

    With ``?jump=`` it leads to the checkpoint of that number.
    """
    row = access.engine_job(request.user, pk)
    if (number := services.whole(request.GET, "jump")) is not None:
        pipeline = services.whole(request.GET, "pipeline", most=2**31 - 1) or 0
        queries.checkpoint(row, pipeline, number)
        return redirect("archived-checkpoint", pk, pipeline, number)
    checkpoint_filter, sort = _filter(request), services.sort_of(request.GET)
    context = {
        "job": row,
        "stall": watching.stall_of(row),
        "going": polls.current(row),
        "rescales": rescales.shown(row),
        "news": dumps(watching.news_of(row)).decode(),
        "q": request.GET,
        "statuses": STATUSES,
        "choices": queries.choices(row),
        "is_filtered": not checkpoint_filter.passes_all,
        **_uploads(request, row),
        **_body(request, row, checkpoint_filter, sort),
    }
    name = "body" if wants_list_alone(request) else "job"
    return show(request, f"snapshots/archive/{name}.html", context)


def _uploads(request: HttpRequest, row: EngineJob) -> dict[str, Any]:
    """Return the uploads with checkpoints of the job that the person may see, newest first."""
    uploads = access.recordings(request.user).filter(engine_jobs=row)
    total = uploads.count()
    return {
        "uploads": uploads[:MOST_UPLOADS],
        "uploads_total": total,
        "uploads_hidden": max(0, total - MOST_UPLOADS),
    }


def _filter(request: HttpRequest) -> Filter:
    """Return the filter of the form, whose times are texts in UTC."""
    query: dict[str, Any] = {name: request.GET.get(name, "").strip() for name in _TEXTS}
    query["since"], query["until"] = (_moment(request, name) for name in ("from", "to"))
    return services.filter_of(query)


def _moment(request: HttpRequest, name: str) -> int | None:
    """Return a time of the form in epoch ms, or None if it is empty. Raises: Invalid."""
    text = request.GET.get(name, "").strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise Invalid("Write a time as 2026-11-20T10:09.", field=name) from None
    return max(0, round(moment.timestamp() * 1000))


def _body(
    request: HttpRequest, row: EngineJob, checkpoint_filter: Filter, sort: str
) -> dict[str, Any]:
    overview = queries.overview(row, checkpoint_filter)
    pages = Paginator(range(overview["shown"]), ROWS)
    shown = pages.get_page(request.GET.get("page", "1"))
    rows, _ = queries.listed(row, checkpoint_filter, sort, (shown.number - 1) * ROWS, ROWS)
    access.hide_uploads(request.user, rows)
    newest = queries.newest(row)
    longest = max((item.duration or 0 for item in newest), default=0)
    causes = overview["failures"]["causes"]
    return {
        "overview": overview,
        "trends": figures.trends(overview),
        "slowest_figure": figures.slowest(overview),
        "lacking": _either([_MEASURES[name] for name in overview["lacking"]]),
        "has_band": any(trend["band_x"]["bdata"] for trend in overview["trends"].values()),
        "band_least": BAND_LEAST,
        "causes": [item | {"address": _narrowed(request, item)} for item in causes[:50]],
        "causes_hidden": max(0, len(causes) - 50),
        "failed_total": sum(item["count"] for item in causes),
        "slowest": _slowest(request, overview["slowest"]),
        "strip": [_bar(item, longest or 1) for item in newest],
        "strip_longest": longest,
        "rows": rows,
        "all_rows": _all_rows(row, checkpoint_filter, sort),
        "page": shown,
        "sort": sort,
        "heads": [_head(request, title, field, sort) for title, field in _HEADS],
        "gaps": queries.gaps(row),
        "failed_unseen": queries.failed_unseen(row),
    }


def _all_rows(row: EngineJob, chosen: Filter, sort: str) -> Iterator[EngineCheckpoint]:
    """Yield the checkpoints of all pages, and read them only when they are wanted."""
    offset, total = 0, 1
    while offset < total:
        rows, total = queries.listed(row, chosen, sort, offset, ROWS_OF_FILE)
        yield from rows
        offset += ROWS_OF_FILE


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _bar(item: EngineCheckpoint, longest: int) -> dict[str, Any]:
    height = max(4, round(100 * (item.duration or 0) / longest))
    return {"item": item, "height": height if item.duration is not None else 4}


def _slowest(request: HttpRequest, slowest: dict[str, Any]) -> list[dict[str, Any]]:
    total = sum(slowest["totals"]) + slowest["others"]
    return [
        {
            "name": name,
            "count": count,
            "share": count / total,
            "address": _with(request, slowest=name),
        }
        for name, count in zip(slowest["names"], slowest["totals"], strict=True)
    ]


def _narrowed(request: HttpRequest, item: dict[str, Any]) -> str:
    return _with(request, status="failed", cause=item["cause"], phase=item["phase"])


def _with(request: HttpRequest, **change: object) -> str:
    query = request.GET.dict() | {"page": ""} | change
    return "?" + urlencode({name: value for name, value in query.items() if value})


def _head(request: HttpRequest, title: str, field: str, sort: str) -> dict[str, str]:
    if not field:
        return {"title": title}
    down = sort == f"-{field}"
    return {
        "title": title,
        "address": _with(request, sort=field if down else f"-{field}"),
        "aria_sort": {field: "ascending", f"-{field}": "descending"}.get(sort, ""),
    }


@page
@require_safe
def checkpoint(request: SignedInRequest, pk: int, pipeline: int, number: int) -> HttpResponseBase:
    """Show one checkpoint: the times of every subtask, and where to read on."""
    row = access.engine_job(request.user, pk)
    archived = queries.checkpoint(row, pipeline, number)
    access.hide_uploads(request.user, [archived])
    detail = payloads.checkpoint_detail(archived)
    tasks = sorted(map(partial(_answered, detail), detail["tasks"]), key=_by_end)
    before, after = queries.neighbours(row, archived)
    busy = queries.busy_at(archived)
    follows = "follow" in request.GET
    place = write_place(CheckpointPlace(str(number), pipeline))
    context = {
        "job": row,
        "news": dumps(watching.news_of(row)).decode(),
        "pinned": not follows,
        "checkpoint": archived,
        "absence": detail["absence"],
        "blame": absence.blame(filling.facts_of(archived)),
        "busiest": _busiest(archived, busy),
        "took_means": durations.of_checkpoint(archived.status, row.engine),
        "tasks": tasks[:MOST_TASKS],
        "all_tasks": tasks,
        "hidden": max(0, len(tasks) - MOST_TASKS),
        "figure": gantt(_instants(archived, tasks[:MOST_TASKS], busy), "ms"),
        "before": before,
        "after": after,
        "healthy": queries.healthy_beside(row, archived),
        "is_polled": bool(polls.polled(row, pipeline, number).made),
        "held": archived.recording if archived.contents is not None else None,
        **notes_at(request, row, place, is_visit=not follows),
    }
    return show(request, "snapshots/archive/checkpoint.html", context)


def _answered(detail: Mapping[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """Return a task with the word for whether it acknowledged, and whether it is missing."""
    is_missing, is_over = task["name"] in detail["missing"], detail["status"] != IN_PROGRESS
    word = absence.answer(task["acknowledged"], is_missing=is_missing, is_over=is_over)
    return task | {"answer": word, "is_missing": is_missing}


def _by_end(task: dict[str, Any]) -> tuple[bool, int, str]:
    """Sort tasks that did not acknowledge first, then those that took longest."""
    is_missing = task["acknowledged"] is False
    return not is_missing, -(task["duration"] or 0), task["name"]


def _busiest(checkpoint: EngineCheckpoint, busy: Mapping[str, Busy]) -> tuple[str, Busy] | None:
    """Return the subtask that was busy with an earlier checkpoint for longest.

    None if no subtask was busy for a share of the time that is worth mentioning.
    """
    name = max(busy, key=lambda subtask: (busy[subtask].until, subtask), default=None)
    if name is None or busy[name].until < _LEAST_BUSY * (checkpoint.duration or 0):
        return None
    return name, busy[name]


def _instants(
    checkpoint: EngineCheckpoint, tasks: list[dict[str, Any]], busy: Mapping[str, Busy]
) -> dict[str, Any]:
    """Return the phases of a checkpoint; instants are ms since the trigger."""
    return {
        "triggered_at": 0,
        "ended_at": checkpoint.duration,
        "critical_path": [],
        "tasks": [_bars(task, busy.get(task["name"])) for task in tasks],
    }


def _bars(task: dict[str, Any], busy: Busy | None) -> dict[str, Any]:
    """Return the bars of a task.

    In an unaligned checkpoint the copy begins with the first barrier, beside the alignment.
    """
    first = task["start_delay"]
    last = _plus(first, task["alignment"] or 0)
    sync_from = first if task["unaligned"] else last
    sync_to = _plus(sync_from, task["sync"])
    return {
        "process": task["name"],
        "first_barrier_at": first,
        "last_barrier_at": last,
        "sync_from": sync_from,
        "sync_to": sync_to,
        "async_to": _plus(sync_to, task["async_"]),
        "acked_at": task["duration"],
        "notified_at": None,
        "committed_at": None,
        "busy_until": busy and busy.until,
    }


def _plus(instant: int | None, duration: int | None) -> int | None:
    return None if instant is None or duration is None else instant + duration


@page
@require_safe
def compare(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Compare two checkpoints; by default the slowest of the last hundred and a healthy one."""
    row = access.engine_job(request.user, pk)
    pipeline = services.whole(request.GET, "pipeline", most=2**31 - 1) or 0
    slow_number = services.whole(request.GET, "slow")
    healthy_number = services.whole(request.GET, "healthy")
    healthy = None
    if slow_number is None:
        slow = _slowest_of_last(row)
    else:
        slow = queries.checkpoint(row, pipeline, slow_number)
    if slow is not None and healthy_number is None:
        healthy = queries.healthy_beside(row, slow)
    elif slow is not None and healthy_number is not None:
        healthy = queries.checkpoint(row, slow.pipeline, healthy_number)
    context: dict[str, Any] = {"job": row, "slow": slow, "healthy": healthy, "pipeline": pipeline}
    if slow is not None and healthy is not None:
        context |= _comparison(as_json(queries.compare(slow, healthy)))
        context["values"] = _values(request, slow, healthy)
    return show(request, "snapshots/archive/compare.html", context)


def _slowest_of_last(row: EngineJob) -> EngineCheckpoint | None:
    columns = columns_of(row)
    rows = Filter(status=COMPLETED).rows(columns)[-100:]
    durations = columns.duration[rows]
    rows = rows[durations == durations]  # not NaN
    if not len(rows):
        return None
    slowest = rows[columns.duration[rows].argmax()]
    return queries.rows_of(columns, slowest.reshape(1))[0]


def _values(
    request: HttpRequest, slow: EngineCheckpoint, healthy: EngineCheckpoint
) -> dict[str, str]:
    """Return the address of the differences down to values, or why there are none."""
    lacking = [str(row.number) for row in (slow, healthy) if row.contents is None]
    if lacking or slow.recording_id is None:
        numbers = " and ".join(lacking or [str(slow.number)])
        return {"why_not": f"No upload holds the files of {numbers}, so values are not known."}
    if slow.recording_id != healthy.recording_id:
        return {"why_not": "They are in different uploads. Values are compared within one only."}
    if not access.recordings(request.user).filter(pk=slow.recording_id).exists():
        return {"why_not": "You may not see the upload that holds the two."}
    address = reverse("inventory-difference", args=[slow.recording_id, slow.contents])
    return {"address": f"{address}?since={healthy.contents}"}


def _comparison(difference: dict[str, Any]) -> dict[str, Any]:
    words = {
        phase: text.partition(" (")[0].replace("its state", "state")
        for phase, text in WORDS.items()
    }
    shares = [share | {"words": words[share["phase"]]} for share in difference["shares"]]
    rises = [rise | {"words": words[rise["phase"]]} for rise in difference["rises"]]
    return {
        "difference": difference | {"shares": shares, "rises": rises},
        "most_share": max((abs(share["more"]) for share in shares), default=0) or 1,
        "most_rise": max((rise["more"] for rise in rises), default=0) or 1,
        "rises_hidden": difference["rises_total"] - len(rises),
    }

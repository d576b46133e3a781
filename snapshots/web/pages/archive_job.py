"""A job in the archive: its trends and checkpoints, one of them as a Gantt chart, two compared."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.archive import payloads, queries, services
from snapshots.archive.columns import columns_of
from snapshots.domain.archive.busy import Busy
from snapshots.domain.archive.columns import Filter
from snapshots.domain.archive.comparison import WORDS
from snapshots.domain.archive.model import COMPLETED, STATUSES
from snapshots.domain.archive.trends import BAND_LEAST
from snapshots.domain.model.as_json import as_json
from snapshots.models import EngineCheckpoint, EngineJob
from snapshots.problems import Invalid
from snapshots.web.pages.rendering import page, wants_list_alone

ROWS = 100
MOST_UPLOADS = 10
MOST_TASKS = 300  # in the chart and the table; the slowest come first
_TEXTS = ("status", "kind", "pipeline", "longer", "failing", "cause", "phase", "slowest")
_MEASURES = {
    "duration": "duration",
    "bytes": "size of the state",
    "alignment": "alignment",
    "start_delay": "start delay",
}
_WORTH_TELLING = 0.1  # of the time of the checkpoint
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
def job(request: HttpRequest, pk: int) -> HttpResponse:
    """Trends, failures and checkpoints of what passes the filter; ``jump``: to a checkpoint."""
    row = access.engine_job(request.user, pk)
    if (number := services.whole(request.GET, "jump")) is not None:
        pipeline = services.whole(request.GET, "pipeline", most=2**31 - 1) or 0
        queries.checkpoint(row, pipeline, number)
        return redirect("archived-checkpoint", pk, pipeline, number)
    asked, sort = _filter(request), services.sort_of(request.GET)
    context = {
        "job": row,
        "q": request.GET,
        "statuses": STATUSES,
        "choices": queries.choices(row),
        "is_filtered": not asked.passes_all,
        **_uploads(request, row),
        **_body(request, row, asked, sort),
    }
    name = "body" if wants_list_alone(request) else "job"
    return render(request, f"snapshots/archive/{name}.html", context)


def _uploads(request: HttpRequest, row: EngineJob) -> dict[str, Any]:
    """Those that filled the job, as far as they may be seen, the last first."""
    seen = access.recordings(request.user).filter(engine_jobs=row)
    total = seen.count()
    return {
        "uploads": seen[:MOST_UPLOADS],
        "uploads_total": total,
        "uploads_hidden": max(0, total - MOST_UPLOADS),
    }


def _filter(request: HttpRequest) -> Filter:
    """The form's; its times are texts in UTC."""
    query: dict[str, Any] = {name: request.GET.get(name, "").strip() for name in _TEXTS}
    query["since"], query["until"] = (_moment(request, name) for name in ("from", "to"))
    return services.filter_of(query)


def _moment(request: HttpRequest, name: str) -> int | None:
    """Epoch ms. Raises: Invalid."""
    text = request.GET.get(name, "").strip()
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    except ValueError:
        raise Invalid("A time is written as 2026-11-20T10:09.", field=name) from None
    return max(0, round(moment.timestamp() * 1000))


def _body(request: HttpRequest, row: EngineJob, asked: Filter, sort: str) -> dict[str, Any]:
    overview = queries.overview(row, asked)
    pages = Paginator(range(overview["shown"]), ROWS)
    shown = pages.get_page(request.GET.get("page", "1"))
    rows, _ = queries.listed(row, asked, sort, (shown.number - 1) * ROWS, ROWS)
    last = queries.newest(row)
    longest = max((item.duration or 0 for item in last), default=0)
    failures = overview["failures"]["causes"]
    return {
        "overview": overview,
        "chart": overview | {"job": row.pk},
        "lacking": _either([_MEASURES[name] for name in overview["lacking"]]),
        "has_band": any(one["band_x"]["bdata"] for one in overview["trends"].values()),
        "band_least": BAND_LEAST,
        "causes": [item | {"address": _narrowed(request, item)} for item in failures[:50]],
        "causes_hidden": max(0, len(failures) - 50),
        "failed_total": sum(item["count"] for item in failures),
        "slowest": _slowest(request, overview["slowest"]),
        "strip": [_bar(item, longest or 1) for item in last],
        "strip_longest": longest,
        "rows": rows,
        "page": shown,
        "heads": [_head(request, title, field, sort) for title, field in _HEADS],
        "gaps": queries.gaps(row),
        "failed_unseen": queries.failed_unseen(row),
    }


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _bar(item: EngineCheckpoint, longest: int) -> dict[str, Any]:
    height = max(4, round(100 * (item.duration or 0) / longest))
    return {"item": item, "height": height if item.duration is not None else 4}


def _slowest(request: HttpRequest, found: dict[str, Any]) -> list[dict[str, Any]]:
    total = sum(found["totals"]) + found["others"]
    return [
        {
            "name": name,
            "count": count,
            "share": count / total,
            "address": _with(request, slowest=name),
        }
        for name, count in zip(found["names"], found["totals"], strict=True)
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
def checkpoint(request: HttpRequest, pk: int, pipeline: int, number: int) -> HttpResponse:
    """One checkpoint: what every subtask took, and where more of it lies."""
    row = access.engine_job(request.user, pk)
    found = queries.checkpoint(row, pipeline, number)
    detail = payloads.checkpoint_detail(found)
    tasks = sorted(detail["tasks"], key=lambda task: (_ended(task), task["name"]))
    before, after = queries.neighbours(row, found)
    busy = queries.busy_at(found)
    context = {
        "job": row,
        "checkpoint": found,
        "missing": detail["missing"],
        "absence": detail["absence"],
        "busiest": _busiest(found, busy),
        "tasks": tasks[:MOST_TASKS],
        "hidden": max(0, len(tasks) - MOST_TASKS),
        "chart": {"checkpoint": _gantt(found, tasks[:MOST_TASKS], busy), "unit": "ms"},
        "before": before,
        "after": after,
        "healthy": queries.healthy_beside(row, found),
        "held": found.recording if found.contents is not None else None,
    }
    return render(request, "snapshots/archive/checkpoint.html", context)


def _ended(task: dict[str, Any]) -> tuple[bool, int]:
    """Who did not acknowledge first, then the last."""
    is_missing = task["acknowledged"] is False
    return not is_missing, -(task["duration"] or 0)


def _busiest(found: EngineCheckpoint, busy: Mapping[str, Busy]) -> tuple[str, Busy] | None:
    """Who was busy with an earlier checkpoint for longest, where that is worth telling."""
    name = max(busy, key=lambda one: (busy[one].until, one), default=None)
    if name is None or busy[name].until < _WORTH_TELLING * (found.duration or 0):
        return None
    return name, busy[name]


def _gantt(
    found: EngineCheckpoint, tasks: list[dict[str, Any]], busy: Mapping[str, Busy]
) -> dict[str, Any]:
    """As ``checkpoint-gantt.js`` draws it; instants in ms since the trigger."""
    return {
        "triggered_at": 0,
        "ended_at": found.duration,
        "critical_path": [],
        "tasks": [_bars(task, busy.get(task["name"])) for task in tasks],
    }


def _bars(task: dict[str, Any], busy: Busy | None) -> dict[str, Any]:
    """Unaligned, the copy begins with the first barrier, and the alignment goes on beside it."""
    first = task["start_delay"]
    last = _plus(first, task["alignment"] or 0)
    begun = first if task["unaligned"] else last
    copied = _plus(begun, task["sync"])
    return {
        "process": task["name"],
        "first_barrier_at": first,
        "last_barrier_at": last,
        "sync_from": begun,
        "sync_to": copied,
        "async_to": _plus(copied, task["async_"]),
        "acked_at": task["duration"],
        "notified_at": None,
        "committed_at": None,
        "busy_until": busy and busy.until,
    }


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@page
@require_safe
def compare(request: HttpRequest, pk: int) -> HttpResponse:
    """Two checkpoints; without numbers the slowest of the last hundred and a healthy one."""
    row = access.engine_job(request.user, pk)
    pipeline = services.whole(request.GET, "pipeline", most=2**31 - 1) or 0
    numbers = {name: services.whole(request.GET, name) for name in ("slow", "healthy")}
    slow = healthy = None
    if numbers["slow"] is None:
        slow = _slow(row)
    else:
        slow = queries.checkpoint(row, pipeline, numbers["slow"])
    if slow is not None and numbers["healthy"] is None:
        healthy = queries.healthy_beside(row, slow)
    elif slow is not None:
        healthy = queries.checkpoint(row, slow.pipeline, numbers["healthy"])
    context = {"job": row, "slow": slow, "healthy": healthy, "pipeline": pipeline}
    if slow is not None and healthy is not None:
        found = as_json(queries.compare(slow, healthy))
        context |= _told(found)
    return render(request, "snapshots/archive/compare.html", context)


def _slow(row: EngineJob) -> EngineCheckpoint | None:
    columns = columns_of(row)
    rows = Filter(status=COMPLETED).rows(columns)[-100:]
    durations = columns.duration[rows]
    known = rows[durations == durations]  # not NaN
    if not len(known):
        return None
    place = known[columns.duration[known].argmax()]
    return queries.rows_of(columns, place.reshape(1))[0]


def _told(found: dict[str, Any]) -> dict[str, Any]:
    words = {
        phase: text.partition(" (")[0].replace("its state", "state")
        for phase, text in WORDS.items()
    }
    shares = [share | {"words": words[share["phase"]]} for share in found["shares"]]
    rises = [rise | {"words": words[rise["phase"]]} for rise in found["rises"]]
    return {
        "difference": found | {"shares": shares, "rises": rises},
        "most_share": max((abs(share["more"]) for share in shares), default=0) or 1,
        "most_rise": max((rise["more"] for rise in rises), default=0) or 1,
        "rises_hidden": found["rises_total"] - len(rises),
    }

"""The data of a checkpoint on which a document rests, and what the document claims of it.

``static/js/lib/checking/checkpoints.js`` derives the claim from the data again. The instants and
sizes of single tasks are what the engine or the log says; nothing derives them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from snapshots.domain.archive.absence import blame
from snapshots.domain.archive.model import COMPLETED, FAILED, CheckpointFacts
from snapshots.domain.dataflow_logs.checkpoints.report import COMMIT, PENDING

SUMMED = (
    "duration",
    "start_delay",
    "alignment",
    "sync",
    "async",
    "bytes",
    "uploaded",
    "in_flight",
)
"""The numbers of tasks of which the document gives the sums."""

Json = Mapping[str, Any]


def archived_data(facts: CheckpointFacts) -> dict[str, Any]:
    """Return the times and sizes that the archive keeps of a checkpoint."""
    is_derived = None not in (facts.triggered_at, facts.ended_at)
    return {
        "status": facts.status,
        "triggered_at": facts.triggered_at,
        "ended_at": facts.ended_at,
        "stated_duration": None if is_derived else facts.duration,
        "tasks": [
            {
                "name": name,
                "acknowledged": task.acknowledged,
                "duration": task.duration,
                "start_delay": task.start_delay,
                "alignment": task.alignment,
                "sync": task.sync,
                "async": task.async_,
                "bytes": task.bytes,
                "uploaded": task.uploaded,
                "in_flight": task.in_flight,
            }
            for name, task in facts.all_subtasks()
        ],
    }


def archived_says(facts: CheckpointFacts) -> dict[str, Any]:
    """Return what the archive says of a checkpoint: its duration, and for whom it waited."""
    data = archived_data(facts)
    return {
        "duration": facts.duration,
        "waited_for": list(blame(facts).names),
        **_sums(data["tasks"]),
    }


def reported_data(report: Json) -> dict[str, Any]:
    """Return the times and sizes in the report of a checkpoint of a log."""
    return {
        "status": _status(report),
        "triggered_at": report["triggered_at"],
        "ended_at": report["ended_at"],
        "tasks": [_reported_task(task, report["triggered_at"]) for task in report["tasks"]],
        "path": [
            {
                "process": segment["process"],
                "phase": segment["phase"],
                "from": segment["from"],
                "to": segment["to"],
            }
            for segment in report["critical_path"]
        ],
    }


def reported_says(report: Json) -> dict[str, Any]:
    """Return what the report says of a checkpoint: its duration, and who held it up how long."""
    data = reported_data(report)
    shares = {task["process"]: task["held_up"] for task in report["tasks"]}
    on_path = {item["process"] for item in data["path"] if item["phase"] != COMMIT}
    return {
        "duration": report["duration"],
        "waited_for": _last(data),
        "held_up": {process: shares.get(process, 0) for process in sorted(on_path)},
        "gaps": 0,
        **_sums(data["tasks"]),
    }


def _status(report: Json) -> str:
    """Return the status in the words of the archive; whoever gave up, the checkpoint failed."""
    if report["status"] == PENDING:
        return "in progress"
    return COMPLETED if report["completed_at"] is not None else FAILED


def _reported_task(task: Json, triggered_at: int | None) -> dict[str, Any]:
    return {
        "name": task["process"],
        "acknowledged": task["acked_at"] is not None,
        "duration": _between(triggered_at, task["acked_at"]),
        "start_delay": task["start_delay"],
        "alignment": task["alignment"],
        "sync": _between(task["sync_from"], task["sync_to"]),
        "async": _between(task["sync_to"], task["async_to"]),
        "bytes": task["bytes_total"],
        "uploaded": task["bytes_new"],
        "in_flight": task["in_flight"],
    }


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _last(data: Json) -> list[str]:
    """Return the tasks for which a checkpoint waited, by the rule of ``absence.blame``."""
    tasks = data["tasks"]
    if data["status"] == "in progress":
        return []
    if data["status"] == FAILED:
        if never := [task["name"] for task in tasks if not task["acknowledged"]]:
            return never
        end = _between(data["triggered_at"], data["ended_at"])
        if late := [t for t in tasks if None not in (end, t["duration"]) and t["duration"] > end]:
            return _longest(late)
    return _longest([task for task in tasks if task["duration"] is not None])


def _longest(tasks: Sequence[Json]) -> list[str]:
    longest = max((task["duration"] for task in tasks), default=None)
    return [task["name"] for task in tasks if task["duration"] == longest]


def _sums(tasks: Sequence[Json]) -> dict[str, Any]:
    return {
        "tasks": len(tasks),
        "acknowledged": sum(bool(task["acknowledged"]) for task in tasks),
        "together": {name: _sum_known(task[name] for task in tasks) for name in SUMMED},
    }


def _sum_known(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None

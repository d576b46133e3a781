"""The data of a checkpoint on which a document rests, and what the document claims of it.

``static/js/lib/checking/checkpoints.js`` derives the claim from the data again. The instants and
sizes of single tasks are what the engine or the log says; nothing derives them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from snapshots.domain.archive.model import COMPLETED, FAILED, IN_PROGRESS, CheckpointFacts
from snapshots.domain.dataflow_logs.checkpoints.report import COMMIT, PENDING, takes_no_barrier

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

TIMES = ("acknowledged", "duration", "start_delay", "alignment", "sync", "async")
"""What a sentence about a single task states."""

Json = Mapping[str, Any]


def archived_data(facts: CheckpointFacts) -> dict[str, Any]:
    """Return the times and sizes that the archive keeps of a checkpoint."""
    is_derived = None not in (facts.triggered_at, facts.ended_at)
    return {
        "status": facts.status,
        "triggered_at": facts.triggered_at,
        "ended_at": facts.ended_at,
        "stated_duration": None if is_derived else facts.duration,
        "subtasks": facts.subtasks,
        "stated_acknowledged": facts.acknowledged,
        "tasks": [
            {
                "name": name,
                "acknowledged": task.acknowledged,
                "duration": task.duration,
                "start_delay": task.start_delay,
                "alignment": task.alignment,
                "takes_barriers": True,
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
    """Return what the archive says of a checkpoint: its duration, and who was late or last."""
    return _says(archived_data(facts)) | {"duration": facts.duration}


def reported_data(report: Json) -> dict[str, Any]:
    """Return the times and sizes in the report of a checkpoint of a log."""
    return {
        "status": _status(report),
        "triggered_at": report["triggered_at"],
        "ended_at": report["ended_at"],
        "subtasks": len(report["tasks"]),
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
    return _says(data) | {
        "duration": report["duration"],
        "held_up": {process: shares.get(process, 0) for process in sorted(on_path)},
        "by_phase": _by_phase(data["path"]),
        "longest": _longest(data["path"]),
        "gaps": 0,
    }


def task_says(data: Json, name: str) -> dict[str, Any] | None:
    """Return what is known of one task; None if the data do not list it."""
    task = next((task for task in data["tasks"] if task["name"] == name), None)
    return None if task is None else {field: task[field] for field in TIMES}


def _by_phase(path: Sequence[Json]) -> dict[str, int]:
    """Return how long the checkpoint waited in each phase of its critical path."""
    waited: dict[str, int] = {}
    for segment in path:
        if segment["phase"] != COMMIT:
            waited[segment["phase"]] = waited.get(segment["phase"], 0) + _length(segment)
    return waited


def _longest(path: Sequence[Json]) -> dict[str, Any] | None:
    """Return who held up the checkpoint longest in one phase; the first of several."""
    segment = max((item for item in path if item["phase"] != COMMIT), key=_length, default=None)
    if segment is None:
        return None
    length = _length(segment)
    return {"process": segment["process"], "phase": segment["phase"], "length": length}


def _length(segment: Json) -> int:
    return _between(segment["from"], segment["to"]) or 0


def _status(report: Json) -> str:
    """Return the status in the words of the archive; whoever gave up, the checkpoint failed."""
    if report["status"] == PENDING:
        return IN_PROGRESS
    return COMPLETED if report["completed_at"] is not None else FAILED


def _reported_task(task: Json, triggered_at: int | None) -> dict[str, Any]:
    return {
        "name": task["process"],
        "acknowledged": task["acked_at"] is not None,
        "duration": _between(triggered_at, task["acked_at"]),
        "start_delay": task["start_delay"],
        "alignment": task["alignment"],
        "takes_barriers": not takes_no_barrier(task),
        "sync": _between(task["sync_from"], task["sync_to"]),
        "async": _between(task["sync_to"], task["async_to"]),
        "bytes": task["bytes_total"],
        "uploaded": task["bytes_new"],
        "in_flight": task["in_flight"],
    }


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _says(data: Json) -> dict[str, Any]:
    """Return what follows from the data of any checkpoint; ``of_tasks`` takes single tasks.

    The engine may not list all tasks, or not say of each whether it acknowledged. How many did is
    then not known, and is None.
    """
    tasks = data["tasks"]
    in_time = [_is_in_time(task, data) for task in tasks]
    is_complete = data["subtasks"] == len(tasks) and None not in in_time
    not_in_time = [task for task, known in zip(tasks, in_time, strict=True) if known is False]
    behind = [task["name"] for task in not_in_time]
    late = [task["name"] for task in not_in_time if task["acknowledged"]]
    has_ended = data["status"] != IN_PROGRESS
    return {
        "status": data["status"],
        "tasks": data["subtasks"],
        "listed": [task["name"] for task in tasks],
        "acknowledged_in_time": sum(map(bool, in_time)) if is_complete else None,
        "stated_acknowledged": data.get("stated_acknowledged"),
        "not_in_time": behind if has_ended else [],
        "too_late": late if has_ended else [],
        "last_known": _latest(tasks) if has_ended and not behind else [],
        "of_tasks": {},
        "without_barriers": [task["name"] for task in tasks if not task["takes_barriers"]],
        "together": {name: _sum_known([task[name] for task in tasks]) for name in SUMMED},
    }


def _is_in_time(task: Json, data: Json) -> bool | None:
    """Tell whether a task acknowledged before the checkpoint failed; None if it is not known.

    ``snapshots.domain.archive.absence.missing`` has the same rule for the pages.
    """
    known: bool | None = task["acknowledged"]
    if known is False or data["status"] != FAILED:
        return known
    end = _between(data["triggered_at"], data["ended_at"])
    end = data.get("stated_duration") if end is None else end
    return None if None in (end, task["duration"]) else task["duration"] <= end


def _latest(tasks: Sequence[Json]) -> list[str]:
    """Return the tasks with the latest acknowledgement among those of which it is known."""
    known = [task for task in tasks if task["duration"] is not None]
    longest = max((task["duration"] for task in known), default=None)
    return [task["name"] for task in known if task["duration"] == longest]


def _sum_known(numbers: Sequence[int | None]) -> dict[str, Any]:
    """Return the sum of the known numbers, and how many of how many are known."""
    known = [number for number in numbers if number is not None]
    return {"sum": sum(known) if known else None, "known": len(known), "of": len(numbers)}

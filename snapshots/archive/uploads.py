"""Take the checkpoints of an ingested upload into the archive.

The engine's own reports come first. What they lack comes from the inventory beside the upload's
store and from the derived recording.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from snapshots.archive import filling
from snapshots.domain.archive import model
from snapshots.domain.archive.merging import contradict, merged
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from snapshots.domain.inventory.model import UNKNOWN_ID
from snapshots.models import Recording
from snapshots.readers.engines.base import EngineUpload, TellsTimes
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.reader import StoredRecording

IN_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000}
_STATUSES = {
    "completed": model.COMPLETED,
    "aborted": model.FAILED,
    "expired": model.FAILED,
    "declined": model.FAILED,
    "pending": model.IN_PROGRESS,
}
_PIPELINED = {"seatunnel"}
_NUMBERED_FROM_1 = "flink"  # 0 stands for a number that is not known
_PLACE = re.compile(r"(.*)\[(\d{1,6})\]")


def reported_by(upload: EngineUpload | None) -> tuple[JobFacts, ...]:
    """Return what the engine itself reported; empty if the upload holds no such reports."""
    return upload.archive_facts() if isinstance(upload, TellsTimes) else ()


def take_upload(recording: Recording, folder, reported: tuple[JobFacts, ...]) -> None:
    """Add everything in an upload to its owner's archive; samples are not archived.

    Args:
        folder: the recording's store.
        reported: from ``reported_by``.

    Raises: StoreError.
    """
    filling.forget_links(recording)
    inventory = StoredInventory(folder)
    if recording.owner is None or not inventory.exists:
        return
    reported_by_key = {job.key: job for job in reported}
    upload = dict(inventory.upload)
    if numbered_by_pipeline(upload["engine"]):
        upload["checkpoints"] = [
            item | {"facts": inventory.checkpoint(index)["facts"]}
            for index, item in enumerate(upload["checkpoints"])
        ]
    for job in _jobs_of(upload, reported_by_key, folder):
        filling.take(recording.owner, job, recording=recording)


def _jobs_of(upload: Mapping[str, Any], reported: Mapping[str, JobFacts], folder) -> list[JobFacts]:
    """Return the facts of each job whose id is known.

    Checkpoints of unknown jobs cannot be attributed, nor can those without a number.
    """
    items: dict[str, list[tuple[int, CheckpointFacts]]] = {
        job["key"]: [] for job in upload["jobs"] if job["key"] and not _is_nameless(job)
    }
    reports = _reports(folder, upload, without=reported)
    for index, item in enumerate(upload["checkpoints"]):
        is_numbered = item["id"] or upload["engine"] != _NUMBERED_FROM_1
        if item["job"] in items and is_numbered:
            facts = _checkpoint(item)
            if index in reports:
                facts = _joined(reports[index], facts)
            items[item["job"]].append((index, facts))
    names = {job["key"]: job["name"] or "" for job in upload["jobs"]}
    return [
        _job(upload["engine"], key, names[key], own, reported.get(key))
        for key, own in items.items()
    ]


def _is_nameless(job: Mapping[str, Any]) -> bool:
    """Tell whether a log or a listing tells of a job without its id."""
    return any(fact["name"] == UNKNOWN_ID.name and fact["value"] is None for fact in job["facts"])


def _job(
    engine: str,
    key: str,
    name: str,
    own: list[tuple[int, CheckpointFacts]],
    reported: JobFacts | None,
) -> JobFacts:
    checkpoints = {} if reported is None else {facts.key: facts for facts in reported.checkpoints}
    for _, facts in own:
        other = checkpoints.get(facts.key)
        checkpoints[facts.key] = facts if other is None else _joined(other, facts)
    indices = {facts.key: index for index, facts in own}
    state, counts = ("", {}) if reported is None else (reported.state, reported.counts)
    return JobFacts(engine, key, name, state, tuple(checkpoints.values()), indices, counts)


def _joined(reported: CheckpointFacts, facts: CheckpointFacts) -> CheckpointFacts:
    """Add to the engine's facts what only the inventory has.

    Where both have a value the engine's counts: files give other sizes, and one trend must not mix
    two measures.
    """
    lacking = replace(
        facts,
        kind="" if reported.kind else facts.kind,
        bytes=facts.bytes if reported.bytes is None else None,
        is_bytes_told=reported.bytes is None and facts.is_bytes_told,
        ended_at=facts.ended_at if reported.ended_at is None else None,
        path="" if reported.path else facts.path,
    )
    if contradict(reported.triggered_at, facts.triggered_at):
        lacking = replace(lacking, triggered_at=None)
    return merged(reported, lacking)


def _checkpoint(item: Mapping[str, Any]) -> CheckpointFacts:
    """Return the facts of a checkpoint in the inventory.

    Its problem is left out: that is our own sentence, and the archive shows the engine's.
    """
    status, triggered_at, ended_at = item["status"], item["triggered_at"], item["completed_at"]
    duration = None
    if triggered_at is not None and ended_at is not None and ended_at >= triggered_at:
        duration = ended_at - triggered_at
    return CheckpointFacts(
        item["id"],
        pipeline_of(item),
        kind=item["kind"][:40],
        status=status if status in model.STATUSES else model.UNKNOWN,
        triggered_at=triggered_at,
        ended_at=ended_at,
        duration=duration,
        bytes=item["bytes"],
        in_flight=_in_flight(item),
        failure=str(_fact(item, "failure") or ""),
        path=item["path"] or "",
    )


def _in_flight(item: Mapping[str, Any]) -> int | None:
    """Return the size by the engine's own figures, as its reports have it, or else as counted."""
    stated: int | None = item.get("in_flight_stated")
    return item["in_flight"] if stated is None else stated


def numbered_by_pipeline(engine: str) -> bool:
    """Tell whether an engine numbers the checkpoints of each pipeline separately."""
    return engine in _PIPELINED


def pipeline_of(item: Mapping[str, Any]) -> int:
    """Return the number of a checkpoint's pipeline, which is one of its facts, or 0."""
    number = _fact(item, "pipeline")
    return number if type(number) is int and 0 <= number < 2**31 else 0


def _fact(item: Mapping[str, Any], name: str) -> str | int | float | None:
    return next((fact["value"] for fact in item.get("facts", ()) if fact["name"] == name), None)


def _reports(
    folder, upload: Mapping[str, Any], without: Mapping[str, JobFacts]
) -> dict[int, CheckpointFacts]:
    """Return the reports in the derived recording, by index of the checkpoint.

    Ambiguous snapshot names are left out, and jobs whose engine reported itself.
    """
    items = upload["checkpoints"]
    names = [item.get("snapshot") or str(item["id"]) for item in items]
    counts = Counter(names)
    indices = {
        name: index
        for index, (name, item) in enumerate(zip(names, items, strict=True))
        if counts[name] == 1 and item["job"] not in without
    }
    if not indices:
        return {}
    stored = StoredRecording.open(folder)
    unit = IN_MILLISECONDS.get(stored.manifest.time_unit)
    if unit is None:
        return {}
    return {
        indices[report["checkpoint"]]: facts_of_report(
            report, items[indices[report["checkpoint"]]], unit
        )
        for report in stored.checkpoints()
        if report["checkpoint"] in indices
    }


def facts_of_report(
    report: Mapping[str, Any], item: Mapping[str, Any], unit: float
) -> CheckpointFacts:
    """Return the facts in a report of a derived recording about a checkpoint of the inventory.

    ``unit``: the milliseconds in the recording's unit of time.
    """
    path = report["critical_path"]
    status = _STATUSES.get(report["status"], model.UNKNOWN)
    return CheckpointFacts(
        item["id"],
        pipeline_of(item),
        status=status,
        duration=_span(report["duration"], unit),
        uploaded=report["bytes_new"],
        failure=(report["reason"] or "") if status == model.FAILED else "",
        phase=path[-1]["phase"] if status == model.FAILED and path else "",
        vertices=_vertices(report, unit),
    )


def _vertices(report: Mapping[str, Any], unit: float) -> tuple[VertexFacts, ...]:
    by_vertex: dict[str, dict[int, SubtaskFacts]] = {}
    for task in report["tasks"]:
        match = _PLACE.fullmatch(task["process"])
        if match is not None and match[1] == task["vertex"]:
            subtask = _subtask(task, int(match[2]), report, unit)
            by_vertex.setdefault(task["vertex"], {})[subtask.index] = subtask
    return tuple(
        VertexFacts(name, name, None, tuple(own[index] for index in sorted(own)))
        for name, own in sorted(by_vertex.items())
    )


def _subtask(
    task: Mapping[str, Any], index: int, report: Mapping[str, Any], unit: float
) -> SubtaskFacts:
    def between(start: int | None, end: int | None) -> int | None:
        return None if start is None or end is None else _span(end - start, unit)

    return SubtaskFacts(
        index,
        acknowledged=True if task["acked_at"] is not None else None,
        unaligned=None if task["mode"] is None else task["mode"] == "unaligned",
        start_delay=_span(task["start_delay"], unit),
        alignment=_span(task["alignment"], unit),
        sync=between(task["sync_from"], task["sync_to"]),
        async_=between(task["sync_to"], task["async_to"]),
        duration=between(report["triggered_at"], task["acked_at"]),
        bytes=task["bytes_total"],
        uploaded=task["bytes_new"],
    )


def _span(amount: int | None, unit: float) -> int | None:
    return None if amount is None else max(0, round(amount * unit))

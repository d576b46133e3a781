"""What an ingested upload tells the archive: from the contents beside its store, the engine's own
words where the upload has them, and else the recording that was derived."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from snapshots.archive import filling
from snapshots.domain.archive import model
from snapshots.domain.archive.merging import contradict, merged
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from snapshots.models import Recording
from snapshots.readers.engines.base import EngineUpload, TellsTimes
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.reader import StoredRecording

_IN_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000}
_STATUSES = {
    "completed": model.COMPLETED,
    "aborted": model.FAILED,
    "expired": model.FAILED,
    "declined": model.FAILED,
    "pending": model.IN_PROGRESS,
}
_PIPELINED = {"seatunnel"}  # engines that number the checkpoints of each pipeline by itself
_PLACE = re.compile(r"(.*)\[(\d{1,6})\]")


def told_by(upload: EngineUpload | None) -> tuple[JobFacts, ...]:
    """What the engine itself has said; empty for an upload that holds no such answers."""
    return upload.archive_facts() if isinstance(upload, TellsTimes) else ()


def take_upload(recording: Recording, folder, told: tuple[JobFacts, ...]) -> None:
    """Everything the upload knows, into the archive of its owner; of a sample nothing is kept.

    folder: of the recording's store. told: of ``told_by``. Raises: StoreError.
    """
    filling.forget_links(recording)
    contents = StoredInventory(folder)
    if recording.owner is None or not contents.exists:
        return
    known = {job.key: job for job in told}
    upload = dict(contents.upload)
    if upload["engine"] in _PIPELINED:
        upload["checkpoints"] = [
            item | {"facts": contents.checkpoint(place)["facts"]}
            for place, item in enumerate(upload["checkpoints"])
        ]
    for job in _of_contents(upload, known, folder):
        filling.take(recording.owner, job, recording=recording)


def _of_contents(upload: Mapping[str, Any], told: Mapping[str, JobFacts], folder) -> list[JobFacts]:
    """One for each job with a key: checkpoints of no known job cannot be told apart later."""
    items: dict[str, list[tuple[int, CheckpointFacts]]] = {
        job["key"]: [] for job in upload["jobs"] if job["key"]
    }
    reports = _reports(folder, upload, without=told)
    for place, item in enumerate(upload["checkpoints"]):
        if item["job"] in items:
            facts = _checkpoint(item)
            if place in reports:
                facts = _joined(reports[place], facts)
            items[item["job"]].append((place, facts))
    names = {job["key"]: job["name"] or "" for job in upload["jobs"]}
    return [
        _job(upload["engine"], key, names[key], own, told.get(key)) for key, own in items.items()
    ]


def _job(
    engine: str,
    key: str,
    name: str,
    own: list[tuple[int, CheckpointFacts]],
    told: JobFacts | None,
) -> JobFacts:
    said = {} if told is None else {one.key: one for one in told.checkpoints}
    checkpoints = dict(said)
    for _, facts in own:
        known = checkpoints.get(facts.key)
        checkpoints[facts.key] = facts if known is None else _joined(known, facts)
    places = {facts.key: place for place, facts in own}
    state, counts = ("", {}) if told is None else (told.state, told.counts)
    return JobFacts(engine, key, name, state, tuple(checkpoints.values()), places, counts)


def _joined(known: CheckpointFacts, facts: CheckpointFacts) -> CheckpointFacts:
    """What the engine said, and of the rest what the contents say: sizes are counted otherwise
    in files, and a trend is of one measure."""
    lacking = replace(
        facts,
        kind="" if known.kind else facts.kind,
        bytes=facts.bytes if known.bytes is None else None,
        is_bytes_told=known.bytes is None and facts.is_bytes_told,
        ended_at=facts.ended_at if known.ended_at is None else None,
        path="" if known.path else facts.path,
    )
    if contradict(known.triggered_at, facts.triggered_at):
        lacking = replace(lacking, triggered_at=None)
    return merged(known, lacking)


def _checkpoint(item: Mapping[str, Any]) -> CheckpointFacts:
    """Without its problem: that is a sentence of ours, and a failure is told in the engine's."""
    status, triggered_at, ended_at = item["status"], item["triggered_at"], item["completed_at"]
    duration = None
    if triggered_at is not None and ended_at is not None and ended_at >= triggered_at:
        duration = ended_at - triggered_at
    return CheckpointFacts(
        item["id"],
        _pipeline(item),
        kind=item["kind"][:40],
        status=status if status in model.STATUSES else model.UNKNOWN,
        triggered_at=triggered_at,
        ended_at=ended_at,
        duration=duration,
        bytes=item["bytes"],
        in_flight=item["in_flight"] or None,
        path=item["path"] or "",
    )


def _pipeline(item: Mapping[str, Any]) -> int:
    """An engine with several pipelines names it among the checkpoint's facts."""
    told = (fact["value"] for fact in item.get("facts", ()) if fact["name"] == "pipeline")
    number = next(told, 0)
    return number if type(number) is int and 0 <= number < 2**31 else 0


def _reports(
    folder, upload: Mapping[str, Any], without: Mapping[str, JobFacts]
) -> dict[int, CheckpointFacts]:
    """By place in the contents, what the derived recording tells of checkpoints that it names for
    certain; without those of jobs of which the engine has told itself."""
    items = upload["checkpoints"]
    names = [item.get("snapshot") or str(item["id"]) for item in items]
    counts = Counter(names)
    places = {
        name: place
        for place, (name, item) in enumerate(zip(names, items, strict=True))
        if counts[name] == 1 and item["job"] not in without
    }
    if not places:
        return {}
    stored = StoredRecording.open(folder)
    unit = _IN_MILLISECONDS.get(stored.manifest.time_unit)
    if unit is None:
        return {}
    return {
        places[report["checkpoint"]]: _derived(report, items[places[report["checkpoint"]]], unit)
        for report in stored.checkpoints()
        if report["checkpoint"] in places
    }


def _derived(report: Mapping[str, Any], item: Mapping[str, Any], unit: float) -> CheckpointFacts:
    path = report["critical_path"]
    status = _STATUSES.get(report["status"], model.UNKNOWN)
    return CheckpointFacts(
        item["id"],
        _pipeline(item),
        status=status,
        duration=_span(report["duration"], unit),
        uploaded=report["bytes_new"],
        failure=(report["reason"] or "") if status == model.FAILED else "",
        phase=path[-1]["phase"] if status == model.FAILED and path else "",
        vertices=_vertices(report, unit),
    )


def _vertices(report: Mapping[str, Any], unit: float) -> tuple[VertexFacts, ...]:
    found: dict[str, dict[int, SubtaskFacts]] = {}
    for task in report["tasks"]:
        match = _PLACE.fullmatch(task["process"])
        if match is not None and match[1] == task["vertex"]:
            subtask = _subtask(task, int(match[2]), report, unit)
            found.setdefault(task["vertex"], {})[subtask.index] = subtask
    return tuple(
        VertexFacts(name, name, None, tuple(own[index] for index in sorted(own)))
        for name, own in sorted(found.items())
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

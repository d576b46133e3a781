"""The first answer to checkpoint files of SeaTunnel: where each pipeline would go on.

A file proves that all tasks that were asked had acknowledged. Checkpoints that failed or were in
progress are only in REST answers, which say how many tasks acknowledged and not which.
"""

import re
from collections.abc import Iterator, Sequence

from snapshots.domain.answering.sentences import (
    ALL_TIMES,
    CONTENTS,
    FACT,
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import Detail, Point, UploadSummary, newest
from snapshots.domain.answering.wording import begun, moment, named, size, span, to_checkpoint
from snapshots.domain.inventory.model import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    CheckpointInventory,
    Fact,
    JobInventory,
)
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_PIPELINES = 3  # that are named
_MOST_NAMED = 3
_WHY = "Why it failed, in the engine's words: "
_FILES = Evidence(CONTENTS, "All checkpoints")

_PIPELINE = re.compile(r"\bpipeline (\d+)\)")

Pipelines = dict[str, list[Point]]


def subject(
    summary: UploadSummary, job: JobInventory, detail: Detail, timed: frozenset[str]
) -> Subject:
    """Return the sentences about one job."""
    points = summary.of_job(job.key)
    pipelines = _pipelines(points)
    distinct = _distinct(points)
    sentences = (
        _state(job, distinct),
        _restorable(pipelines, detail),
        *_unfinished(distinct, detail),
        *_closed(pipelines, detail),
        *_slowest(distinct, timed),
        *_in_flight(distinct),
    )
    return Subject(job.key, job.name, sentences)


def _pipelines(points: Sequence[Point]) -> Pipelines:
    """Group checkpoints by their pipeline, which is in the names of their snapshots.

    The only pipeline of an upload has no number there.
    """
    pipelines: Pipelines = {}
    for point in points:
        number = _PIPELINE.search(point.item.snapshot_name)
        pipelines.setdefault(number[1] if number else "", []).append(point)
    return pipelines


def _distinct(points: Sequence[Point]) -> list[Point]:
    """Return one of several files of the same checkpoint."""
    return list({point.item.snapshot_name: point for point in points}.values())


def _fact(facts: Sequence[Fact], name: str) -> object:
    return next((fact.value for fact in facts if fact.name == name), None)


def _state(job: JobInventory, points: Sequence[Point]) -> Sentence:
    status = _fact(job.facts, "status")
    counts = {
        name: sum(point.item.status == name for point in points)
        for name in (COMPLETED, FAILED, IN_PROGRESS)
    }
    numbers = listed([f"{count:,} {name}" for name, count in counts.items() if count])
    of_all = f"of {times(len(points), 'checkpoint')} {numbers or 'none has a status'}"
    if status is None:
        text = (
            "Whether the job runs well is not known: the upload has no REST answer that says its "
            f"status. {begun(of_all)}."
        )
        return Sentence("state", text, NOT_KNOWN, (_FILES,), _commands(job))
    word = str(status).lower()
    last = newest(points, COMPLETED, FAILED)
    is_wrong = word in ("failed", "failing") or (last is not None and last.item.status == FAILED)
    level = WRONG if is_wrong else WATCH if counts[FAILED] else WELL
    lead = {WRONG: "Not well", WATCH: "Needs a look", WELL: "Well, as far as these answers tell"}
    text = f"{lead[level]}: the job was {word} when SeaTunnel answered; {of_all}."
    return Sentence("state", text, level, (_FILES,))


def _commands(job: JobInventory) -> tuple[str, ...]:
    key = job.key or "ID"
    return (
        f"curl -s http://HOST:8080/job-info/{key} > job.json",
        f"curl -s http://HOST:8080/jobs/checkpoints/{key} > checkpoints.json",
    )


def _restorable(pipelines: Pipelines, detail: Detail) -> Sentence:
    """Name for each pipeline the checkpoint from which a restore goes on."""
    parts, links, gaps, level = [], [], [], WELL
    for pipeline, points in pipelines.items():
        of = _of(pipeline, pipelines)
        restored = next((p for p in points[::-1] if _is_restored_next(p, detail)), None)
        last = newest(points, COMPLETED)
        if restored is None:
            parts.append(f"{of}no file of a completed checkpoint is in the upload")
            level = NOT_KNOWN
            continue
        item = restored.item
        amount = f", {size(item.bytes)}" if item.bytes else ""
        newer = ""
        if last is not None and last.item.id != item.id:
            newer = f" although {named(last)} has a higher number"
        parts.append(f"{of}from {named(restored)}{moment(item.completed_at)}{amount}{newer}")
        links.append(to_checkpoint(restored))
        if restored.completeness is not None and (gap := restored.completeness.gap()):
            gaps.append(f" {begun(named(restored))} is not known to be whole. {gap}")
            level = NOT_KNOWN
    if not parts:
        return Sentence("restorable", "The upload names no checkpoint.", NOT_KNOWN, (_FILES,))
    more = len(parts) - MOST_PIPELINES
    clauses = [*parts[:MOST_PIPELINES], *([f"{times(more, 'more pipeline')}"] if more > 0 else ())]
    text = f"A restore goes on {'; '.join(clauses)}.{''.join(gaps[:MOST_PIPELINES])}"
    return Sentence("restorable", text, level, (*links[:MOST_PIPELINES], _FILES))


def _is_restored_next(point: Point, detail: Detail) -> bool:
    """Tell whether a restore takes this file, which is the one with the latest time in its name."""
    has_file = point.item.path is not None
    return has_file and _fact(detail(point.number).facts, "next restore") is not None


def _of(pipeline: str, pipelines: Pipelines) -> str:
    return f"in pipeline {pipeline} " if len(pipelines) > 1 and pipeline else ""


def _unfinished(points: Sequence[Point], detail: Detail) -> Iterator[Sentence]:
    """Say which checkpoints failed or were in progress, and how many tasks had acknowledged."""
    own = [point for point in points if point.item.status in (FAILED, IN_PROGRESS)]
    if not own:
        if all(point.item.path is not None for point in points):
            text = (
                "Whether checkpoints failed, and who had not acknowledged, is not known: files "
                "show only those that completed, and the upload has no REST answer about "
                "checkpoints."
            )
            yield Sentence("checkpoint-failures", text, NOT_KNOWN, (_FILES,))
        return
    last = own[-1]
    checkpoint = detail(last.number)
    reason = _reason(checkpoint)
    acknowledged = _fact(checkpoint.facts, "tasks acknowledged")
    who = (
        f" {acknowledged} tasks had acknowledged; SeaTunnel does not say which."
        if acknowledged is not None
        else " SeaTunnel does not say who had not acknowledged."
    )
    count = f"{times(len(own), 'checkpoint')} did not complete, the last one is {named(last)}"
    text = f"{count} ({last.item.status}).{who}{reason}"
    level = WRONG if last.item.status == FAILED else WATCH
    yield Sentence("checkpoint-failures", text, level, (to_checkpoint(last),))


def _reason(checkpoint: CheckpointInventory) -> str:
    reasons = [note.removeprefix(_WHY) for note in checkpoint.notes if note.startswith(_WHY)]
    return f" Its reason: “{reasons[0]}”." if reasons else ""


def _closed(pipelines: Pipelines, detail: Detail) -> Iterator[Sentence]:
    """Name subtasks that were not asked for the newest completed point, since they were closed."""
    for pipeline, points in pipelines.items():
        last = newest(points, COMPLETED)
        if last is None:
            continue
        closed = [
            f"{operator.name or operator.id} ({fact.value})"
            for operator in detail(last.number).operators
            for fact in operator.facts
            if fact.name == "closed subtasks"
        ]
        if closed:
            text = (
                f"At {named(last)} {_of(pipeline, pipelines)}these subtasks did not take part, "
                f"since they had been closed: {listed(closed, _MOST_NAMED)}."
            )
            yield Sentence("closed", text, FACT, (to_checkpoint(last),))
            return


def _slowest(points: Sequence[Point], timed: frozenset[str]) -> Iterator[Sentence]:
    """Name the completed checkpoint that took longest."""
    spans = [
        (point.item.completed_at - point.item.triggered_at, point)
        for point in points
        if point.item.status == COMPLETED
        and point.item.completed_at is not None
        and point.item.triggered_at is not None
        and point.item.completed_at >= point.item.triggered_at
    ]
    if not spans:
        return
    took, slow = max(spans, key=lambda pair: pair[0])
    of_all = f"the slowest of {len(spans):,} that completed" if len(spans) > 1 else "the only one"
    has_page = slow.item.snapshot_name in timed
    links = (Evidence(ALL_TIMES, "Times of all checkpoints"),) if has_page else ()
    text = f"{begun(named(slow))}, {of_all}, took {span(took)}."
    yield Sentence("slowest", text, FACT, (to_checkpoint(slow), *links))


def _in_flight(points: Sequence[Point]) -> Iterator[Sentence]:
    last = newest(points, COMPLETED)
    if last is not None and last.item.why_unknown is not None:
        text = f"What was in flight is not known. {last.item.why_unknown}"
        yield Sentence("in-flight", text, NOT_KNOWN, (to_checkpoint(last),))

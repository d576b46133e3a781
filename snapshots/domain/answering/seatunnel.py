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
from snapshots.domain.inventory.restore_check import LISTED
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

MOST_PIPELINES = 3  # that are named
_MOST_NAMED = 3
_MANY_INTERVALS = 10  # without a checkpoint, after which that is told
_LONGEST_MESSAGE = 300  # characters of an error
_RESTORES = "restores of pipeline "
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
    if not points:
        of_all = "how its checkpoints went is not known"
    if status is None:
        text = (
            "Whether the job runs well is not known: the upload has no REST answer that says its "
            f"status. {begun(of_all)}."
        )
        return Sentence("state", text, NOT_KNOWN, (_FILES,), _commands(job))
    word = str(status).lower()
    last = newest(points, COMPLETED, FAILED)
    is_wrong = word in ("failed", "failing") or (last is not None and last.item.status == FAILED)
    error = _fact(job.facts, "error message")
    told = [*_restored(job), *_counted(job, points), *_silent(job, points, word)]
    level = WELL
    if counts[FAILED] or told:
        level = WATCH
    if is_wrong or error is not None:
        level = WRONG
    lead = {WRONG: "Not well", WATCH: "Needs a look", WELL: "Well, as far as these answers tell"}
    text = f"{lead[level]}: the job was {word} when SeaTunnel answered; {of_all}."
    message = [f"Its error: “{_first_line(str(error))}”."] if error is not None else []
    return Sentence("state", " ".join([text, *message, *told]), level, (_FILES,))


def _restored(job: JobInventory) -> Iterator[str]:
    """Say how often each pipeline was restored, and after how many times the job gives up."""
    for fact in job.facts:
        if not fact.name.startswith(_RESTORES) or fact.value is None:
            continue
        count, _, most = str(fact.value).partition(" of ")
        if count == "0":
            continue
        ends = f"; the job gives up after {most}" if most else ""
        pipeline = fact.name.removeprefix(_RESTORES)
        yield f"Pipeline {pipeline} was restored {times(int(count), 'time')}{ends}."


def _counted(job: JobInventory, points: Sequence[Point]) -> Iterator[str]:
    """Say how many checkpoints failed of which the answer only has the number."""
    failed = sum(
        int(str(fact.value)) for fact in job.facts if fact.name.startswith("failed in pipeline ")
    )
    if failed > sum(point.item.status == FAILED for point in points):
        yield f"SeaTunnel counts {times(failed, 'failed checkpoint')}."


def _silent(job: JobInventory, points: Sequence[Point], word: str) -> Iterator[str]:
    """Say for how long no checkpoint was triggered, if that is much longer than the interval."""
    interval, asked = (_fact(job.facts, name) for name in ("checkpoint interval", "asked at"))
    if word != "running" or not isinstance(interval, int) or not isinstance(asked, int):
        return
    seen = {
        at: point
        for point in points
        for at in (point.item.triggered_at, point.item.completed_at)
        if at is not None
    }
    running = _fact(job.facts, "running since")
    since = max([*seen, *([running] if isinstance(running, int) else [])], default=None)
    if since is None or asked - since < interval * _MANY_INTERVALS:
        return
    last = seen.get(since)
    after = f"{named(last)}" if last is not None else "the job began to run"
    if last is not None and last.item.status == IN_PROGRESS:
        yield f"{begun(after)} had been in progress for {span(asked - since)}."
        return
    none = _no_trigger(job)
    begin = f"Since it was restored from {after}" if none else f"Since {after}"
    yield (
        f"{begin} no checkpoint was triggered: 0 in {span(asked - since)}, at an interval of "
        f"{span(interval)}."
    )


def _no_trigger(job: JobInventory) -> bool:
    """Tell whether the answer counts restores and not a single checkpoint that was triggered."""
    sums = {"triggered": 0, "restored": 0}
    for fact in job.facts:
        name = fact.name.partition(" in pipeline ")[0]
        if name in sums and isinstance(fact.value, int):
            sums[name] += fact.value
    return sums["triggered"] == 0 and sums["restored"] > 0


def _first_line(text: str) -> str:
    """Return the first line of an error, cut to a length that a sentence takes."""
    lines = text.strip().splitlines()
    line = lines[0].strip() if lines else text
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]}…"


def _commands(job: JobInventory) -> tuple[str, ...]:
    key = job.key.removeprefix(LISTED) or "ID"
    return (
        f"curl -s http://HOST:8080/job-info/{key} > job.json",
        f"curl -s http://HOST:8080/jobs/checkpoints/{key} > checkpoints.json",
    )


def _restorable(pipelines: Pipelines, detail: Detail) -> Sentence:
    """Name for each pipeline the checkpoint from which a restore goes on."""
    parts, links, gaps, level = [], [], [], WELL
    whole: list[str] = []
    for pipeline, points in pipelines.items():
        of = _of(pipeline, pipelines)
        restored = next((p for p in points[::-1] if _is_restored_next(p, detail)), None)
        if restored is not None and (reason := _failing(restored, detail)):
            whole.append(f"{begun(of)}{reason}" if not of else f"{begun(of).strip()}: {reason}")
            links.append(to_checkpoint(restored))
            continue
        last = newest(points, COMPLETED)
        if restored is None:
            gaps.append(
                f"The point from which a restore {of}goes on is not known: the upload has no "
                "file of a completed checkpoint."
            )
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
            gaps.append(f"{begun(named(restored))} is not known to be whole. {gap}")
            level = NOT_KNOWN
    if not (parts or whole or gaps):
        return Sentence("restorable", "The upload names no checkpoint.", NOT_KNOWN, (_FILES,))
    more = len(parts) - MOST_PIPELINES
    clauses = [*parts[:MOST_PIPELINES], *([f"{times(more, 'more pipeline')}"] if more > 0 else ())]
    goes_on = [f"A restore goes on {'; '.join(clauses)}."] if clauses else []
    level = WRONG if whole else level
    text = " ".join([*whole[:MOST_PIPELINES], *goes_on, *gaps[:MOST_PIPELINES]])
    return Sentence("restorable", text, level, (*links[:MOST_PIPELINES], _FILES))


def _is_restored_next(point: Point, detail: Detail) -> bool:
    """Tell whether a restore takes this file, which is the one with the latest time in its name."""
    has_file = point.item.path is not None
    return has_file and _fact(detail(point.number).facts, "next restore") is not None


def _failing(point: Point, detail: Detail) -> str | None:
    """Return why a restore that should take this file fails; None if it takes it."""
    facts = detail(point.number).facts
    return next(
        (f.inferred for f in facts if f.name == "next restore" and f.value == "fails"), None
    )


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
    failed = next((point for point in own[::-1] if point.item.status == FAILED), last)
    reason = _reason(detail(failed.number))
    if reason and failed is not last:
        reason = f" {begun(named(failed))} failed before it.{reason}"
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

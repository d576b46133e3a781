"""The first answer to progress reports of Spark alone: what the query did, batch by batch.

What needs the checkpoint directory is said once.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from snapshots.domain.answering.sentences import (
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
from snapshots.domain.answering.upload_summary import Detail, Point, UploadSummary
from snapshots.domain.answering.wording import begun, moment, named, span, to_checkpoint
from snapshots.domain.inventory.model import Fact, JobInventory
from snapshots.domain.model.defects import times

MOST_READ = 100  # newest batches whose facts are compared
_ALL = (Evidence(CONTENTS, "All batches"),)
_STATE = "state of operator "
_MANY = 3  # batches that must agree before a trend is told


def is_of_reports(job: JobInventory) -> bool:
    """Tell whether all that is known of a query are progress reports."""
    return any(fact.name == "from" and fact.value == "progress reports" for fact in job.facts)


def subject(summary: UploadSummary, job: JobInventory, detail: Detail) -> Subject:
    """Return the sentences about one query."""
    points = summary.of_job(job.key)
    read = [(point, detail(point.number).facts) for point in points[-MOST_READ:]]
    seen = [*_watermark(read), *_growing(read), *_behind(read), *_stalled(job, read)]
    troubles = [item for item in seen if item.level == WATCH]
    sentences = (
        *_end(job),
        *troubles,
        _last(points, read, is_well=not troubles and not _fact(job.facts, "exception")),
        *(item for item in seen if item.level != WATCH),
        *_slowest(points),
        _not_known(points),
    )
    return Subject(job.key, job.name, sentences)


Read = Sequence[tuple[Point, tuple[Fact, ...]]]


def _fact(facts: Sequence[Fact], name: str) -> object:
    return next((fact.value for fact in facts if fact.name == name), None)


def _end(job: JobInventory) -> Iterator[Sentence]:
    if exception := _fact(job.facts, "exception"):
        line = str(exception).strip().splitlines()[0][:300]
        yield Sentence("failures", f"The query ended with an exception: “{line}”.", WRONG, _ALL)
    elif _fact(job.facts, "ended"):
        yield Sentence("failures", "The query was stopped; no exception ended it.", FACT, _ALL)


def _last(points: Sequence[Point], read: Read, *, is_well: bool) -> Sentence:
    last = points[-1]
    rows = [value for _, own in read if isinstance(value := _fact(own, "rows"), int)]
    text = f"{times(len(points), 'progress report')} of the query, the last one of {named(last)}"
    text = f"{text}{moment(last.item.triggered_at)}"
    if rows:
        of = f"the last {len(read):,}" if len(points) > len(read) else "these"
        of = of if len(points) > 1 else "it"
        text = f"{text}: {of} had {times(sum(rows), 'row')}"
    return Sentence("last-batch", f"{text}.", WELL if is_well else FACT, (to_checkpoint(last),))


def _watermark(read: Read) -> Iterator[Sentence]:
    """Say that the watermark stands, at 1970 or elsewhere, while rows come."""
    seen = [
        (point, mark)
        for point, facts in read
        if isinstance(mark := _fact(facts, "watermark"), int) and _fact(facts, "rows")
    ]
    if not seen:
        return
    marks = {mark for _, mark in seen}
    link = (to_checkpoint(seen[-1][0]),)
    if len(seen) < 2 or len(marks) > 1:
        text = f"The watermark of the last report is {moment(seen[-1][1]).strip(' ()')}."
        yield Sentence("watermark", text, FACT, link)
    elif marks == {0}:
        text = (
            f"The watermark stands at 1970-01-01 in all {len(seen):,} batches with rows: it has "
            "never moved, so no state is dropped and no window is closed by it."
        )
        yield Sentence("watermark", text, WATCH, link)
    elif len(seen) >= _MANY:
        at = moment(seen[0][1]).strip(" ()")
        text = f"The watermark stands at {at} in the last {len(seen):,} batches with rows."
        yield Sentence("watermark", text, WATCH, link)


def _growing(read: Read) -> Iterator[Sentence]:
    """Name each state that grew with every batch."""
    if len(read) < 2:
        return
    names = [fact.name for fact in read[-1][1] if fact.name.startswith(_STATE)]
    for name in names:
        sizes = [size for _, facts in read if isinstance(size := _fact(facts, name), int)]
        steps = [later - earlier for earlier, later in pairwise(sizes)]
        if not steps or len(sizes) < len(read):
            continue
        text = f"The {name} has {times(sizes[-1], 'row')}"
        link = (to_checkpoint(read[-1][0]),)
        if min(steps) > 0 and len(steps) >= 2:
            mean = sum(steps) / len(steps)
            rate = f"{mean:,.0f}" if min(steps) == max(steps) else f"about {mean:,.0f}"
            text = f"{text}. It grows with every batch, by {rate} rows."
            yield Sentence("state", text, WATCH, link)
        else:
            yield Sentence("state", f"{text}; it had {sizes[0]:,} in the first report.", FACT, link)


def _behind(read: Read) -> Iterator[Sentence]:
    """Say that rows come faster than they are processed."""
    rates = [
        (came, done)
        for _, facts in read
        if isinstance(came := _fact(facts, "rows a second that came"), int | float)
        and isinstance(done := _fact(facts, "rows a second that were processed"), int | float)
        and done > 0
    ]
    behind = [pair for pair in rates if pair[0] > pair[1]]
    if len(behind) >= _MANY and len(behind) * 2 > len(rates):
        came, done = behind[-1]
        text = (
            f"In {len(behind):,} of {len(rates):,} batches rows came faster than they were "
            f"processed; in the last of these {came:,.0f} came and {done:,.0f} were processed a "
            "second."
        )
        yield Sentence("load", text, WATCH, (to_checkpoint(read[-1][0]),))


def _stalled(job: JobInventory, read: Read) -> Iterator[Sentence]:
    """Say that the last batches had no rows, or that no batch was run."""
    idle = _fact(job.facts, "reports without a batch at the end")
    if isinstance(idle, int) and idle >= _MANY:
        text = f"The last {idle:,} reports ran no batch: no new data came."
        yield Sentence("stalled", text, WATCH, (to_checkpoint(read[-1][0]),))
        return
    rows = [_fact(facts, "rows") for _, facts in read]
    empty = next((place for place, count in enumerate(rows[::-1]) if count != 0), len(rows))
    if empty >= _MANY:
        had = "" if empty == len(rows) else ", after others that had rows"
        text = f"The last {empty:,} reports have no rows{had}: no new data came."
        yield Sentence("stalled", text, WATCH, (to_checkpoint(read[-1][0]),))


def _slowest(points: Sequence[Point]) -> Iterator[Sentence]:
    timed = [(p.item.phases["triggerExecution"], p) for p in points if _has_time(p)]
    if not timed:
        return
    took, slow = max(timed, key=lambda pair: pair[0])
    parts = {name: ms for name, ms in slow.item.phases.items() if name != "triggerExecution"}
    phase = max(parts, key=lambda name: parts[name], default="")
    where = f", {span(parts[phase])} of it in {phase}" if phase and parts[phase] else ""
    count = f"the slowest of {len(timed):,}" if len(timed) > 1 else "the only one"
    text = f"{begun(named(slow))}, {count} with a time, took {span(took)}{where}."
    yield Sentence("slowest", text, FACT, (to_checkpoint(slow),))


def _has_time(point: Point) -> bool:
    return "triggerExecution" in point.item.phases


def _not_known(points: Sequence[Point]) -> Sentence:
    text = (
        "The upload has no checkpoint directory, so what was in flight, what the state holds and "
        "whether a restart can go on are not known."
    )
    commands = ("hdfs dfs -get CHECKPOINT_LOCATION  # or aws s3 sync; add it to the upload",)
    return Sentence("restorable", text, NOT_KNOWN, (to_checkpoint(points[-1]),), commands)

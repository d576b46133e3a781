"""The first answer to the text logs of Spark's drivers and of SeaTunnel.

A log is a part of what happened: that it has no failure does not mean that there was none.
"""

from collections.abc import Iterator, Sequence

from snapshots.domain.answering.job_report import JobFailure, JobReport
from snapshots.domain.answering.sentences import (
    CONTENTS,
    FACT,
    FAILURES,
    NOT_KNOWN,
    WATCH,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import Detail, Point, UploadSummary
from snapshots.domain.answering.wording import begun, moment, named, span, to_checkpoint
from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import COMPLETED, FAILED, Fact, JobInventory
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

_ALL = Evidence(CONTENTS, "All that the log has")
_WHOLE = "triggerExecution"  # the phase that holds all others
_BROKEN = frozenset({"failed", "failing"})
_NO_FILES = (
    "The upload has no checkpoint files of it, so what its state holds and whether a restart can "
    "go on are not known."
)


def is_of_log(job: JobInventory) -> bool:
    """Tell whether a log tells of a job."""
    return any(fact.name == "from" and fact.value == "log" for fact in job.facts)


def subject(
    summary: UploadSummary, job: JobInventory, report: JobReport, detail: Detail
) -> Subject:
    """Return the sentences about one job that logs tell of."""
    points = summary.of_job(job.key)
    sentences = (
        _state(summary.engine, points, report),
        *_restarts(summary.engine, report),
        *_failed(points, detail),
        *_last(points, detail),
        *_slowest(points, detail),
        *_files(summary),
    )
    return Subject(job.key, job.name, sentences, failures=report.failures[::-1])


def _word(engine: str) -> str:
    return "query" if engine == "spark" else "job"


def _state(engine: str, points: Sequence[Point], report: JobReport) -> Sentence:
    """Say how the job ended in the log, and what the log has of it."""
    word = _word(engine)
    has = [*_counted(points, (report.counts or {}).get("total", 0)), *_times(report)]
    level = FACT
    if report.failures or any(point.item.status == FAILED for point in points):
        level = WATCH
    if report.state in _BROKEN:
        level = WRONG
    state = "The log does not say how it ended"
    if report.state is not None:
        words = {"failed": "had failed", "stopped": "had been stopped"}
        state = f"The {word} {words.get(report.state, f'was {report.state}')} at the end of the log"
    lead = {WRONG: "Not well: ", WATCH: "Needs a look: "}.get(level, "")
    state = f"{lead}{state[:1].lower()}{state[1:]}" if lead else state
    return Sentence("state", f"{state}. The log has {listed(has, len(has))}.", level, (_ALL,))


def _counted(points: Sequence[Point], total: int) -> Iterator[str]:
    """Count the batches or checkpoints; of too many only the newest are read."""
    if not points:
        yield "no line about a batch or a checkpoint"
        return
    kind = points[0].item.kind
    done = sum(point.item.status == COMPLETED for point in points)
    failed = sum(point.item.status == FAILED for point in points)
    words = times(len(points), kind, "batches" if kind == "batch" else "checkpoints")
    ended = "committed" if kind == "batch" else "completed"
    also = f" and {failed:,} failed" if failed else ""
    if total > len(points):
        words = f"{total:,} {words.partition(' ')[2]}, and of the newest {len(points):,}"
        yield f"{words} {done:,} {ended}{also}"
        return
    yield f"{words} ({done:,} {ended}{also})"


def _times(report: JobReport) -> Iterator[str]:
    counts = report.counts or {}
    for name, word in (("started", "start"), ("restarted", "restart")):
        if count := counts.get(name, 0):
            yield times(count, word)
    least = "at least " if report.has_more_failures else ""
    if report.failures:
        yield f"{least}{times(len(report.failures), 'failure')}"


def _restarts(engine: str, report: JobReport) -> Iterator[Sentence]:
    """Say why the job failed last, and from where it went on."""
    restore = report.restore
    goes_on = ""
    if restore is not None:
        kind = "savepoint" if restore.is_savepoint else "checkpoint"
        kind = "batch" if engine == "spark" else kind
        verb = "resumed at" if kind == "batch" else "was restored from"
        goes_on = f"It {verb} {kind} {restore.number}{moment(restore.at)}{_at(restore.place)}."
    if not report.failures:
        if goes_on:
            yield Sentence("restarts", f"{goes_on} The log has no failure of it.", FACT, (_ALL,))
        return
    last = report.failures[-1]
    count = len(report.failures)
    often = "The log has its failure" if count == 1 else f"The last of {count:,} failures"
    task = f" in {last.task}" if last.task else ""
    text = f"{often}{moment(last.at)}{task}{_at(last.place)}: {_why(last)}"
    links = (Evidence(FAILURES, "Failures in the log"), _ALL)
    yield Sentence("restarts", f"{text} {goes_on}".rstrip(), WATCH, links)


def _at(place: str | None) -> str:
    return f" ({place})" if place else ""


def _why(failure: JobFailure) -> str:
    name = (failure.name or "").rpartition(".")[2]
    if failure.message is None:
        return f"{name} without a message." if name else "the log does not say why."
    return f"“{failure.message[:300]}”{f' ({name})' if name else ''}."


def _failed(points: Sequence[Point], detail: Detail) -> Iterator[Sentence]:
    """Name the checkpoints that failed, with the reason of the last one."""
    failed = [point for point in points if point.item.status == FAILED]
    if not failed:
        return
    last = failed[-1]
    facts = detail(last.number).facts
    ids = spans_text(sorted({point.item.id for point in failed}))
    plural = "s" if len(failed) > 1 else ""
    reason = _fact(facts, "failure")
    why = f" The reason of the last: “{reason}”." if reason else " The log does not say why."
    text = f"The log has {len(failed):,} failed checkpoint{plural}: {ids}.{why}"
    text = f"{text} {_lines(last, facts)}"
    yield Sentence("checkpoint-failures", text, WATCH, (to_checkpoint(last),))


def _last(points: Sequence[Point], detail: Detail) -> Iterator[Sentence]:
    """Say what became of the last batch or checkpoint that the log has."""
    if not points:
        return
    last = points[-1]
    item, facts = last.item, detail(last.number).facts
    done = "was committed" if item.kind == "batch" else "completed"
    if item.status == COMPLETED:
        end = f"{done}{moment(item.completed_at)}"
    elif item.status == FAILED:
        end = "failed"
    else:
        end = f"began{moment(item.triggered_at)}, and the log has no line that it {done}"
    rows = _fact(facts, "rows")
    count = f", with {times(rows, 'row')}" if isinstance(rows, int) else ""
    text = f"{begun(named(last))}, the last one in the log, {end}{count}. {_lines(last, facts)}"
    level = FACT if item.status == COMPLETED else WATCH
    yield Sentence("last-batch", text, level, (to_checkpoint(last),))


def _lines(point: Point, facts: Sequence[Fact]) -> str:
    return f"These lines tell of {named(point)}: {_fact(facts, 'told by the lines')}."


def _slowest(points: Sequence[Point], detail: Detail) -> Iterator[Sentence]:
    """Name the slowest that completed, and where the time of a batch went."""
    timed = [
        (took, point)
        for point in points
        if point.item.status == COMPLETED and (took := _took(point, detail)) is not None
    ]
    if not timed:
        return
    took, slow = max(timed, key=lambda pair: pair[0])
    parts = {name: ms for name, ms in slow.item.phases.items() if name != _WHOLE}
    phase = max(parts, key=lambda name: parts[name], default="")
    where = f", {span(parts[phase])} of it in {phase}" if phase and parts[phase] else ""
    count = f"the slowest of {len(timed):,} in the log" if len(timed) > 1 else "the only one"
    text = f"{begun(named(slow))}, {count} whose time is known, took {span(took)}{where}."
    yield Sentence("slowest", text, FACT, (to_checkpoint(slow),))


def _took(point: Point, detail: Detail) -> int | None:
    if (whole := point.item.phases.get(_WHOLE)) is not None:
        return whole
    took = _fact(detail(point.number).facts, "took by the log's clock")
    return took if isinstance(took, int) else None


def _fact(facts: Sequence[Fact], name: str) -> object:
    return next((fact.value for fact in facts if fact.name == name), None)


def _files(summary: UploadSummary) -> Iterator[Sentence]:
    """Say what needs the checkpoint's files, unless another answer on the page is about these."""
    if any(point.item.path is not None for point in summary.points()):
        return
    command = "hdfs dfs -get CHECKPOINT_FOLDER  # or aws s3 sync; add it to the upload"
    yield Sentence("restorable", _NO_FILES, NOT_KNOWN, (_ALL,), (command,))

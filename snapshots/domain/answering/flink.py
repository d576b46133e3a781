"""The first answer to an upload of Flink's: is the job well, who is slow, why did it restart.

What Flink said of the job (its REST answers) and what its files hold are told apart. Without the
answers nobody can tell how the job ran, so the sentence says what to upload.
"""

from collections.abc import Iterator

from snapshots.domain.answering import (
    flink_checkpoints,
    flink_failures,
    flink_load,
    flink_restore,
    restore_points,
)
from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import (
    BACK_PRESSURE,
    CHECKPOINTS,
    JOB,
    NOT_PERIODIC,
    OFF,
    JobReport,
)
from snapshots.domain.answering.sentences import (
    FACT,
    FAILURES,
    LEVELS,
    LOADS,
    NOT_KNOWN,
    WATCH,
    WELL,
    WRONG,
    Evidence,
    Sentence,
    Subject,
)
from snapshots.domain.answering.upload_summary import newest
from snapshots.domain.answering.wording import MOST_NAMED, begun, moment, to_checkpoint
from snapshots.domain.inventory.model import COMPLETED
from snapshots.domain.inventory.restore_check import AS_LISTED
from snapshots.domain.model.defects import times

_BROKEN = frozenset({"failed", "failing", "restarting", "suspended"})
_SOUND = frozenset({"running", "finished"})
_LEADS = {
    WRONG: "Not well: ",
    WATCH: "Needs a look: ",
    WELL: "Well, as far as these answers tell: ",
}
_READ_AGAIN = (
    "This upload was read before Cutline kept what Flink said of the job. Read it again to see how "
    "the job ran."
)

Clause = tuple[str, str]  # level and text


def subject(job: FlinkJob) -> Subject:
    """Return the sentences about one job."""
    report = job.report
    if report is None:
        return Subject(job.key, job.name, (_no_answers(job), *_of_files(job)))
    sentences = (
        _state(job, report),
        flink_checkpoints.failures(job, report),
        flink_load.load(job, report),
        flink_failures.restarts(job, report),
        flink_checkpoints.slowest(job, report),
        *_of_files(job),
    )
    return Subject(
        job.key,
        job.name,
        tuple(sentence for sentence in sentences if sentence is not None),
        report.loads,
        report.failures[::-1],
    )


def _of_files(job: FlinkJob) -> Iterator[Sentence]:
    if job.report is not None and job.report.errors:
        yield _errors(job, job.report)
    yield from restore_points.in_flight(
        job.points, job.detail, _stored(job), is_one_job=bool(job.key)
    )
    yield flink_restore.restorable(job)


def _errors(job: FlinkJob, report: JobReport) -> Sentence:
    listed = [f"“{message}”" for message in report.errors[:MOST_NAMED]]
    more = len(report.errors) - len(listed)
    also = f" and {times(more, 'more error')}" if more else ""
    return Sentence(
        "errors", f"Flink answered with errors: {', '.join(listed)}{also}.", FACT, (job.times(),)
    )


def _stored(job: FlinkJob) -> int | None:
    """Return the bytes in flight that Flink says it stored for the newest completed checkpoint."""
    point = newest(job.points, COMPLETED)
    if point is None or job.report is None:
        return None
    amounts = (facts.in_flight for facts in job.report.checkpoints if facts.number == point.item.id)
    return next(amounts, None)


def _no_answers(job: FlinkJob) -> Sentence:
    if job.is_of_older_release:
        return Sentence("state", _READ_AGAIN, NOT_KNOWN)
    whole = [
        clause
        for clause in flink_restore.wholeness(job)
        if clause[0] != NOT_KNOWN or AS_LISTED.lower() in clause[1]
    ]
    text = "".join(f"{begun(clause)}. " for _, clause in whole)
    return Sentence(
        "state",
        f"{text}Whether the job runs well, who is slow and why it restarted is not known: the "
        "upload has no REST answers of it. Put these files beside the checkpoint and upload both.",
        WRONG if any(level == WRONG for level, _ in whole) else NOT_KNOWN,
        upload=tuple(
            job.command(path)
            for path in ("", "/checkpoints", "/exceptions", "/vertices/VERTEX/backpressure")
        ),
    )


def _state(job: FlinkJob, report: JobReport) -> Sentence:
    """Say whether the job is well: the worst of what its answers tell decides.

    Who is missing in every failed checkpoint comes first, since that is the cause of the rest.
    """
    clauses = [
        _of_state(report),
        *_of_checkpoints(report),
        *_of_failures(report),
        *_of_load(report),
        *flink_restore.wholeness(job),
    ]
    clauses.sort(key=lambda clause: LEVELS.index(clause[0]))
    levels = [level for level, _ in clauses]
    levels_known = [level for level in levels if level != NOT_KNOWN] or [NOT_KNOWN]
    level = min(levels_known, key=LEVELS.index)
    if level == WELL and NOT_KNOWN in levels:
        level = NOT_KNOWN
    text = "; ".join(text for _, text in clauses)
    if (cause := flink_checkpoints.cause_clause(report)) is not None:
        text = f"{cause}; {text}"
    lead = _LEADS.get(level, "")
    if report.is_of_log and level == WELL:
        lead = "Well, as far as the log tells: "
    missing = [path for name, path in _PATHS.items() if name not in report.answers]
    return Sentence(
        "state",
        f"{lead}{text if lead else text[:1].upper() + text[1:]}.",
        level,
        tuple(_evidence(job, report)),
        tuple(map(job.command, missing)) if level == NOT_KNOWN else (),
    )


_NO_CHECKPOINTS = {
    OFF: "Flink says that checkpointing is not enabled",
    NOT_PERIODIC: "the job triggers no checkpoints by itself, as its configuration says",
}
_PATHS = {JOB: "", CHECKPOINTS: "/checkpoints"}


def _evidence(job: FlinkJob, report: JobReport) -> Iterator[Evidence]:
    yield job.times()
    if report.failures:
        yield Evidence(FAILURES, "Failures of the job")
    if any(load.is_known for load in report.loads) and BACK_PRESSURE in report.answers:
        yield Evidence(LOADS, "Load of the subtasks")
    if not job.has_times and job.points:
        yield to_checkpoint(job.points[-1])


def _of_state(report: JobReport) -> Clause:
    if report.state is None:
        return NOT_KNOWN, "the state of the job is not known"
    when = "at the end of the log" if report.is_of_log else "then"
    if report.asked_at:
        when = f"when Flink answered{moment(report.asked_at)}"
    words = {"failed": "had failed", "finished": "had finished", "canceled": "had been cancelled"}
    text = f"the job {words.get(report.state, f'was {report.state}')} {when}"
    level = WRONG if report.state in _BROKEN else WELL if report.state in _SOUND else FACT
    return level, text


def _of_checkpoints(report: JobReport) -> Iterator[Clause]:
    ended = [facts for facts in report.checkpoints if facts.is_final]
    if report.no_checkpoints is not None:
        yield WATCH, _NO_CHECKPOINTS[report.no_checkpoints]
    if not ended:
        if report.no_checkpoints is None:
            yield _none_ended(report)
        return
    last = ended[-1]
    kind = flink_checkpoints.kind_of(last)
    which = f"{kind} {last.number}"
    if report.lists_checkpoints:
        log = " in the log" if report.is_of_log else ""
        which = f"the last checkpoint that ended{log}, {last.number},"
        if kind != "checkpoint":
            which = f"the last that ended, {kind} {last.number},"
    if last.status == "failed":
        yield WRONG, f"{which} failed"
    else:
        after = "" if last.duration is None else f" after {flink_checkpoints.span(last.duration)}"
        if not report.lists_checkpoints and last.subtasks is not None:
            after += f" with {last.acknowledged or 0:,} of {times(last.subtasks, 'subtask')}"
        yield WELL, f"{which} completed{after}"
    if report.lists_checkpoints or len(report.checkpoints) > 1:
        yield flink_checkpoints.failed_clause(report)


def _none_ended(report: JobReport) -> Clause:
    total = (report.counts or {}).get("total")
    if not report.lists_checkpoints:
        return NOT_KNOWN, "how its checkpoints went is not known"
    if total == 0:
        return WATCH, "no checkpoint was triggered yet"
    if total and report.state == "finished":
        return NOT_KNOWN, f"Flink counts {times(total, 'checkpoint')} and no longer lists them"
    who = "the log has" if report.is_of_log else "Flink lists"
    return WATCH, f"{who} no checkpoint that has ended"


def _of_failures(report: JobReport) -> Iterator[Clause]:
    if report.failures:
        least = "at least " if report.has_more_failures else ""
        if report.is_of_log:
            yield WATCH, f"the log has {least}{times(len(report.failures), 'failure')} of the job"
            return
        yield WATCH, f"the job failed {least}{times(len(report.failures), 'time')}"


def _of_load(report: JobReport) -> Iterator[Clause]:
    if slow := flink_load.bottlenecks(report):
        yield WATCH, f"others waited for {flink_load.names(slow)}"

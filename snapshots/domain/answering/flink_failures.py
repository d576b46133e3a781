"""Says why a job restarted, how often, and from which checkpoint."""

from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import CHECKPOINTS, EXCEPTIONS, JobFailure, JobReport
from snapshots.domain.answering.sentences import (
    CONTENTS,
    FACT,
    FAILURES,
    NOT_KNOWN,
    WATCH,
    WELL,
    Evidence,
    Sentence,
)
from snapshots.domain.answering.wording import moment, to_checkpoint
from snapshots.domain.model.defects import times


def restarts(job: FlinkJob, report: JobReport) -> Sentence:
    """Say how often the job failed, why it did last, and from what it went on."""
    origin = job.restored()
    evidence = (
        *([to_checkpoint(origin)] if origin is not None else ()),
        Evidence(CONTENTS, "Facts of the job"),
    )
    if report.failures:
        text = f"{_failed(report)} {_restored_after(report)}"
        links = (Evidence(FAILURES, "Failures of the job"), *evidence)
        return Sentence("restarts", text, WATCH, links)
    if EXCEPTIONS not in report.answers:
        text = "Whether and why it restarted is not known: the upload has no list of exceptions."
        return Sentence(
            "restarts",
            f"{text} {_restored(report)}".rstrip(),
            NOT_KNOWN,
            evidence,
            (job.command("/exceptions"),),
        )
    if report.restore is not None:
        text = f"{_restored(report)} {_lister(report)} no failure since."
        return Sentence("restarts", text, FACT, evidence)
    if CHECKPOINTS not in report.answers:
        text = "Flink lists no failure. Whether it was restored is not known."
        upload = (job.command("/checkpoints"),)
        return Sentence("restarts", text, NOT_KNOWN, evidence, upload)
    if report.is_of_log:
        return Sentence("restarts", "The log has no failure and no restore.", FACT, evidence)
    text = "It did not restart: Flink lists no failure and no restore."
    return Sentence("restarts", text, WELL, evidence)


def _lister(report: JobReport) -> str:
    return "The log has" if report.is_of_log else "Flink lists"


def _failed(report: JobReport) -> str:
    last = report.failures[-1]
    least = "at least " if report.has_more_failures else ""
    count = len(report.failures)
    often = f"It failed {least}{times(count, 'time')}, last{moment(last.at)}"
    if count == 1 and not least:
        often = f"It failed once{moment(last.at)}"
    if report.is_of_log:
        often = f"The log has {least}{times(count, 'failure')}, the last one{moment(last.at)}"
        often = often if count > 1 or least else f"The log has one failure{moment(last.at)}"
    task = f" in {last.task}" if last.task else ""
    place = f" ({last.place})" if last.place else ""
    return f"{often}{task}{place}: {_why(last, report)}"


def _why(failure: JobFailure, report: JobReport) -> str:
    """Return the message of the first cause with its class, as Flink gives both."""
    name = (failure.name or "").rpartition(".")[2]
    if failure.message is None:
        who = "the log does not say why" if report.is_of_log else "Flink does not say why"
        return f"{name} without a message." if name else f"{who}."
    return f"“{failure.message}”{f' ({name})' if name else ''}."


def _restored_after(report: JobReport) -> str:
    last, restore = report.failures[-1], report.restore
    if CHECKPOINTS not in report.answers:
        return "From which checkpoint it went on is not known."
    if restore is None:
        return f"{_lister(report)} no checkpoint from which it was restored."
    if last.at is not None and restore.at is not None and restore.at < last.at:
        return (
            f"{_lister(report)} no restore after that; the last one before was from {_what(report)}"
            f"{moment(restore.at)}."
        )
    place = f" ({restore.place})" if restore.place else ""
    return f"It went on from {_what(report)}{moment(restore.at)}{place}{_how_often(report)}."


def _restored(report: JobReport) -> str:
    restore = report.restore
    if restore is None:
        return ""
    path = f", {restore.path}" if restore.path else ""
    path += f" ({restore.place})" if restore.place else ""
    return f"It was restored from {_what(report)}{moment(restore.at)}{path}{_how_often(report)}."


def _what(report: JobReport) -> str:
    restore = report.restore
    assert restore is not None  # the callers have asked
    kind = "savepoint" if restore.is_savepoint else "checkpoint"
    return f"{kind} {restore.number}" if restore.number else f"a {kind}"


def _how_often(report: JobReport) -> str:
    count = (report.counts or {}).get("restored", 0)
    who = "the log has" if report.is_of_log else "Flink counts"
    return f"; {who} {times(count, 'restore')}" if count > 1 else ""

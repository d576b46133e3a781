"""Words what a failure did, for people who have not seen one before."""

from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.domain.dataflow_logs.failovers.events import Failed
from snapshots.domain.dataflow_logs.failovers.report import (
    FULL,
    PIPELINE,
    REGION,
    UPSTREAM,
    FailoverReport,
)
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed


def sentence(report: FailoverReport, failed: Failed, noun: str, unit: str) -> str:
    """Summarise a failure. ``noun``: what is restored, such as ``checkpoint`` or ``batch``."""
    return f"{_summary(report, failed.overtaken_by, noun, unit)}."


def _summary(report: FailoverReport, next_: Failed | None, noun: str, unit: str) -> str:
    subject = report.process or "The job"
    text = f"{subject} failed at {spelled(report.at, unit)}"
    if report.restarted_at is None and next_ is not None:
        after = spelled(next_.event.at - report.at, unit)
        text = f"{text}, and {next_.process or 'the job'} failed {after} later"
        return f"{text}, before anything came back: that failure shows what both did"
    if report.restarted_at is None:
        return f"{text}, and the log ends before anything came back"
    number = report.tasks_restarted
    tasks = {
        FULL: f"all {number} tasks",
        PIPELINE: f"the {number} tasks of its pipeline",
        REGION: f"the {times(number, 'task')} of its region",
        UPSTREAM: f"the {times(number, 'task')} of its vertex and of those before it",
    }.get(report.strategy, times(number, "task"))
    text = f"{text}; {tasks} went back to " + (
        f"{noun} {report.restored}" if report.restored else "the beginning"
    )
    if report.lost_progress is not None:
        text += f", {spelled(report.lost_progress, unit)} before"
    if report.went_on:
        text += f", and {times(report.went_on, 'other task')} went on"
    if report.unrepeatable and report.strategy != UPSTREAM:
        text += f", because {listed(report.unrepeatable)} cannot give the same records again"
    re_read = report.records_re_read
    if re_read is None or report.sinks is None:
        return f"{text}. What was read again is not known, for the engine keeps no records"
    text += f". {times(re_read, 'record')} {'was' if re_read == 1 else 'were'} read again"
    text += _skipped(report)
    duplicates = sum(sink.duplicates for sink in report.sinks)
    if duplicates:
        text += (
            f", {times(duplicates, 'record')} that the sinks show {_are(duplicates)} there twice"
        )
    lost = sum(sink.lost for sink in report.sinks)
    if lost:
        text += f", {lost:,} {_are(lost)} lost"
    took = report.time_to_catch_up
    if took is None:
        return f"{text}, and the sources had not caught up when the log ends"
    return f"{text}, and after {spelled(took, unit)} the sources were where they had been"


def _skipped(report: FailoverReport) -> str:
    if report.skipped:
        number, other = report.skipped, report.skipped_differing
        was, whose = ("was", "its id") if number == 1 else ("were", "their ids")
        text = f", {times(number, 'record')} that came again {was} skipped by {whose}"
        return text + (f" ({other:,} with another value than before)" if other else "")
    if report.unrepeatable and report.strategy == UPSTREAM:
        who = listed(report.unrepeatable)
        return f", nothing was skipped, because {who} cannot give the same records again"
    return ""


def _are(number: int) -> str:
    return "is" if number == 1 else "are"

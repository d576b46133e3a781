"""What a failure did, in two sentences for people who have not seen one before."""

from snapshots.domain.dataflow_logs.checkpoints.sentences import spelled
from snapshots.domain.dataflow_logs.failovers.events import Failed
from snapshots.domain.dataflow_logs.failovers.report import FULL, PIPELINE, FailoverReport


def sentence(report: FailoverReport, failed: Failed, what: str, unit: str) -> str:
    """what: it goes back to: a checkpoint, a batch."""
    return f"{_told(report, failed.overtaken_by, what, unit)}."


def _told(report: FailoverReport, next_: Failed | None, what: str, unit: str) -> str:
    who = report.process or "The job"
    told = f"{who} failed at {spelled(report.at, unit)}"
    if report.restarted_at is None and next_ is not None:
        after = spelled(next_.event.at - report.at, unit)
        told = f"{told}, and {next_.process or 'the job'} failed {after} later"
        return f"{told}, before anything came back: see there what both did"
    if report.restarted_at is None:
        return f"{told}, and the log ends before anything came back"
    number = report.tasks_restarted
    tasks = {FULL: f"all {number} tasks", PIPELINE: f"the {number} tasks of its pipeline"}.get(
        report.strategy, f"{number} task{'s' if number > 1 else ''}"
    )
    told = f"{told}; {tasks} went back to " + (
        f"{what} {report.restored}" if report.restored else "the beginning"
    )
    if report.lost_progress is not None:
        told += f", {spelled(report.lost_progress, unit)} before"
    told += f". {_records(report.records_re_read)} read again"
    duplicates = sum(sink.duplicates for sink in report.sinks)
    if duplicates:
        told += f", {duplicates:,} of what the sinks show is there twice"
    lost = sum(sink.lost for sink in report.sinks)
    if lost:
        told += f", {lost:,} {'is' if lost == 1 else 'are'} lost"
    took = report.time_to_catch_up
    if took is None:
        return f"{told}, and the sources had not caught up when the log ends"
    return f"{told}, and after {spelled(took, unit)} the sources were where they had been"


def _records(number: int) -> str:
    return "1 record was" if number == 1 else f"{number:,} records were"

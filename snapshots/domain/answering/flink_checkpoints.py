"""Says which checkpoints failed and for whom they waited, counted over all that Flink lists."""

from collections.abc import Iterable

from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.answering.sentences import FACT, NOT_KNOWN, WATCH, WELL, Evidence, Sentence
from snapshots.domain.answering.wording import MOST_NAMED, begun, quoted_reasons, span, tally
from snapshots.domain.archive.absence import blame, may_be_expired, missing, times_missing
from snapshots.domain.archive.causes import NOT_KNOWN as CAUSE_NOT_KNOWN
from snapshots.domain.archive.causes import cause_of
from snapshots.domain.archive.model import COMPLETED, FAILED, CheckpointFacts
from snapshots.domain.model.defects import times
from snapshots.domain.model.listing import listed

__all__ = ["failed_clause", "failures", "kind_of", "slowest", "span"]

_MOST_LINKED = 3  # checkpoints
_MOST_OF_IT = 0.5  # of the time that a checkpoint took
_SUBTASKS = "/checkpoints/details/N/subtasks/VERTEX"


def kind_of(facts: CheckpointFacts) -> str:
    """Return whether it is a checkpoint or a savepoint, as a word."""
    return "savepoint" if "savepoint" in facts.kind else "checkpoint"


def failed_clause(report: JobReport) -> tuple[str, str]:
    """Return the level and the words for how many checkpoints failed."""
    listed = len(_failed(report))
    counts = report.counts or {}
    total = counts.get("total", len(report.checkpoints))
    failed = max(counts.get("failed", 0), listed)
    if report.is_of_log:
        return _failed_in_log(report, listed)
    if not failed:
        return WELL, f"none of {total:,} checkpoints failed" if total > 1 else "none failed"
    text = f"{failed:,} of {times(total, 'checkpoint')} failed"
    unlisted = failed - listed
    if not listed:
        return WELL, f"{text}, which Flink counts and does not list: why is not known"
    return WATCH, f"{text}, {unlisted:,} of which Flink does not list" if unlisted else text


def cause_clause(report: JobReport) -> str | None:
    """Return who had acknowledged no failed checkpoint, in words; None if nobody is that."""
    failed = _failed(report)
    always = [name for name, count in times_missing(failed).items() if count == len(failed)]
    if not 0 < len(always) <= MOST_NAMED:
        return None
    if len(failed) == 1:
        which = f"{kind_of(failed[0])} {failed[0].number} when it failed"
        return f"{listed(always)} had not acknowledged {which}"
    return (
        f"{listed(always)} had not acknowledged any of the {len(failed):,} failed checkpoints when "
        "they failed"
    )


def _failed_in_log(report: JobReport, failed: int) -> tuple[str, str]:
    """Return the same of a log, which may begin late, and of which the newest are kept."""
    counts = report.counts or {}
    total = times(len(report.checkpoints) + counts.get("left_out", 0), "checkpoint")
    failed += counts.get("failed_left_out", 0)
    if not failed:
        return WELL, f"the log has no failure among its {total}"
    return WATCH, f"the log has {failed:,} failed among its {total}"


def failures(job: FlinkJob, report: JobReport) -> Sentence | None:
    """Say who had not acknowledged, over all failed checkpoints, and why they failed."""
    failed = _failed(report)
    if not failed:
        return None
    counts = times_missing(failed)
    silent = [facts for facts in failed if not any(missing(facts))]
    if len(failed) == 1:
        who = blame(failed[0]).sentence if counts else _acknowledged(failed[0])
        after = "" if failed[0].duration is None else f" after {span(failed[0].duration)}"
        text = f"{begun(kind_of(failed[0]))} {failed[0].number} failed{after}. {who}"
    elif not counts:
        text = f"{_listed(report, failed)}. Who did not acknowledge is not known."
    else:
        unknown = (
            f" For {len(silent):,} of them the upload does not say who was missing."
            if silent
            else ""
        )
        in_time = " in time" if all(map(may_be_expired, failed)) else ""
        who = f"Not acknowledged{in_time}: {tally(counts)}"
        text = f"{_listed(report, failed)}. {who}.{unknown}"
    reasons = [(cause_of(facts), facts.number) for facts in failed]
    noun = "reasons" if len({reason for reason, _ in reasons}) > 1 else "reason"
    why = f"Flink's {noun}: {quoted_reasons(reasons)}."
    if all(reason == CAUSE_NOT_KNOWN for reason, _ in reasons):
        why = "Flink gives no reason."
    return Sentence(
        "checkpoint-failures",
        f"{text} {why}",
        WATCH if counts or _tells_who(failed) else NOT_KNOWN,
        _linked(job, failed),
        (job.command(_SUBTASKS),) if silent and not _has_subtasks(silent) else (),
    )


def _tells_who(failed: list[CheckpointFacts]) -> bool:
    """Tell whether nobody acknowledged the only failed checkpoint, so that it is known who did."""
    return len(failed) == 1 and failed[0].acknowledged == 0


def _acknowledged(facts: CheckpointFacts) -> str:
    """Say how many subtasks acknowledged a failed checkpoint, where nobody knows which did not."""
    if facts.acknowledged is None or facts.acknowledged >= (facts.subtasks or 0):
        return "Who did not acknowledge is not known."
    if not facts.acknowledged:
        return f"None of {times(facts.subtasks or 0, 'subtask')} acknowledged it."
    counted = f"{facts.acknowledged:,} of {times(facts.subtasks or 0, 'subtask')} acknowledged it"
    lacking = [
        f"{times(vertex.parallelism - vertex.acknowledged, 'subtask')} of "
        f"{vertex.name or vertex.id}"
        for vertex in facts.vertices
        if vertex.parallelism is not None
        and vertex.acknowledged is not None
        and vertex.acknowledged < vertex.parallelism
    ]
    if not lacking:
        return f"{counted}; who did not is not known."
    return (
        f"{counted}. Not acknowledged by {listed(lacking, MOST_NAMED)}; which of them is not known."
    )


def slowest(job: FlinkJob, report: JobReport) -> Sentence | None:
    """Name the slowest completed checkpoint and for whom it waited; None if nothing completed."""
    timed = [
        facts
        for facts in report.checkpoints
        if facts.status == COMPLETED and facts.duration is not None
    ]
    if not timed:
        return None
    slow = max(timed, key=lambda facts: facts.duration or 0)
    text = f"{begun(kind_of(slow))} {slow.number}, {_of_all(report, len(timed))}, took "
    text += f"{span(slow.duration or 0)}."
    waited = blame(slow)
    if not waited.names:
        text += " Who acknowledged last is not known."
        upload = (job.command(_SUBTASKS),)
        return Sentence("slowest", text, NOT_KNOWN, _linked(job, [slow]), upload)
    if waited.is_tie:
        text += f" {waited.sentence[:-1]}, so none of them stands out."
    else:
        text += f" {waited.sentence}"
    return Sentence("slowest", f"{text}{_late_source(report, slow)}", FACT, _linked(job, [slow]))


def _of_all(report: JobReport, timed: int) -> str:
    """Say of how many completed checkpoints one is the slowest, as far as Flink lists them."""
    is_all = (report.counts or {}).get("completed", 0) <= timed
    if report.is_of_log:
        which = (
            "the only completed one" if timed == 1 else f"the slowest of {timed:,} completed ones"
        )
        return f"{which}{_among(report)} in the log"
    if timed == 1:
        return "the only one" if is_all else "the only completed one that Flink lists"
    return f"the slowest of {timed:,} that completed{'' if is_all else ' and that Flink lists'}"


def _among(report: JobReport) -> str:
    """Say among which checkpoints of a log some were counted: of many the newest are kept."""
    if not (report.counts or {}).get("left_out", 0):
        return ""
    return f" among the newest {len(report.checkpoints):,}"


def _late_source(report: JobReport, facts: CheckpointFacts) -> str:
    """Name the source that handled the trigger last, if that was most of the checkpoint.

    Barriers begin at the sources, so that all others wait for it.
    """
    if report.edges is None or not facts.duration:
        return ""
    fed = {target for _, target in report.edges}
    delays = [
        (subtask.start_delay, f"{vertex.name}[{subtask.index}]")
        for vertex in facts.vertices
        if vertex.name not in fed
        for subtask in vertex.subtasks
        if subtask.start_delay is not None
    ]
    delay, name = max(delays, default=(0, ""))
    if delay < facts.duration * _MOST_OF_IT:
        return ""
    return f" {name} handled the coordinator's trigger only after {span(delay)}."


def _listed(report: JobReport, failed: list[CheckpointFacts]) -> str:
    """Return how many checkpoints failed, by Flink's list and by its count if that has more."""
    total = (report.counts or {}).get("failed", 0)
    if report.is_of_log:
        return f"The log has {len(failed):,} checkpoints that failed{_among(report)}"
    if total > len(failed):
        return f"Flink lists {len(failed):,} of the {total:,} checkpoints that failed"
    return f"{len(failed):,} checkpoints failed"


def _failed(report: JobReport) -> list[CheckpointFacts]:
    return [facts for facts in report.checkpoints if facts.status == FAILED]


def _has_subtasks(checkpoints: Iterable[CheckpointFacts]) -> bool:
    return all(any(facts.all_subtasks()) for facts in checkpoints)


def _linked(job: FlinkJob, checkpoints: list[CheckpointFacts]) -> tuple[Evidence, ...]:
    """Return links to the newest of the checkpoints, and to all of them if there are more."""
    links = [link for facts in checkpoints[::-1] for link in job.times_of(facts.number)]
    if len(checkpoints) > _MOST_LINKED or not links:
        return (*links[:_MOST_LINKED], job.times())
    return tuple(links)

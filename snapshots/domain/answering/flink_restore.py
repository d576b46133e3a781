"""Says from where a job of Flink's can be restored, and whether its checkpoints are whole."""

from collections.abc import Iterator, Sequence

from snapshots.domain.answering import restore_points
from snapshots.domain.answering.flink_job import FlinkJob
from snapshots.domain.answering.job_report import OFF, JobReport, JobRestore
from snapshots.domain.answering.sentences import NOT_KNOWN, WATCH, WELL, WRONG, Sentence
from snapshots.domain.answering.upload_summary import Point
from snapshots.domain.answering.wording import named, to_checkpoint
from snapshots.domain.inventory.model import COMPLETED, UNKNOWN
from snapshots.domain.inventory.restore_check import NOT_KNOWN as UNKNOWN_ANSWER
from snapshots.domain.inventory.restore_check import NOT_RESTORABLE, RESTORABLE
from snapshots.domain.model.defects import times

NOT_ADDRESSABLE = "<checkpoint-not-externally-addressable>"
"""Flink's word for the path of a checkpoint in the memory of its JobManager."""

_UNLISTED = "Whether there is a point to restore from is not known"


def wholeness(job: FlinkJob) -> Iterator[tuple[str, str]]:
    """Yield levels and clauses on whether all files are there of the checkpoints in the upload.

    The answers are those of the restore check. Failed checkpoints need no files, and neither do
    those that Flink removed.
    """
    removed = job.report.removed if job.report is not None else ()
    checked = [
        point
        for point in job.points
        if point.item.path is not None
        and point.completeness is not None
        and point.item.status in (COMPLETED, UNKNOWN)
        and point.item.id not in removed
    ]
    whole = [point for point in checked if _answer(point) == RESTORABLE]
    broken = [point for point in checked if _answer(point) == NOT_RESTORABLE]
    unknown = [point for point in checked if _answer(point) not in (RESTORABLE, NOT_RESTORABLE)]
    if broken:
        completed = [point for point in broken if point.item.status == COMPLETED]
        last = (completed or broken)[-1]
        more = f" ({times(len(broken) - 1, 'other')} neither)" if len(broken) > 1 else ""
        level = WRONG if completed or not whole else WATCH
        yield level, f"{_called(last, checked)} cannot be restored{more}: {_gap(last)}"
    told = [
        (point, said)
        for point in unknown
        if point.completeness is not None and (said := point.completeness.as_listed)
    ]
    if told:
        last, said = told[-1]
        yield NOT_KNOWN, f"{_called(last, checked)}: {said[:1].lower()}{said[1:]}".rstrip(".")
    unknown = [point for point in unknown if not told or point is not told[-1][0]]
    if unknown:
        more = f" and {times(len(unknown) - 1, 'other')}" if len(unknown) > 1 else ""
        name = _called(unknown[-1], checked)
        yield NOT_KNOWN, f"whether all files of {name}{more} are there is not known"
    if checked and not broken and not unknown and not told:
        yield WELL, _all_whole(checked)


def _called(point: Point, others: Sequence[Point]) -> str:
    """Name a checkpoint, with its folder where another one has its number or it has none."""
    same = [other for other in others if other.item.id == point.item.id]
    if point.item.id and len(same) == 1:
        return named(point)
    return f"the {point.item.kind} in {point.item.path or 'the root'}"


def _all_whole(checked: Sequence[Point]) -> str:
    if len(checked) == 1:
        return f"all files of {named(checked[0])} are there"
    return f"all files of the {times(len(checked), 'checkpoint')} in the upload are there"


def _answer(point: Point) -> str:
    return point.completeness.answer if point.completeness is not None else ""


def _gap(point: Point) -> str:
    if missing := point.item.missing:
        verb = "is" if missing == 1 else "are"
        return f"{times(missing, 'file')} that it needs {verb} not there as a whole"
    gap = point.completeness.gap() if point.completeness is not None else None
    return (gap or "something that it needs is not there").rstrip(".")


def restorable(job: FlinkJob) -> Sentence:
    """Name the newest point from which the job can be restored, and what is known of its files."""
    report = job.report
    is_none = not any(point.item.status == COMPLETED for point in job.points)
    has_folders = any(point.item.path is not None for point in job.points)
    if is_none and has_folders and (report is None or report.restore is None):
        return _remains(job)
    if report is not None and is_none:
        return _without_completed(job, report)
    found = restore_points.restorable(job.points, job.detail, is_one_job=bool(job.key))
    if report is None or has_folders:
        return found
    return _only_reported(job, report, found)


def _remains(job: FlinkJob) -> Sentence:
    """Say that the upload has only folders without a `_metadata`, or damaged ones."""
    last = [point for point in job.points if point.item.path is not None][-1]
    problem = last.item.problem or ""
    open_ = [point for point in job.points if _answer(point) == UNKNOWN_ANSWER]
    if open_:
        last = open_[-1]
        text = f"Whether {named(last)} can be restored is not known. {_check_of(last)}"
        return Sentence("restorable", text, NOT_KNOWN, (to_checkpoint(last),))
    text = f"No checkpoint in the upload can be restored. {problem}".rstrip()
    return Sentence("restorable", text, WRONG, (to_checkpoint(last),))


def _without_completed(job: FlinkJob, report: JobReport) -> Sentence:
    if report.restore is not None:
        text = f"No checkpoint of this job completed since it was restored{_unlisted(report)}. "
        text += f"The point to restore from is still {_from(report.restore)}"
        origin = job.restored()
        if origin is None or origin.item.path is None:
            text += " Its files are not in the upload, so that nobody can tell if all are there."
            return Sentence("restorable", text, NOT_KNOWN, (job.times(),))
        level = WELL if _answer(origin) == RESTORABLE else WATCH
        text += " All its files are in the upload." if level == WELL else f" {_check_of(origin)}"
        return Sentence("restorable", text, level, (to_checkpoint(origin),))
    if report.no_checkpoints is not None:
        why = (
            "checkpointing is not enabled"
            if report.no_checkpoints == OFF
            else "no checkpoint completed, and the job triggers none by itself"
        )
        text = f"There is no point to restore from: {why}."
        return Sentence("restorable", text, WATCH, (job.times(),))
    if not report.lists_checkpoints:
        text = f"{_UNLISTED}: the upload has no list of its checkpoints."
        return Sentence("restorable", text, NOT_KNOWN, upload=(job.command("/checkpoints"),))
    if completed := (report.counts or {}).get("completed", 0):
        text = (
            f"{_UNLISTED}: Flink counts {times(completed, 'completed checkpoint')} and lists none."
        )
        return Sentence("restorable", text, NOT_KNOWN, (job.times(),))
    if report.is_of_log:
        text = f"{_UNLISTED}: the log has no checkpoint that completed."
        return Sentence("restorable", text, NOT_KNOWN, (job.times(),))
    text = "There is no point to restore from: no checkpoint completed."
    level = WATCH if report.state == "finished" else WRONG
    return Sentence("restorable", text, level, (job.times(),))


def _unlisted(report: JobReport) -> str:
    completed = (report.counts or {}).get("completed", 0)
    return f", as far as Flink lists them (it counts {completed:,} completed)" if completed else ""


def _from(restore: JobRestore) -> str:
    kind = "savepoint" if restore.is_savepoint else "checkpoint"
    path = f", {restore.path}" if restore.path else ""
    number = f" {restore.number}" if restore.number else ""
    return f"{kind}{number}{path}."


def _check_of(point: Point) -> str:
    gap = point.completeness.gap() if point.completeness is not None else None
    return gap or "Whether all its files are there is not known."


def _only_reported(job: FlinkJob, report: JobReport, found: Sentence) -> Sentence:
    """Say what Flink says of the newest point that it still has, where no file is in the upload."""
    completed = [facts for facts in report.checkpoints if facts.status == COMPLETED]
    if not completed:
        return found
    kept = [facts for facts in completed if facts.number not in report.removed]
    if not kept:
        text = (
            "Flink says that it has removed the files of all completed checkpoints that it lists. "
            "There is no point to restore from among them."
        )
        level = WATCH if report.state == "finished" else WRONG
        return Sentence("restorable", text, level, found.evidence)
    stored = [facts for facts in kept if facts.path != NOT_ADDRESSABLE]
    if not stored:
        text = (
            f"Flink stored checkpoint {kept[-1].number} where no later run can read it: it "
            "gives the path as not externally addressable, as without a checkpoint directory. "
            "The job itself goes on from it after a failure, and no other run can."
        )
        return Sentence("restorable", text, WATCH, found.evidence)
    last = stored[-1]
    kind = "savepoint" if "savepoint" in last.kind else "checkpoint"
    where = f", at {last.path}" if last.path else ""
    who = "Flink lists" if report.lists_checkpoints else "Flink tells of"
    who = "the log has" if report.is_of_log else who
    text = (
        f"The newest point that {who} is "
        f"{kind} {last.number}{where}. Its files are not in the upload, so that nobody can tell "
        "whether all are there."
    )
    evidence = tuple(to_checkpoint(point) for point in job.points if point.item.id == last.number)
    return Sentence("restorable", text, NOT_KNOWN, evidence)

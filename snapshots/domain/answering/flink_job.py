"""A job of Flink's as the first answer looks at it: its report, its checkpoints, its commands."""

from dataclasses import dataclass

from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.answering.sentences import ALL_TIMES, CONTENTS, TIMES, Evidence
from snapshots.domain.answering.upload_summary import Detail, Point

_FILES = {
    "": "job.json",
    "/checkpoints": "checkpoints.json",
    "/exceptions": "exceptions.json",
    "/vertices/VERTEX/backpressure": "vertex-VERTEX-backpressure.json",
    "/checkpoints/details/N/subtasks/VERTEX": "checkpoint-N-subtasks-VERTEX.json",
}


@dataclass(frozen=True, slots=True)
class FlinkJob:
    """What the answer looks at.

    Attributes:
        key: Flink's id of the job; empty if it is not known.
        points: the job's checkpoints in the upload, by number.
        report: what Flink said of the job; None if the upload has no answer about it.
        is_of_older_release: whether an older release read the upload and kept no reports.
        timed: the names of the snapshots for which there is a page of times.
        everything: the checkpoints of all jobs of the upload.
    """

    key: str
    name: str | None
    points: tuple[Point, ...]
    report: JobReport | None
    is_of_older_release: bool
    detail: Detail
    timed: frozenset[str]
    everything: tuple[Point, ...] = ()

    @property
    def has_times(self) -> bool:
        """Tell whether there is a page that shows where the time of its checkpoints went."""
        return any(point.item.snapshot_name in self.timed for point in self.points)

    def times(self) -> Evidence:
        """Return the link to all checkpoints: with their times if these are known."""
        if self.has_times:
            return Evidence(ALL_TIMES, "All checkpoints")
        return Evidence(CONTENTS, "All checkpoints")

    def times_of(self, number: int) -> tuple[Evidence, ...]:
        """Return the link to the times of the checkpoint with Flink's number; none without them."""
        for point in self.points:
            if point.item.id == number and point.item.snapshot_name in self.timed:
                name = point.item.snapshot_name
                return (Evidence(TIMES, f"Times of {number}", point.number, name),)
        return ()

    def restored(self) -> Point | None:
        """Return the checkpoint from which the job was last restored, if the upload has it."""
        restore = self.report.restore if self.report is not None else None
        if restore is None:
            return None
        folder = (restore.path or "").rstrip("/").rpartition("/")[2]
        own = {point.number for point in self.points}
        for point in self.everything:
            if point.item.id == restore.number and (
                point.number in own or (folder and (point.item.path or "").endswith(folder))
            ):
                return point
        return None

    def command(self, path: str) -> str:
        """Return the command that gets one of Flink's answers about the job."""
        return f"curl -s http://HOST:8081/jobs/{self.key or 'ID'}{path} > {_FILES[path]}"

"""The checkpoints job: what the log of a dataflow tells of its checkpoints and failures.

One Spark action: ranges of checkpoints (``kernels``) and of vertices (``failover_kernels``). What
comes back is joined here into the reports of the reference, which is
``snapshots.domain.dataflow_logs.checkpoints`` and ``failovers``, and written beside the recording.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from snapshots.domain.dataflow_logs.checkpoints.files import (
    Decision,
    FileReport,
    decisions_of,
    files_of,
)
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport
from snapshots.domain.dataflow_logs.checkpoints.tasks import CheckpointEvents
from snapshots.domain.dataflow_logs.events import by_checkpoint
from snapshots.domain.dataflow_logs.failovers.facts import Answer, failovers_of
from snapshots.domain.dataflow_logs.failovers.report import Failovers
from snapshots.store.writer import write_checkpoints
from tasks.spark import session
from tasks.spark.checkpoints.failover_kernels import VertexTask, answer_vertices, loads
from tasks.spark.checkpoints.kernels import CheckpointTask, StoredEvents, Told, tell_checkpoints
from tasks.spark.ingest.schemas import ranges
from tasks.spark.stages import SparkStages, Stages

Progress = Callable[[str, int, int], None]
EXPLAINING = "explaining checkpoints"
EVENTS_PER_TASK = 200_000
RECORDS_PER_TASK = 2_000_000

Task = CheckpointTask | VertexTask


@dataclass(frozen=True)
class Explained:
    checkpoints: tuple[CheckpointReport, ...]
    files: tuple[FileReport, ...]
    decisions: tuple[Decision, ...]
    failovers: Failovers


def explain_checkpoints(
    folder: Path, progress: Progress, spark: SparkSession | None = None
) -> Explained:
    """Tell what the recording in ``folder`` holds of checkpoints, and write it into it.

    spark: this process's session where none is given. progress: called with the phase, how many
    events are done, and of how many; may raise to cancel. A recording whose header holds no
    dataflow is left as it is. Raises: StoreMissing, StoreDamaged, SparkUnavailable,
    SparkTaskFailed, what ``progress`` raises.
    """
    explain = Explain(Path(folder))
    if not explain.is_dataflow:
        return Explained((), (), (), Failovers((), (), ()))
    found = explain.run(SparkStages(spark or session.get()), progress)
    write_checkpoints(
        Path(folder), found.checkpoints, found.files, found.decisions, found.failovers
    )
    return found


def explain_part(tasks: tuple[Task, ...]) -> list[Told | Answer]:
    """The kernel: what each of the tasks finds."""
    found: list[Told | Answer] = []
    for task in tasks:
        is_checkpoints = isinstance(task, CheckpointTask)
        found += tell_checkpoints(task) if is_checkpoints else answer_vertices(task)
    return found


class Explain:
    """One run of the job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored = StoredEvents(folder)
        self.is_dataflow = "dataflow" in self.stored.manifest.header_extra

    def run(self, stages: Stages, progress: Progress) -> Explained:
        self.events = self.stored.run()
        tasks, weights = self._tasks()
        goal = sum(weights)
        progress(EXPLAINING, 0, goal)
        groups = stages.run(
            explain_part,
            tasks,
            weights=weights,
            advance=lambda done: progress(EXPLAINING, done, goal),
        )
        found = [item for group in groups for item in group]
        told = sorted((item for item in found if isinstance(item, Told)), key=lambda t: t.step)
        return Explained(
            checkpoints=tuple(item.report for item in told),
            files=files_of(one for item in told for one in item.files),
            decisions=decisions_of(self.events.events),
            failovers=self._failovers([item for item in found if isinstance(item, Answer)]),
        )

    def _tasks(self) -> tuple[list[tuple[Task, ...]], list[int]]:
        """Groups of tasks, and how many events each looks at. What fits one task is done in one."""
        folder = str(self.folder)
        events, records = self.stored.loads().tolist(), loads(self.stored, self.events)
        found: list[tuple[Task, int]] = [
            (make(folder, first, end), sum(counts[first:end]))
            for make, counts, most in (
                (CheckpointTask, events, EVENTS_PER_TASK),
                (VertexTask, records, RECORDS_PER_TASK),
            )
            for first, end in ranges(counts, most)
        ]
        if len(found) <= 2:
            return [tuple(task for task, _ in found)], [sum(weight for _, weight in found)]
        return [(task,) for task, _ in found], [weight for _, weight in found]

    def _failovers(self, answers: list[Answer]) -> Failovers:
        """The answers stand in the order of the vertices."""
        return failovers_of(self.events, self._restored(), answers, self.stored.count)

    def _restored(self) -> dict[str, CheckpointEvents]:
        """The checkpoints that failures went back to."""
        named = {failed.snapshot for failed in self.events.failures}
        codes = [code for code, name in enumerate(self.stored.manifest.snapshots) if name in named]
        found = [event for code in codes for event in self.stored.of_checkpoints(code, code + 1)]
        return {
            name: CheckpointEvents(name, events, self.events)
            for name, events in by_checkpoint(found).items()
        }

"""Explain the checkpoints and failures that the log of a dataflow holds.

One Spark action covers ranges of checkpoints (``kernels``) and of vertices
(``failover_kernels``). Their results are joined here into the reports of the reference, which is
``snapshots.domain.dataflow_logs.checkpoints`` and ``failovers``, and written beside the recording.
"""

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
from snapshots.store.objects.paths import path_of
from snapshots.store.writer import write_checkpoints
from tasks.spark import session
from tasks.spark.capacity import Capacity
from tasks.spark.checkpoints.failover_kernels import VertexTask, answer_vertices, loads
from tasks.spark.checkpoints.kernels import (
    CheckpointTask,
    ReportedCheckpoint,
    StoredEvents,
    report_checkpoints,
)
from tasks.spark.ingest.schemas import ranges
from tasks.spark.stages import Progress, SparkStages, Stages, run_phase

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
    """Explain the checkpoints of the recording in ``folder`` and write the reports into it.

    A recording whose header describes no dataflow is left as it is.

    Args:
        progress: called with the phase, the events done and the events in all; may raise to cancel.
        spark: the session to use; this process's own if None.

    Raises: StoreMissing, StoreDamaged, SparkUnavailable, SparkTaskFailed, what ``progress`` raises.
    """
    explain = Explain(path_of(folder))
    if not explain.is_dataflow:
        return Explained((), (), (), Failovers((), (), ()))
    explained = explain.run(SparkStages(spark or session.get(), path_of(folder)), progress)
    write_checkpoints(
        path_of(folder),
        explained.checkpoints,
        explained.files,
        explained.decisions,
        explained.failovers,
    )
    return explained


def explain_part(tasks: tuple[Task, ...]) -> list[ReportedCheckpoint | Answer]:
    """Run some tasks and return their results; this is the kernel of the job."""
    results: list[ReportedCheckpoint | Answer] = []
    for task in tasks:
        if isinstance(task, CheckpointTask):
            results += report_checkpoints(task)
        else:
            results += answer_vertices(task)
    return results


class Explain:
    """One run of the job that explains checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stored = StoredEvents(folder)
        self.is_dataflow = "dataflow" in self.stored.manifest.header_extra

    def run(self, stages: Stages, progress: Progress) -> Explained:
        self.events = self.stored.run()
        tasks, weights = self._tasks(stages.capacity)
        groups = run_phase(stages, progress, EXPLAINING, explain_part, tasks, weights)
        results = [item for group in groups for item in group]
        explained = sorted(
            (item for item in results if isinstance(item, ReportedCheckpoint)), key=lambda t: t.step
        )
        return Explained(
            checkpoints=tuple(item.report for item in explained),
            files=files_of(file for item in explained for file in item.files),
            decisions=decisions_of(self.events.events),
            failovers=self._failovers([item for item in results if isinstance(item, Answer)]),
        )

    def _tasks(self, capacity: Capacity) -> tuple[list[tuple[Task, ...]], list[int]]:
        """Return groups of tasks and how many events each group reads.

        Everything goes into one group if one checkpoint task and one vertex task suffice.
        """
        folder = str(self.folder)
        events, records = self.stored.loads().tolist(), loads(self.stored, self.events)
        tasks: list[tuple[Task, int]] = [
            (make(folder, first, end), sum(counts[first:end]))
            for make, counts, most in (
                (CheckpointTask, events, EVENTS_PER_TASK),
                (VertexTask, records, RECORDS_PER_TASK),
            )
            for first, end in ranges(counts, most, capacity)
        ]
        if len(tasks) <= 2:
            return [tuple(task for task, _ in tasks)], [sum(weight for _, weight in tasks)]
        return [(task,) for task, _ in tasks], [weight for _, weight in tasks]

    def _failovers(self, answers: list[Answer]) -> Failovers:
        """Join the answers, which stand in the order of the vertices, into the failovers."""
        times = self.stored.of_event_time()
        return failovers_of(self.events, self._restored(), answers, self.stored.count, times)

    def _restored(self) -> dict[str, CheckpointEvents]:
        """Return the checkpoints that failures went back to, by name."""
        named = {failed.snapshot for failed in self.events.failures}
        codes = [code for code, name in enumerate(self.stored.manifest.snapshots) if name in named]
        all_events = [
            event for code in codes for event in self.stored.of_checkpoints(code, code + 1)
        ]
        return {
            name: CheckpointEvents(name, events, self.events)
            for name, events in by_checkpoint(all_events).items()
        }

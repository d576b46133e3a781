"""Search whether a conjunction of local conditions is possible or definite, and in which cuts.

One Spark action over ranges of processes finds where their conditions hold (``kernels``). The
resulting spans are searched here by ``snapshots.domain.conditions.predicates``, over the channels'
sorted columns. The reference does the same with a recording in memory.
"""

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from snapshots.domain.causality.causal_closure import Causality, Way
from snapshots.domain.conditions.conjunctions import Evaluate, Truth, conjunction, processes_of
from snapshots.domain.conditions.predicates import PredicateAnswer, of_derived, searched
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.topology import ProcessId
from snapshots.sandbox import evaluation
from snapshots.store.objects.paths import path_of
from snapshots.store.reader import StoredRecording
from tasks.spark import session
from tasks.spark.capacity import Capacity
from tasks.spark.ingest.schemas import ranges
from tasks.spark.judge.lanes import Lane
from tasks.spark.search.kernels import TruthTask, find_truth
from tasks.spark.stages import Progress, SparkStages, Stages, run_phase

EVALUATING = "evaluating states"
SEARCHING = "searching cuts"
ROWS_PER_TASK = 1_000_000
SECONDS = 60.0  # of evaluating, for each task
SANDBOXED = partial(evaluation.evaluate, seconds=SECONDS)


def search_predicate(
    folder: Path,
    text: str,
    progress: Progress,
    spark: SparkSession | None = None,
    work: Path | None = None,
) -> PredicateAnswer:
    """Decide whether a conjunction is possible and definite in the recording in ``folder``.

    Args:
        progress: called with the phase, the events or intervals done, and how many there are in
            all;
            may raise to cancel.
        spark: the session to use; this process's own if None.
        work: a folder in which driver and executors may write; None if they share this machine.

    Raises: ExpressionError (NotLocal and TooMuch among them), StoreMissing, StoreDamaged,
    SparkUnavailable, SparkTaskFailed, what ``progress`` raises.
    """
    search = Search(path_of(folder), text)
    return search.answer(SparkStages(spark or session.get(), work), progress)


class Search:
    """One predicate over one recording. Raises: ExpressionError."""

    def __init__(self, folder: Path, text: str, evaluate: Evaluate = SANDBOXED) -> None:
        """Parse the predicate; ``evaluate`` must be picklable."""
        self.recording = StoredRecording.open(folder)
        self.text = text
        self.evaluate = evaluate
        self.processes = [process.id for process in self.recording.topology.processes]
        self.asked = processes_of(conjunction(text, frozenset(self.processes)))

    def answer(self, stages: Stages, progress: Progress) -> PredicateAnswer:
        if is_derived(self.recording.manifest.header_extra):
            return of_derived(self.text)
        truth = self._truth(stages, progress)
        goal = sum(len(spans.surely) for spans in truth.values())
        progress(SEARCHING, 0, goal)
        return searched(
            self.text, self._causality(), truth, lambda done: progress(SEARCHING, done, goal)
        )

    def _truth(self, stages: Stages, progress: Progress) -> dict[ProcessId, Truth]:
        """Run the Spark action and return where each process's conditions hold."""
        tasks = self._tasks(stages.capacity)
        events = self.recording.tables.events.length
        weights = [int(events[task.first : task.end].sum()) for task in tasks]
        parts = run_phase(stages, progress, EVALUATING, find_truth, tasks, weights)
        truth = {process: spans for part in parts for process, spans in part.items()}
        return {process: truth[process] for process in self.asked}

    def _tasks(self, capacity: Capacity) -> list[TruthTask]:
        folder = str(self.recording.folder)
        counts = [0] * len(self.processes)
        for process in self.asked:
            code = self.recording.tables.process_code(process)
            counts[code] = int(self.recording.tables.events.length[code]) + 1
        return [
            TruthTask(folder, self.text, self.evaluate, *bounds)
            for bounds in ranges(counts, ROWS_PER_TASK, capacity)
        ]

    def _causality(self) -> Causality:
        tables = self.recording.tables
        lanes = [
            Lane(channel, tables.messages, code)
            for code, channel in enumerate(tables.topology.channels)
            if tables.messages.table.length[code]
        ]
        return Causality(
            self.processes,
            tables.events.length.tolist(),
            [
                Way(
                    int(tables.source[lane.code]),
                    int(tables.target[lane.code]),
                    lane.sent,
                    lane.received,
                )
                for lane in lanes
            ],
        )

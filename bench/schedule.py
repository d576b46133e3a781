"""How long an ingest would take on many machines: ``python -m bench.schedule [EVENTS]``.

An ingest of EVENTS (default 10^6) runs here, one task after the other, and each task is timed. A
larger ingest is then simulated: it has as many more tasks as it has more events, with times drawn
from the measured ones, and Spark's rule that the next task takes the next free core. What the
driver does between the stages is measured, too, and grows with the events.

The simulation knows no slow network or disk and no machine that fails. It assumes that processes
and channels grow with the events, because a task holds whole ones.
"""

import heapq
import pickle
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

import numpy as np

from bench.large_log import write_parts
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native_parquet import ParquetReader
from tasks.spark.capacity import PARTS_PER_CORE, Capacity
from tasks.spark.ingest.job import Ingest
from tasks.spark.ingest.sources import IngestTask
from tasks.spark.stages import StagesHere

EVENTS = 10**6
TARGETS = ((10**8, 2), (10**9, 80), (10**10, 800))  # events, and cores of eight a machine
LAUNCH = 0.004
"""Assumed seconds after which the driver starts a next task, some hundred a second."""


@dataclass
class Stage:
    """The tasks of a stage that was measured.

    Attributes:
        seconds: processor time of each task.
        results: bytes that each task sends to the driver.
        described: bytes of the description of all tasks, which every executor gets.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    described: int = 0


class Timed(StagesHere):
    """Runs tasks here and notes what each took."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity)
        self.stages: list[Stage] = []

    def run(self, kernel, tasks, **options):
        tasks = list(tasks)
        stage = Stage(kernel.__name__, described=len(pickle.dumps(tasks)))
        self.stages.append(stage)

        def timed(task):
            began = process_time()
            result = kernel(task)
            stage.seconds.append(process_time() - began)
            stage.results.append(len(pickle.dumps(result)))
            return result

        return super().run(timed, tasks, **options)


def makespan(seconds: Iterable[float], cores: int, launch: float = 0) -> float:
    """Return when the last task ends, if each takes the core that is free first.

    Args:
        seconds: of each task, in the order of their start.
        launch: seconds that pass at least between the starts of two tasks.
    """
    free = [0.0] * cores
    for number, length in enumerate(seconds):
        heapq.heapreplace(free, max(free[0], number * launch) + length)
    return max(free)


def scaled(seconds: Sequence[float], factor: float, random: np.random.Generator) -> np.ndarray:
    """Return the times of ``factor`` times as many tasks, drawn from the measured ones."""
    return random.choice(np.array(seconds), max(round(len(seconds) * factor), 1))


def main() -> None:
    events = int(float(sys.argv[1])) if sys.argv[1:] else EVENTS
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stages, driver = measured(Path(folder), events)
    print(f"{events:,} events, measured: the driver works {driver:.2f} s")
    for stage in stages:
        print(
            f"  {stage.name:16} {len(stage.seconds):5} tasks, {sum(stage.seconds):6.2f} s, results"
            f" {sum(stage.results) / 1e3:,.0f} kB, described in {stage.described / 1e3:,.0f} kB"
        )
    for more, cores in TARGETS:
        simulate(stages, driver, more / events, cores)


def measured(folder: Path, events: int) -> tuple[list[Stage], float]:
    """Ingest a log of so many events. Return its stages, and the processor time between them."""
    log, store = folder / "log", folder / "store"
    for path in (log, store):
        path.mkdir()
    write_parts(log, events)
    limits, reader = Limits(), ParquetReader()
    task = IngestTask(log, reader.name, reader.header(log, limits), store, limits)
    stages = Timed(Capacity(max(events // 10**6 // PARTS_PER_CORE, 1)))
    began = process_time()
    Ingest(task, stages, lambda phase, done, total: None).run()
    taken = process_time() - began
    return stages.stages, taken - sum(sum(stage.seconds) for stage in stages.stages)


def simulate(stages: Sequence[Stage], driver: float, factor: float, cores: int) -> float:
    """Print how long an ingest of ``factor`` times the events takes, and return the seconds."""
    random = np.random.default_rng(1)
    print(f"\n{factor:,.0f} times as many events on {cores:,} cores, simulated")
    total = driver * factor
    for stage in stages:
        tasks = scaled(stage.seconds, factor, random)
        ends = makespan(tasks, cores, LAUNCH)
        busy = tasks.sum() / (ends * cores)
        results = np.mean(stage.results) * len(tasks)
        total += ends
        print(
            f"  {stage.name:16} {len(tasks):9,} tasks, {ends:8,.0f} s, cores busy {busy:4.0%},"
            f" results {results / 1e6:10,.1f} MB"
        )
    print(f"  {'driver':16} {'':9}        {driver * factor:8,.0f} s; in all {total:,.0f} s")
    return total


if __name__ == "__main__":
    main()

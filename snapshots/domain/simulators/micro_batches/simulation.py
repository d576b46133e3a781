"""A seeded simulator of dataflows that run in micro-batches, as Spark Structured Streaming does.

The driver is the process ``coordinator``; its decisions are the step functions in
`protocols/spark_epochs.py`. A task runs when all before it have ended, and what it has made can be
read when it has ended itself. So a batch drains all channels.

The snapshot of a batch bears its number. The driver records its part when it plans. All tasks
record theirs at the commit, between this batch and the next. So a batch that is planned and not
committed is an incomplete snapshot, and a second attempt at it completes the same one.
docs/formats/dataflow-events.md describes the events.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.bounds import (
    NotNegative,
    Positive,
    check_one_of,
    check_whole_numbers,
)
from snapshots.domain.simulators.dataflows.functions import start_states
from snapshots.domain.simulators.dataflows.parameters import (
    MOST_EVENTS,
    FailAt,
    check_failures,
    check_no_windows,
    check_slow,
)
from snapshots.domain.simulators.dataflows.results import DataflowRun, header_of, run_to_end
from snapshots.domain.simulators.micro_batches.driver import DRIVER
from snapshots.domain.simulators.micro_batches.failover import QUERY, SPARK_FAILOVERS
from snapshots.domain.simulators.micro_batches.run import SparkRun
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings


@dataclass(frozen=True)
class SparkSimulation:
    """What to simulate; times are in us.

    control_delay: the time of a message between driver and task.
    commit_time: the time to write a commit.
    slow: how many times longer than others a task takes for a record.
    failures: of a task, or of the driver (``coordinator``).
    failover: TASK runs a failed task again, and nothing happens if it does not run. QUERY starts
        the query again, as a failure of the driver always does.
    retry_delay: the time until a task runs again.
    restart_delay: the time until the query does.
    most_restarts, most_events: with more of them the run ends unfinished.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    dataflow: Dataflow
    batches: BatchSettings = field(default_factory=BatchSettings)
    seed: int = 1
    control_delay: NotNegative = 200
    commit_time: NotNegative = 1_000
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    failover: str = QUERY
    retry_delay: NotNegative = 1_000
    restart_delay: NotNegative = 10_000
    most_restarts: NotNegative = 20
    most_events: Positive = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        check_one_of("failover", self.failover, SPARK_FAILOVERS)
        check_failures(self.failures, {*self.dataflow.subtask_by_id, DRIVER}, "process")
        check_slow(self.slow, self.dataflow)
        check_no_windows(self.dataflow, "Spark")

    def topology(self) -> Topology:
        """Return the processes and channels of the query."""
        return self.dataflow.expand(one_coordinator=True)

    def header(self, name: str) -> Header:
        """Return what stands before the events."""
        states = start_states(self.dataflow)
        return header_of(name, "spark", self.dataflow, self.topology(), states)


def simulate_spark(
    simulation: SparkSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time.

    Args:
        steps: the step functions of the driver, in place of Spark's own.
    """
    return SparkRun(simulation, simulation.topology(), steps).events()


def run_spark(
    simulation: SparkSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """Return the whole log of one run, and what was counted in it.

    Args:
        name: of the recording.
        steps: the step functions of the driver, in place of Spark's own.
    """
    run = SparkRun(simulation, simulation.topology(), steps)
    return run_to_end(run, simulation.header(name))

"""A seeded simulator of queries in Spark's continuous mode.

The tasks run as long as the query does. The driver is the process ``coordinator``; its decisions
are the step functions in `protocols/continuous_driver.py`. It counts epochs up. A reader asks for
the number, and ends its epoch with a marker between two records, which every task passes on.

The snapshot of an epoch bears its number and lies at its markers: nothing is on the way. The sink
takes an epoch over before its commit is written. A restart goes on behind the newest committed
epoch. What it reads again comes in epochs with other borders, so that no number tells a sink what
it has: each record is delivered at least once. docs/formats/dataflow-events.md describes the
events.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.bounds import NotNegative, Positive, check_whole_numbers
from snapshots.domain.simulators.continuous.driver import DRIVER
from snapshots.domain.simulators.continuous.run import ContinuousRun
from snapshots.domain.simulators.continuous.tasks import check_query
from snapshots.domain.simulators.dataflows.functions import start_states
from snapshots.domain.simulators.dataflows.parameters import (
    MOST_EVENTS,
    FailAt,
    check_failures,
    check_slow,
)
from snapshots.domain.simulators.dataflows.results import DataflowRun, header_of, run_to_end
from snapshots.domain.simulators.protocols.continuous_driver import EpochSettings


@dataclass(frozen=True)
class ContinuousSimulation:
    """What to simulate; times are in us.

    Attributes:
        dataflow: one chain from one source to one sink, whose operators keep no state.
        epochs: when epochs end.
        seed: the same seed gives the same run.
        buffer: how many records each end of a channel holds.
        mean_delay: the mean time of a record on a channel.
        control_delay: the time of a message between driver and task.
        commit_time: the time to write a commit.
        slow: how many times longer than others a task takes for a record.
        failures: of a task, or of the driver (``coordinator``); either restarts the query.
        restart_delay: the time until the query runs again.
        most_restarts: with more of them the run ends unfinished.
        most_events: with more of them the run ends unfinished.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    dataflow: Dataflow
    epochs: EpochSettings = field(default_factory=EpochSettings)
    seed: int = 1
    buffer: Positive = 8
    mean_delay: NotNegative = 300
    control_delay: NotNegative = 200
    commit_time: NotNegative = 1_000
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    restart_delay: NotNegative = 10_000
    most_restarts: NotNegative = 20
    most_events: Positive = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        check_query(self.dataflow)
        check_failures(self.failures, {*self.dataflow.subtask_by_id, DRIVER}, "process")
        check_slow(self.slow, self.dataflow)

    def topology(self) -> Topology:
        """Return the processes and channels of the query."""
        return self.dataflow.expand(one_coordinator=True)

    def header(self, name: str) -> Header:
        """Return what stands before the events."""
        states = start_states(self.dataflow)
        return header_of(name, "spark", self.dataflow, self.topology(), states)


def simulate_continuous(simulation: ContinuousSimulation) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time.

    Args:
        simulation: what to simulate.
    """
    return ContinuousRun(simulation, simulation.topology()).events()


def run_continuous(simulation: ContinuousSimulation, name: str = "a dataflow") -> DataflowRun:
    """Return the whole log of one run, and what was counted in it.

    Args:
        simulation: what to simulate.
        name: the name of the recording.
    """
    run = ContinuousRun(simulation, simulation.topology())
    return run_to_end(run, simulation.header(name))

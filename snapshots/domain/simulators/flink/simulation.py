"""A seeded simulator of dataflows under Flink's checkpoint protocol.

docs/formats/dataflow-events.md describes the events of the log. What the simulator counts beside it
is the truth for those who compute the same from the log.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
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
    check_slow,
)
from snapshots.domain.simulators.dataflows.results import DataflowRun, header_of, run_to_end
from snapshots.domain.simulators.flink.event_time import EventTimeSettings, check_windows
from snapshots.domain.simulators.flink.failover import FAILOVERS, FULL
from snapshots.domain.simulators.flink.run import FlinkRun
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, UNALIGNED


@dataclass(frozen=True)
class DataflowSimulation:
    """What to simulate; times are in us.

    buffer: how many records each end of a channel holds.
    mean_delay: the mean time on the wire.
    control_delay: the time of a message between the coordinator and a task.
    sync_time, async_time: the time to copy a state, and to upload it.
    slow: how many times longer than others a task takes for a record.
    failover: which tasks a failure restarts; one of ``FAILOVERS``.
    restart_delay: the time from a failure to the restart.
    lost_notices: checkpoints whose notice of completion is lost.
    declines: pairs (checkpoint, task) of which the task does not take part.
    event_time: watermarks and windows.
    tx_timeout: the time after which a transaction that was not committed is gone.
    most_restarts, most_events: with more of them the run ends unfinished.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    dataflow: Dataflow
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    seed: int = 1
    buffer: Positive = 8
    mean_delay: NotNegative = 300
    control_delay: NotNegative = 200
    sync_time: NotNegative = 200
    async_time: NotNegative = 2_000
    incremental: bool = True
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    failover: str = FULL
    restart_delay: NotNegative = 10_000
    lost_notices: frozenset[int] = frozenset()
    declines: frozenset[tuple[int, str]] = frozenset()
    event_time: EventTimeSettings = field(default_factory=EventTimeSettings)
    tx_timeout: int | None = None
    most_restarts: NotNegative = 20
    most_events: Positive = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        check_one_of("failover", self.failover, FAILOVERS)
        check_failures(self.failures, self.dataflow.subtask_by_id, "subtask")
        check_slow(self.slow, self.dataflow)
        check_windows(self.dataflow, self.event_time)

    def topology(self) -> Topology:
        """Return the processes and channels of the job."""
        overtaking = self.checkpoints.mode in (UNALIGNED, TIMEOUT)
        return self.dataflow.expand(one_coordinator=True, overtaking=overtaking)

    def header(self, name: str) -> Header:
        """Return what stands before the events."""
        states = start_states(self.dataflow)
        header = header_of(name, "flink", self.dataflow, self.topology(), states)
        if self.event_time.interval is None:
            return header
        return replace(header, extra={**header.extra, "watermarks": True})


def simulate_dataflow(
    simulation: DataflowSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time.

    Args:
        steps: the step functions of the tasks, in place of Flink's own.
    """
    return FlinkRun(simulation, simulation.topology(), steps).events()


def run_dataflow(
    simulation: DataflowSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """Return the whole log of one run, and what was counted in it.

    Args:
        name: of the recording.
        steps: the step functions of the tasks, in place of Flink's own.
    """
    run = FlinkRun(simulation, simulation.topology(), steps)
    return run_to_end(run, simulation.header(name))

"""A seeded simulator of dataflows under Flink's checkpoint protocol.

docs/formats/dataflow-events.md describes the events of the log. What the simulator counts beside it
is the truth for those who compute the same from the log.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
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
    former_dataflow,
)
from snapshots.domain.simulators.dataflows.results import DataflowRun, header_of, run_to_end
from snapshots.domain.simulators.flink.event_time import EventTimeSettings, check_windows
from snapshots.domain.simulators.flink.failover import FAILOVERS, FULL
from snapshots.domain.simulators.flink.run import Earlier, FlinkRun
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import TIMEOUT, UNALIGNED

SAVED, FAILED = ENDINGS = ("savepoint", "failure")


@dataclass(frozen=True, slots=True)
class StartFrom:
    """The end of an earlier run of the same job, from whose checkpoint this one starts.

    Attributes:
        at: when the earlier run failed, or when its savepoint was requested, in us of that run.
        parallelism: the vertices that had another parallelism in that run.
        ending: SAVED is a savepoint, after which the job is cancelled. FAILED is a failure, after
            which the newest completed checkpoint is taken.
    """

    at: NotNegative
    parallelism: Mapping[str, int] = field(default_factory=dict)
    ending: str = SAVED


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
    start_from: None starts from the beginning.
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
    start_from: StartFrom | None = None
    tx_timeout: int | None = None
    most_restarts: NotNegative = 20
    most_events: Positive = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        check_one_of("failover", self.failover, FAILOVERS)
        check_failures(self.failures, self.dataflow.subtask_by_id, "subtask")
        check_slow(self.slow, self.dataflow)
        check_windows(self.dataflow, self.event_time)
        if self.start_from is not None:
            check_one_of("start_from.ending", self.start_from.ending, ENDINGS)
            self.dataflow_before()

    def dataflow_before(self) -> Dataflow:
        """Return the dataflow of the earlier run. Raises: DataflowRefused, with the field."""
        assert self.start_from is not None  # else there is no earlier run
        check_whole_numbers(self.start_from, "start_from")
        return former_dataflow(self.dataflow, self.start_from.parallelism)

    def before(self) -> "DataflowSimulation":
        """Return the earlier run, from whose checkpoint this one starts."""
        assert self.start_from is not None  # else there is no earlier run
        dataflow, start = self.dataflow_before(), self.start_from
        savepoints = (start.at,) if start.ending == SAVED else ()
        return replace(
            self,
            dataflow=dataflow,
            checkpoints=replace(self.checkpoints, savepoints=savepoints),
            slow={task: by for task, by in self.slow.items() if task in dataflow.subtask_by_id},
            failures=(),
            declines=frozenset(),
            lost_notices=frozenset(),
            start_from=None,
        )

    def topology(self) -> Topology:
        """Return the processes and channels of the job."""
        overtaking = self.checkpoints.mode in (UNALIGNED, TIMEOUT)
        return self.dataflow.expand(one_coordinator=True, overtaking=overtaking)

    def header(self, name: str) -> Header:
        """Return what stands before the events."""
        states = start_states(self.dataflow)
        header = header_of(name, "flink", self.dataflow, self.topology(), states)
        extra = dict(header.extra)
        if self.event_time.interval is not None:
            extra["watermarks"] = True
        if self.start_from is not None:
            before = self.dataflow_before().vertices
            extra["started_from"] = {
                "ending": self.start_from.ending,
                "parallelism": {vertex.id: vertex.parallelism for vertex in before},
            }
        return replace(header, extra=extra)


def simulate_dataflow(
    simulation: DataflowSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time.

    Args:
        steps: the step functions of the tasks, in place of Flink's own.
    """
    return _new_run(simulation, steps).events()


def run_dataflow(
    simulation: DataflowSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """Return the whole log of one run, and what was counted in it.

    Args:
        name: of the recording.
        steps: the step functions of the tasks, in place of Flink's own.
    """
    return run_to_end(_new_run(simulation, steps), simulation.header(name))


def _new_run(simulation: DataflowSimulation, steps: ModuleType | None) -> FlinkRun:
    earlier = None if simulation.start_from is None else _earlier(simulation, steps)
    return FlinkRun(simulation, simulation.topology(), steps, earlier)


def _earlier(simulation: DataflowSimulation, steps: ModuleType | None) -> Earlier:
    """Run the earlier job up to its end. Raises: DataflowRefused if it left no checkpoint."""
    start = simulation.start_from
    assert start is not None  # the caller has looked
    run = _new_run(simulation.before(), steps)
    cid = run.run_to_failure(start.at) if start.ending == FAILED else run.run_to_savepoint()
    if cid is None:
        raise DataflowRefused(
            "start_from.at", "The earlier run had no completed checkpoint to start from then."
        )
    return Earlier(run, cid)

"""A seeded simulator of dataflows under SeaTunnel's checkpoint protocol.

Each pipeline has its own coordinator and its own sequence of checkpoints, and fails by itself. The
decisions are the step functions in `protocols/seatunnel.py` and `seatunnel_task.py`. Each vertex is
a process of its own here, even where the engine fuses several into one task.
docs/formats/dataflow-events.md describes the events.
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
from snapshots.domain.simulators.dataflows.parameters import (
    MOST_EVENTS,
    FailAt,
    check_failures,
    check_no_windows,
    check_slow,
    former_dataflow,
)
from snapshots.domain.simulators.dataflows.results import DataflowRun, header_of, run_to_end
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel import topology
from snapshots.domain.simulators.seatunnel.regions import (
    ON_UNREPEATABLE,
    PIPELINE,
    REGION,
    RESTART,
    SEATUNNEL_FAILOVERS,
    check_unrepeatable,
)
from snapshots.domain.simulators.seatunnel.run import SeaTunnelRun
from snapshots.domain.simulators.seatunnel.schema_changes import (
    SchemaChange,
    check_schema_changes,
)
from snapshots.domain.simulators.seatunnel.tasks import start_states


@dataclass(frozen=True, slots=True)
class StartFrom:
    """The savepoint of an earlier run of the same job, requested at ``at`` (us) of that run.

    What had ended by then goes on from its end. ``parallelism`` lists the vertices that had another
    parallelism in that run.
    """

    at: NotNegative
    parallelism: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SeaTunnelSimulation:
    """What to simulate; times are in us.

    buffer: how many records each end of a channel holds.
    mean_delay: the mean time on the wire.
    control_delay: the time of a message between the coordinator and a task.
    sync_time: the time to copy a state.
    store_time: the time to write a checkpoint.
    assign_every: the time between two splits that an enumerator hands out.
    slow: how many times longer than others a task takes for a record.
    failures: of any process but coordinators.
    failover: which tasks a failure restarts; one of ``SEATUNNEL_FAILOVERS``.
    unrepeatable: the sources that cannot give the same records again, in the same order.
    on_unrepeatable: what a regional failure does if such a source restarts; one of
        ``ON_UNREPEATABLE``.
    restart_delay: the time from a failure to the restart.
    savepoint: the time at which the job is to end with one.
    start_from: None starts from the beginning.
    tx_timeout: the time after which a transaction that was not committed is gone.
    writer_commits: the two-phase sinks without a committer. Each of their writers commits by
        itself, and what it has still to commit is in no checkpoint.
    schema_changes: where the columns of a table change, in one split of a pipeline at most.
    most_events: with more of them the run ends unfinished.

    Raises: DataflowRefused, with the field, if a value is not possible.
    """

    dataflow: Dataflow
    checkpoints: PipelineSettings = field(default_factory=PipelineSettings)
    seed: int = 1
    buffer: Positive = 8
    mean_delay: NotNegative = 300
    control_delay: NotNegative = 200
    sync_time: NotNegative = 200
    store_time: NotNegative = 1_000
    assign_every: NotNegative = 2_000
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    failover: str = PIPELINE
    unrepeatable: tuple[str, ...] = ()
    on_unrepeatable: str = RESTART
    restart_delay: NotNegative = 10_000
    savepoint: NotNegative | None = None
    start_from: StartFrom | None = None
    tx_timeout: NotNegative | None = None
    writer_commits: tuple[str, ...] = ()
    schema_changes: tuple[SchemaChange, ...] = ()
    most_events: Positive = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self)
        self._check_writer_commits()
        processes = self.topology().process_by_id.keys() - set(self.dataflow.coordinators())
        check_failures(self.failures, processes, "process")
        check_slow(self.slow, self.dataflow)
        check_no_windows(self.dataflow, "SeaTunnel")
        self._check_failover()
        written = self.dataflow if self.start_from is None else self.dataflow_before()
        check_schema_changes(self.schema_changes, written)

    def _check_failover(self) -> None:
        check_one_of("failover", self.failover, SEATUNNEL_FAILOVERS)
        check_one_of("on_unrepeatable", self.on_unrepeatable, ON_UNREPEATABLE)
        check_unrepeatable(self.unrepeatable, self.dataflow)
        if self.failover == REGION and self.schema_changes:
            raise DataflowRefused(
                "failover",
                "A change of the schema is followed by the whole pipeline, so that a part of it "
                "cannot go back alone. Restart the pipeline, or change no schema.",
            )

    def _check_writer_commits(self) -> None:
        for index, name in enumerate(self.writer_commits):
            vertex = self.dataflow.vertex_by_id.get(name)
            if vertex is None or not topology.is_two_phase(vertex):
                raise DataflowRefused(
                    f"writer_commits[{index}]", f"There is no two-phase sink {name!r}."
                )

    def topology(self) -> Topology:
        """Return the processes and channels of the job."""
        return topology.expand(self.dataflow, self.writer_commits)

    def header(self, name: str) -> Header:
        """Return what stands before the events."""
        states = start_states(self.dataflow, self.writer_commits)
        return header_of(name, "seatunnel", self.dataflow, self.topology(), states)

    def before(self) -> "SeaTunnelSimulation":
        """Return the earlier run, which ends with the savepoint that this one starts from."""
        assert self.start_from is not None  # else there is no earlier run
        dataflow = self.dataflow_before()
        slow = {
            task: factor for task, factor in self.slow.items() if task in dataflow.subtask_by_id
        }
        return replace(
            self,
            dataflow=dataflow,
            savepoint=self.start_from.at,
            slow=slow,
            failures=(),
            start_from=None,
        )

    def dataflow_before(self) -> Dataflow:
        """Return the dataflow of the earlier run.

        Raises: DataflowRefused, with the field, if its parallelism is not possible.
        """
        assert self.start_from is not None  # else there is no earlier run
        check_whole_numbers(self.start_from, "start_from")
        return former_dataflow(self.dataflow, self.start_from.parallelism)


def simulate_seatunnel(
    simulation: SeaTunnelSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """Yield the events of one run in the order of time.

    Args:
        steps: the step functions of the tasks, in place of SeaTunnel's own.

    Raises: DataflowRefused, with the field, if the earlier run came to no savepoint.
    """
    return _new_run(simulation, steps).events()


def run_seatunnel(
    simulation: SeaTunnelSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """Return the whole log of one run, and what was counted in it.

    Args:
        name: of the recording.
        steps: the step functions of the tasks, in place of SeaTunnel's own.

    Raises: DataflowRefused, with the field, if the earlier run came to no savepoint.
    """
    return run_to_end(_new_run(simulation, steps), simulation.header(name))


def _new_run(simulation: SeaTunnelSimulation, steps: ModuleType | None) -> SeaTunnelRun:
    before = None
    if simulation.start_from is not None:
        before = _new_run(simulation.before(), None)
        for _ in before.events():
            pass
        if not before.has_ended:
            raise DataflowRefused("start_from.at", "The run before came to no savepoint then.")
    return SeaTunnelRun(simulation, simulation.topology(), before, steps)

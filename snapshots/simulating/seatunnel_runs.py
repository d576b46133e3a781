"""Runs of a dataflow under SeaTunnel's checkpoint protocol: parameters, and the run with them."""

from typing import Annotated, ClassVar, Literal

from snapshots.domain.dataflow_logs.dataflow import LARGEST, MOST_SUBTASKS, Dataflow
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel.regions import (
    GO_ON,
    PIPELINE,
    REGION,
    RESTART,
    SEATUNNEL_FAILOVERS,
)
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChange
from snapshots.domain.simulators.seatunnel.simulation import (
    SeaTunnelSimulation,
    StartFrom,
    simulate_seatunnel,
)
from snapshots.simulating import run_parameters as common
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    MAIN,
    Delay,
    OneOf,
    Option,
    Parameters,
    Shown,
    Span,
    Time,
    Whole,
    declared,
    defaults,
)
from snapshots.simulating.simulated_runs import SimulatedRun

MOST_CHANGES = 20
RUN, SETTINGS = defaults(SeaTunnelSimulation), defaults(PipelineSettings)
FAILOVER = OneOf(
    (
        Option(PIPELINE, "The pipeline", "All tasks that edges connect with the failed one."),
        Option(
            REGION,
            "The vertex and those before it",
            "Those behind it go on, and skip by their ids what comes again.",
        ),
    )
)
ON_UNREPEATABLE = OneOf(
    (
        Option(RESTART, "Restart the pipeline", "Nothing goes on, so nothing comes twice to it."),
        Option(GO_ON, "Go on all the same", "What comes again is taken once more."),
    )
)


class SeaTunnelCheckpoints(Parameters):
    """When checkpoints begin, and what follows when one fails."""

    interval: common.Interval = SETTINGS.interval
    timeout: common.Timeout = SETTINGS.timeout
    retry_wait: Span = declared(
        "Requested again after",
        "If a checkpoint is requested while another is in progress, the request is repeated after "
        "this time.",
        SETTINGS.retry_wait,
    )
    retries: Annotated[int, Whole(0, 1_000)] = declared(
        "A pipeline is restored",
        "The largest number of times that a pipeline is restored.",
        SETTINGS.retries,
    )


class ChangeOfSchema(Parameters):
    """A change of the columns of a table, in the middle of a split."""

    split: str = declared(
        "The schema changes in split",
        "The split in which the columns of the table change, such as lines[0]. In a pipeline, one "
        "split may do so. A form may leave it empty: then no schema changes.",
        shown=Shown("schema_split", suggests="subtasks"),
    )
    after: Annotated[int, Whole(1, LARGEST, "records")] = declared(
        "It changes after",
        "The offset of the last record before the change.",
        shown=Shown("schema_after"),
        example=20,
    )


class StartingPoint(Parameters):
    """The savepoint that the run begins from, taken by an earlier run of the same job."""

    at: Time = declared(
        "Begin from a savepoint taken at",
        "The run continues from a savepoint that an earlier run took at this time. A form may "
        "leave it empty: then the run begins without a savepoint.",
        shown=Shown("start_at"),
    )
    parallelism: common.EarlierParallelism = {}


class SeaTunnelParameters(common.DataflowParameters):
    """A dataflow under SeaTunnel's checkpoint protocol."""

    PROTOCOL: ClassVar[Option] = Option(
        "seatunnel",
        "SeaTunnel",
        "Each pipeline has a coordinator. Barriers go from an enumerator to readers, writers and a "
        "committer; a failure restarts the pipeline, or a part of it.",
    )

    FAILOVERS: ClassVar[tuple[str, ...]] = SEATUNNEL_FAILOVERS

    protocol: Annotated[Literal["seatunnel"], common.PROTOCOL_WORDS] = "seatunnel"
    checkpoints: SeaTunnelCheckpoints = declared(
        "Checkpoints",
        "When checkpoints begin, and what follows when one fails.",
        SeaTunnelCheckpoints(),
        example={"interval": 50_000},
    )
    seed: common.Seed = RUN.seed
    buffer: common.Buffer = RUN.buffer
    slow: common.Slow = {}
    failures: common.Failures = []
    mean_delay: common.MeanDelay = RUN.mean_delay
    control_delay: common.ControlDelay = RUN.control_delay
    sync_time: common.SyncTime = RUN.sync_time
    store_time: Delay = declared(
        "Writing a checkpoint",
        "How long the coordinator takes to write a checkpoint after all tasks have acknowledged "
        "it.",
        RUN.store_time,
    )
    assign_every: Delay = declared(
        "A split is assigned every",
        "Time from one assignment of a split by an enumerator to the next.",
        RUN.assign_every,
    )
    failover: Annotated[str, FAILOVER] = declared(
        "After a failure, restart", "Which tasks restart after a failure.", RUN.failover, MAIN
    )
    unrepeatable: list[str] = declared(
        "Sources that cannot repeat",
        "Sources that cannot give the same records again, in the same order. Records of the others "
        "are known by their ids when they come again.",
        [],
        example=["orders"],
        most=MOST_SUBTASKS,
    )
    on_unrepeatable: Annotated[str, ON_UNREPEATABLE] = declared(
        "If a source cannot repeat",
        "What follows if such a source restarts and tasks behind it would go on.",
        RUN.on_unrepeatable,
    )
    restart_delay: common.RestartDelay = RUN.restart_delay
    tx_timeout: Annotated[Time | None, common.TRANSACTION_TIMEOUT] = RUN.tx_timeout
    writer_commits: list[str] = declared(
        "Sinks whose writers commit",
        "Two-phase sinks without a committer. Each of their writers commits by itself, and what it "
        "has still to commit is in no checkpoint. The other two-phase sinks have a committer.",
        [],
        example=["files"],
        most=MOST_SUBTASKS,
    )
    schema_changes: list[ChangeOfSchema] = declared(
        "Changes of the schema",
        "Where the columns of a table change. The reader stops for a point before each change and "
        "for one after it, and no other checkpoint begins meanwhile.",
        [],
        example=[{"split": "lines[0]", "after": 20}],
        most=MOST_CHANGES,
    )
    savepoint: Time | None = declared(
        "End with a savepoint at",
        "The job ends with a savepoint at this time. If no time is given, the sources are read to "
        "their ends.",
        RUN.savepoint,
    )
    start_from: StartingPoint | None = declared(
        "Start",
        "The savepoint that the run begins from.",
        RUN.start_from,
        example={"at": 20_000, "parallelism": {"lines": 3}},
    )

    @property
    def label(self) -> str:
        return "seatunnel" if self.start_from is None else "seatunnel, from a savepoint"

    def check(self, dataflow: Dataflow) -> None:
        simulation = self._simulation(dataflow)
        common.check_size(_load(simulation, dataflow))
        if simulation.start_from is not None:
            common.check_size(_load(simulation, simulation.dataflow_before()))

    def run(self, dataflow: Dataflow, name: str) -> SimulatedRun:
        simulation = self._simulation(dataflow)
        expected = round(_load(simulation, dataflow).events)
        return SimulatedRun(simulation.header(name), simulate_seatunnel(simulation), expected)

    def _simulation(self, dataflow: Dataflow) -> SeaTunnelSimulation:
        return self.filled(
            SeaTunnelSimulation,
            dataflow=dataflow,
            checkpoints=self.checkpoints.filled(PipelineSettings),
            failures=common.fail_ats(self.failures),
            start_from=self.start_from and self.start_from.filled(StartFrom),
            writer_commits=tuple(self.writer_commits),
            unrepeatable=tuple(self.unrepeatable),
            schema_changes=tuple(item.filled(SchemaChange) for item in self.schema_changes),
        )


def _load(simulation: SeaTunnelSimulation, dataflow: Dataflow) -> Load:
    """Return the load of one coordinator that requests as often as those of all pipelines."""
    subtasks = dataflow.subtask_by_id
    interval = simulation.checkpoints.interval
    each = None if interval is None else max(1, interval // len(dataflow.pipelines))
    return Load(
        DataflowSimulation(
            dataflow,
            CheckpointSettings(interval=each, max_concurrent=len(dataflow.pipelines)),
            control_delay=simulation.control_delay,
            sync_time=simulation.sync_time,
            async_time=simulation.store_time,
            slow={task: factor for task, factor in simulation.slow.items() if task in subtasks},
        )
    )

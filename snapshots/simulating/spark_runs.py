"""Runs of a dataflow in Spark's micro-batches: the parameters, and the run with them."""

from typing import Annotated, ClassVar, Literal

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.micro_batches.failover import QUERY, SPARK_FAILOVERS, TASK
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation, simulate_spark
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings
from snapshots.simulating import run_parameters as common
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    LARGEST_TIME,
    MAIN,
    Delay,
    OneOf,
    Option,
    Parameters,
    Shown,
    Time,
    Whole,
    declared,
    defaults,
)
from snapshots.simulating.simulated_runs import SimulatedRun

RUN, SETTINGS = defaults(SparkSimulation), defaults(BatchSettings)
FAILOVER = OneOf(
    (
        Option(QUERY, "The query", "From the last committed batch, with the same offsets."),
        Option(TASK, "The task", "Alone, within its batch; all others wait for it."),
    )
)


class SparkBatches(Parameters):
    """When batches begin, and how large they are."""

    interval: Time = declared(
        "A batch every",
        "Time between two batches. If it is 0, a batch begins as soon as the previous batch is "
        "committed.",
        SETTINGS.interval,
        Shown("batch_interval", main=True),
    )
    most_per_split: Annotated[int, Whole(1, LARGEST_TIME)] | None = declared(
        "Records of a split in a batch",
        "The largest number of records that a batch reads from each split. If no number is given, "
        "a batch reads all available records.",
        SETTINGS.most_per_split,
        MAIN,
    )
    cores: Annotated[int, Whole(1, 1_000_000)] = declared(
        "Tasks at once", "How many tasks run at once: one for each core.", SETTINGS.cores, MAIN
    )
    task_attempts: Annotated[int, Whole(1, 1_000)] = declared(
        "Attempts of a task",
        "The query fails when a task has failed this many times.",
        SETTINGS.task_attempts,
    )
    watermark_delay: Time = declared(
        "The watermark lags by",
        "How far the watermark lies behind the latest event time.",
        SETTINGS.watermark_delay,
    )


class SparkParameters(common.DataflowParameters):
    """A dataflow in Spark's micro-batches."""

    PROTOCOL: ClassVar[Option] = Option(
        "spark",
        "Spark micro-batches",
        "There are no barriers. The driver logs each batch before and after it runs. A batch that "
        "is planned and not committed was in flight.",
    )
    FAILOVERS: ClassVar[tuple[str, ...]] = SPARK_FAILOVERS

    protocol: Annotated[Literal["spark"], common.PROTOCOL_WORDS] = "spark"
    batches: SparkBatches = declared(
        "Batches",
        "When batches begin, and how large they are.",
        SparkBatches(),
        example={"interval": 20_000, "cores": 4},
    )
    failover: Annotated[str, FAILOVER] = declared(
        "After a failure, run again",
        "What runs again after a failure.",
        RUN.failover,
        Shown("again", main=True),
    )
    seed: common.Seed = RUN.seed
    slow: common.Slow = {}
    failures: common.Failures = []
    control_delay: common.ControlDelay = RUN.control_delay
    commit_time: Delay = declared(
        "Writing a commit",
        "How long the driver takes to write the commit of a batch.",
        RUN.commit_time,
    )
    retry_delay: Delay = declared(
        "From failure to the next attempt",
        "Time from the failure of a task to its next attempt, if only this task runs again.",
        RUN.retry_delay,
    )
    restart_delay: common.RestartDelay = RUN.restart_delay

    def check(self, dataflow: Dataflow) -> None:
        common.check_size(_load(self._simulation(dataflow)), "batches")

    def run(self, dataflow: Dataflow, name: str) -> SimulatedRun:
        simulation = self._simulation(dataflow)
        expected = round(_load(simulation).events)
        return SimulatedRun(simulation.header(name), simulate_spark(simulation), expected)

    def _simulation(self, dataflow: Dataflow) -> SparkSimulation:
        return self.filled(
            SparkSimulation,
            dataflow=dataflow,
            batches=self.batches.filled(BatchSettings),
            failures=common.fail_ats(self.failures),
        )


def _load(simulation: SparkSimulation) -> Load:
    """Return the load; batches count as checkpoints that take two messages and a commit."""
    takes = simulation.commit_time + 2 * simulation.control_delay
    interval = max(1, simulation.batches.interval, takes)
    return Load(
        DataflowSimulation(
            simulation.dataflow,
            CheckpointSettings(interval=interval),
            control_delay=simulation.control_delay,
            sync_time=0,
            async_time=simulation.commit_time,
            slow=simulation.slow,
        )
    )

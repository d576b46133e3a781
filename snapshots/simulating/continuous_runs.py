"""Runs of a dataflow in Spark's continuous mode: the parameters, and the run with them."""

from typing import Annotated, ClassVar, Literal

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow
from snapshots.domain.simulators.continuous.simulation import (
    ContinuousSimulation,
    simulate_continuous,
)
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.protocols.continuous_driver import EpochSettings
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.simulating import run_parameters as common
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    Delay,
    Option,
    Parameters,
    Shown,
    Span,
    declared,
    defaults,
    refused,
)
from snapshots.simulating.simulated_runs import SimulatedRun

MOST_POLLS = 1_000_000
RUN, SETTINGS = defaults(ContinuousSimulation), defaults(EpochSettings)


class SparkEpochs(Parameters):
    """When epochs end."""

    interval: Span = declared(
        "An epoch every",
        "Time from the end of one epoch to the end of the next.",
        SETTINGS.interval,
        Shown("epoch_interval", main=True),
    )
    poll_interval: Span = declared(
        "A reader asks every",
        "How often a reader asks the driver for the number of the epoch. It ends its epoch when "
        "the number has grown.",
        SETTINGS.poll_interval,
    )


class ContinuousParameters(common.DataflowParameters):
    """A dataflow in Spark's continuous mode."""

    PROTOCOL: ClassVar[Option] = Option(
        "spark-continuous",
        "Spark continuous mode",
        "The tasks never stop. Markers end an epoch, and the driver commits it. A restart "
        "delivers again what no commit names. One chain without state.",
    )

    protocol: Annotated[Literal["spark-continuous"], common.PROTOCOL_WORDS] = "spark-continuous"
    epochs: SparkEpochs = declared(
        "Epochs",
        "When epochs end.",
        SparkEpochs(),
        example={"interval": 20_000},
    )
    seed: common.Seed = RUN.seed
    buffer: common.Buffer = RUN.buffer
    slow: common.Slow = {}
    failures: common.Failures = []
    mean_delay: common.MeanDelay = RUN.mean_delay
    control_delay: common.ControlDelay = RUN.control_delay
    commit_time: Delay = declared(
        "Writing a commit",
        "How long the driver takes to write the commit of an epoch, after the sink has taken the "
        "epoch over.",
        RUN.commit_time,
    )
    restart_delay: common.RestartDelay = RUN.restart_delay

    def check(self, dataflow: Dataflow) -> None:
        load = _load(self._simulation(dataflow))
        common.check_size(load, "epochs")
        readers = sum(vertex.parallelism for vertex in dataflow.vertices if vertex.kind == SOURCE)
        if load.duration / self.epochs.poll_interval * readers > MOST_POLLS:
            raise refused(
                f"The readers would ask the driver more than {MOST_POLLS:,} times. Let them ask "
                "less often.",
                "epochs.poll_interval",
            )

    def run(self, dataflow: Dataflow, name: str) -> SimulatedRun:
        simulation = self._simulation(dataflow)
        expected = round(_load(simulation).events)
        return SimulatedRun(simulation.header(name), simulate_continuous(simulation), expected)

    def _simulation(self, dataflow: Dataflow) -> ContinuousSimulation:
        return self.filled(
            ContinuousSimulation,
            dataflow=dataflow,
            epochs=self.epochs.filled(EpochSettings),
            failures=common.fail_ats(self.failures),
        )


def _load(simulation: ContinuousSimulation) -> Load:
    """Return the load; epochs count as checkpoints, of which any number may be under way."""
    return Load(
        DataflowSimulation(
            simulation.dataflow,
            CheckpointSettings(interval=simulation.epochs.interval, max_concurrent=1_000),
            control_delay=simulation.control_delay,
            sync_time=0,
            async_time=simulation.commit_time,
            slow=simulation.slow,
        )
    )

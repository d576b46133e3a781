"""A seeded simulator of dataflows that run in micro-batches, as Spark Structured Streaming does.

The driver is the process ``coordinator``; the decisions are the step functions in
`algorithms/spark_epochs.py`. A task runs when all before it have ended, and what it has made can be
read when it has ended itself: so a batch drains all channels. The snapshot of a batch bears its
number. The driver records its part when it plans, all tasks theirs at the commit, between this
batch and the next: a batch that is planned and not committed is an incomplete snapshot, and a
second attempt at it completes the same one. Events as in docs/formats/dataflow-events.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.flink.functions import start_states
from snapshots.domain.simulators.flink.parameters import (
    check_failures,
    check_one_of,
    check_slow,
    check_whole_numbers,
)
from snapshots.domain.simulators.flink.simulation import MOST_EVENTS, TIME_UNIT, DataflowRun, FailAt
from snapshots.domain.simulators.flink.tasks import text_of
from snapshots.domain.simulators.micro_batches.failover import QUERY, SPARK_FAILOVERS
from snapshots.domain.simulators.micro_batches.run import DRIVER, SparkRun
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings
from snapshots.domain.simulators.script import Log


@dataclass(frozen=True)
class SparkSimulation:
    """What to simulate.

    control_delay: us between driver and task. commit_time: us to write a commit. slow: how many
    times longer than others a task takes for a record. failures: of a task, or of the driver
    (``coordinator``). failover: TASK: a failed task runs again, and nothing happens where it is not
    running; QUERY: the query starts again, as it always does when the driver fails. retry_delay:
    us until a task runs again, restart_delay: until the query does. most_restarts, most_events: the
    run then ends unfinished.

    Raises: DataflowRefused, with the field, for what cannot be.
    """

    dataflow: Dataflow
    batches: BatchSettings = field(default_factory=BatchSettings)
    seed: int = 1
    control_delay: int = 200
    commit_time: int = 1_000
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    failover: str = QUERY
    retry_delay: int = 1_000
    restart_delay: int = 10_000
    most_restarts: int = 20
    most_events: int = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self, _LEAST)
        check_one_of("failover", self.failover, SPARK_FAILOVERS)
        check_failures(self.failures, {*self.dataflow.subtask_by_id, DRIVER}, "process")
        check_slow(self.slow, self.dataflow)

    def topology(self) -> Topology:
        return self.dataflow.expand(one_coordinator=True)

    def header(self, name: str) -> Header:
        """What stands before the events: the topology with start states, and the dataflow."""
        states = {DRIVER: {"completed": 0}, **start_states(self.dataflow)}
        topology = self.topology()
        processes = tuple(
            replace(process, state=text_of(states[process.id])) for process in topology.processes
        )
        extra = {"engine": "spark", "dataflow": as_json(self.dataflow)}
        return Header(name, TIME_UNIT, replace(topology, processes=processes), extra)


_LEAST = {
    "control_delay": 0,
    "commit_time": 0,
    "retry_delay": 0,
    "restart_delay": 0,
    "most_restarts": 0,
    "most_events": 1,
}


def simulate_spark(
    simulation: SparkSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """The events of one run in the order of time. steps: in place of the driver's functions."""
    return SparkRun(simulation, steps).events()


def run_spark(
    simulation: SparkSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """The whole log of one run, and what was counted in it."""
    run = SparkRun(simulation, steps)
    events = tuple(run.events())
    return DataflowRun(Log(simulation.header(name), events), run.count())

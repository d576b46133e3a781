"""A seeded simulator of dataflows under SeaTunnel's checkpoint protocol.

Each pipeline has a coordinator, a sequence of checkpoints and a fate of its own; the decisions are
the step functions in `algorithms/seatunnel.py` and `seatunnel_task.py`. Each vertex is a process of
its own here, also where the engine fuses several into one task. Events as in
docs/formats/dataflow-events.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.dataflow_logs.dataflow import BROADCAST, Dataflow, DataflowRefused
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.flink.parameters import (
    check_failures,
    check_slow,
    check_whole_numbers,
)
from snapshots.domain.simulators.flink.simulation import MOST_EVENTS, TIME_UNIT, DataflowRun, FailAt
from snapshots.domain.simulators.flink.tasks import text_of
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.seatunnel import topology
from snapshots.domain.simulators.seatunnel.run import SeaTunnelRun


@dataclass(frozen=True, slots=True)
class StartFrom:
    """The savepoint of a run of the same job before, asked for at ``at`` (us) of that run; what had
    ended by then goes on from its end. parallelism: what it was then, of the vertices of which it
    is another now."""

    at: int
    parallelism: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SeaTunnelSimulation:
    """What to simulate.

    buffer: records that each end of a channel holds. mean_delay: us on the wire. control_delay: us
    between the coordinator and a task. sync_time: us to copy a state. store_time: us to write a
    checkpoint. assign_every: us between two splits that an enumerator hands out. slow: how many
    times longer than others a task takes for a record. failures: of any process but coordinators.
    restart_delay: us from a failure to the restart of its pipeline. savepoint: us at which the job
    is to end with one. start_from: None: from the start. tx_timeout: us after which a transaction
    that was not committed is gone. most_events: the run then ends unfinished.

    Raises: DataflowRefused, with the field, for what cannot be.
    """

    dataflow: Dataflow
    checkpoints: PipelineSettings = field(default_factory=PipelineSettings)
    seed: int = 1
    buffer: int = 8
    mean_delay: int = 300
    control_delay: int = 200
    sync_time: int = 200
    store_time: int = 1_000
    assign_every: int = 2_000
    slow: Mapping[str, float] = field(default_factory=dict)
    failures: tuple[FailAt, ...] = ()
    restart_delay: int = 10_000
    savepoint: int | None = None
    start_from: StartFrom | None = None
    tx_timeout: int | None = None
    most_events: int = MOST_EVENTS

    def __post_init__(self) -> None:
        check_whole_numbers(self, _LEAST)
        for name in ("savepoint", "tx_timeout"):
            if getattr(self, name) is not None:
                check_whole_numbers(self, {name: 0})
        processes = self.topology().process_by_id.keys() - set(self.dataflow.coordinators())
        check_failures(self.failures, processes, "process")
        check_slow(self.slow, self.dataflow)
        if self.start_from is not None:
            self.dataflow_before()

    def topology(self) -> Topology:
        return topology.expand(self.dataflow)

    def header(self, name: str) -> Header:
        """What stands before the events: the topology with start states, and the dataflow."""
        topology, run = self.topology(), SeaTunnelRun(replace(self, start_from=None))
        states = {task.id: task.state for task in run.tasks.values()}
        processes = tuple(
            replace(process, state=text_of(states.get(process.id, {"completed": 0})))
            for process in topology.processes
        )
        extra = {"engine": "seatunnel", "dataflow": as_json(self.dataflow)}
        return Header(name, TIME_UNIT, replace(topology, processes=processes), extra)

    def before(self) -> SeaTunnelRun | None:
        """The run whose savepoint this one starts from, run to its end."""
        if self.start_from is None:
            return None
        dataflow = self.dataflow_before()
        known = dataflow.subtask_by_id
        slow = {task: factor for task, factor in self.slow.items() if task in known}
        simulation = replace(
            self,
            dataflow=dataflow,
            savepoint=self.start_from.at,
            slow=slow,
            failures=(),
            start_from=None,
        )
        run = SeaTunnelRun(simulation)
        for _ in run.events():
            pass
        if not run.has_ended:
            raise DataflowRefused("start_from.at", "The run before came to no savepoint then.")
        return run

    def dataflow_before(self) -> Dataflow:
        parallelism, known = self.start_from.parallelism, self.dataflow.vertex_by_id
        check_whole_numbers(self.start_from, {"at": 0}, "start_from")
        for name, number in parallelism.items():
            path = f"start_from.parallelism.{name}"
            if name not in known:
                raise DataflowRefused(path, f"There is no vertex {name!r}.")
            edges = self.dataflow.edges_to(name)
            copied = any(edge.exchange == BROADCAST for edge in edges)
            if copied and number != known[name].parallelism:
                raise DataflowRefused(
                    path, "A broadcast leads there: with another number of copies, records differ."
                )
        vertices = tuple(
            replace(vertex, parallelism=parallelism.get(vertex.id, vertex.parallelism))
            for vertex in self.dataflow.vertices
        )
        try:
            return Dataflow(vertices, self.dataflow.edges)
        except DataflowRefused as refused:
            raise DataflowRefused("start_from.parallelism", refused.sentence) from None


_LEAST = {
    "buffer": 1,
    "mean_delay": 0,
    "control_delay": 0,
    "sync_time": 0,
    "store_time": 0,
    "assign_every": 0,
    "restart_delay": 0,
    "most_events": 1,
}


def simulate_seatunnel(
    simulation: SeaTunnelSimulation, steps: ModuleType | None = None
) -> Iterator[LoggedEvent]:
    """The events of one run in the order of time. steps: in place of the tasks' functions."""
    return SeaTunnelRun(simulation, steps).events()


def run_seatunnel(
    simulation: SeaTunnelSimulation, name: str = "a dataflow", steps: ModuleType | None = None
) -> DataflowRun:
    """The whole log of one run, and what was counted in it."""
    run = SeaTunnelRun(simulation, steps)
    events = tuple(run.events())
    return DataflowRun(Log(simulation.header(name), events), run.count())

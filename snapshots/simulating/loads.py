"""Compute upper bounds of the size of a dataflow run before the run begins."""

from functools import cached_property

from snapshots.domain.dataflow_logs.dataflow import BROADCAST, SINK, SOURCE, Vertex
from snapshots.domain.simulators.dataflows.functions import FILTER_DROPS, FLATMAP_COPIES
from snapshots.domain.simulators.flink.simulation import DataflowSimulation

EVENTS_OF_A_TASK = 6  # of one checkpoint: record, copy, acknowledgement, notice of completion …
EVENTS_OF_A_CHANNEL = 5  # marker out and in, block, unblock, channel state
EVENTS_OF_A_REQUEST = 2


class Load:
    """The size of a run without failures. Records are counted as if they were spread evenly."""

    def __init__(self, simulation: DataflowSimulation) -> None:
        self.simulation = simulation
        self.dataflow = simulation.dataflow

    @cached_property
    def taken(self) -> dict[str, float]:
        """How many records each vertex reads, or takes from its inputs."""
        taken = {vertex.id: 0.0 for vertex in self.dataflow.vertices}
        for name in self.dataflow.in_order:
            vertex = self.dataflow.vertex_by_id[name]
            if vertex.kind == SOURCE:
                taken[name] = float(vertex.records * vertex.parallelism)
            for edge in self.dataflow.edges_from(name):
                parallelism = self.dataflow.vertex_by_id[edge.target].parallelism
                copies = parallelism if edge.exchange == BROADCAST else 1
                taken[edge.target] += _made(vertex, taken[name]) * copies
        return taken

    @cached_property
    def events(self) -> float:
        """How many events the records alone make: a read; a send and a receive; a write."""
        kinds = {SOURCE: 1, SINK: 3}
        return sum(
            kinds.get(vertex.kind, 2) * self.taken[vertex.id] for vertex in self.dataflow.vertices
        )

    @cached_property
    def largest_source(self) -> int:
        """The index of the source vertex with the most records."""
        return max(self._sources, key=lambda index: self.taken[self.dataflow.vertices[index].id])

    @cached_property
    def duration(self) -> float:
        """How long the slowest vertex takes, in us."""
        return self._slowest[0]

    @property
    def slowest(self) -> int:
        """The index of the slowest vertex."""
        return self._slowest[1]

    @property
    def reason(self) -> str:
        """``rate`` or ``cost``: what makes the slowest vertex slow."""
        return self._slowest[2]

    @cached_property
    def requests(self) -> float:
        """How many checkpoints are requested."""
        settings = self.simulation.checkpoints
        periodic = self.duration / settings.interval if settings.interval else 0.0
        return periodic + len(settings.savepoints)

    @cached_property
    def checkpoint_events(self) -> float:
        """How many events the checkpoints make.

        A request that begins no checkpoint makes at most EVENTS_OF_A_REQUEST events. The time that
        a checkpoint takes limits how many can begin.
        """
        plan, settings = self.simulation, self.simulation.checkpoints
        takes = (plan.sync_time + plan.async_time + 2 * plan.control_delay) or 1
        apart = max(settings.interval or 1, settings.min_pause, takes / settings.max_concurrent)
        begun = min(self.requests, self.duration / apart + len(settings.savepoints))
        tasks = len(self.dataflow.subtasks)
        channels = len(plan.topology().channels)
        each = EVENTS_OF_A_TASK * tasks + EVENTS_OF_A_CHANNEL * channels
        return EVENTS_OF_A_REQUEST * self.requests + begun * each

    @cached_property
    def watermark_events(self) -> float:
        """How many events watermarks make: at each task and on each channel, for every source."""
        interval = self.simulation.event_time.interval
        if interval is None:
            return 0.0
        places = len(self.dataflow.subtasks) + len(self.simulation.topology().channels)
        sources = sum(self.dataflow.vertices[index].parallelism for index in self._sources)
        return self.duration / interval * places * sources

    @cached_property
    def _sources(self) -> list[int]:
        vertices = self.dataflow.vertices
        return [index for index, vertex in enumerate(vertices) if vertex.kind == SOURCE]

    @cached_property
    def _slowest(self) -> tuple[float, int, str]:
        return max(
            time
            for index, vertex in enumerate(self.dataflow.vertices)
            for time in self._times(index, vertex)
        )

    def _times(self, index: int, vertex: Vertex) -> list[tuple[float, int, str]]:
        slow = self.simulation.slow
        factor = max(slow.get(f"{vertex.id}[{n}]", 1) for n in range(vertex.parallelism))
        work = self.taken[vertex.id] / vertex.parallelism * vertex.cost * factor
        times = [(work, index, "cost")]
        if vertex.kind == SOURCE and vertex.rate:
            times.append((_quotient(vertex.records * 1e6, vertex.rate), index, "rate"))
        return times


def _made(vertex: Vertex, taken: float) -> float:
    if vertex.kind == SINK:
        return 0.0
    if vertex.kind == SOURCE:
        return taken
    share = {"flatmap": FLATMAP_COPIES, "filter": (FILTER_DROPS - 1) / FILTER_DROPS}
    return taken * share.get(vertex.function, 1)


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > numerator / 1e300 else 1e300

"""A subtask of a simulated dataflow, and the log that all of them write."""

import json
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import SINK, SOURCE, TWO_PHASE, Dataflow, Edge, Vertex
from snapshots.domain.model.key_groups import key_group
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, Split, is_keyed, start_state
from snapshots.domain.simulators.dataflows.lanes import Item, Lane
from snapshots.domain.simulators.dataflows.transactions import Transactions
from snapshots.domain.simulators.event_queue import EventQueue
from snapshots.domain.simulators.protocols.flink_files import Held

KEY_BYTES = 16
text_of = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
"""The canonical text of a value that holds no fractions; that of ``canonical``, but faster."""


def value_text(record: Record) -> str:
    return text_of({"key": record.key, "value": record.value})


class EventLog:
    """Collects events in the order of time; ``lines`` of them are those written so far."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._next_index: Counter[ProcessId] = Counter()
        self.lines = 1
        self.fresh: list[LoggedEvent] = []

    def add(
        self, process: ProcessId, kind: str, extra: dict[str, Any] | None = None, **fields: object
    ) -> None:
        """extra: the further fields; those that are None are left out."""
        index = self._next_index[process]
        self._next_index[process] = index + 1
        self.lines += 1
        present = {name: value for name, value in (extra or {}).items() if value is not None}
        text = text_of(present) if present else None
        self.fresh.append(
            LoggedEvent(
                self.lines, process, kind, index=index, at=self._queue.now, extra=text, **fields
            )
        )


@dataclass(eq=False)
class SimTask:
    """A subtask as it runs. state: a new dict after each change, so a copy is a reference.

    busy: with a record, or copying its state. mail: what to do before the next record. ended: it
    has read all its input; finished: it takes part in no further checkpoint. attempt: how often it
    has been restarted; what an earlier attempt planned does not happen. recorded: the
    checkpoints for which this attempt has recorded its state; final_cid: the first
    checkpoint recorded after it had ended; last_complete: the newest that it knows to be
    complete. first_barrier,
    blocked_since, missing: of checkpoints under way. missing: what its acknowledgement waits for.
    """

    id: ProcessId
    vertex: Vertex
    index: int
    edges: tuple[Edge, ...]
    cost: float
    steps: Any
    tx: Transactions | None
    inputs: list[Lane] = field(default_factory=list)
    ports: dict[ChannelId, int] = field(default_factory=dict)
    outputs: dict[tuple[str, int], Lane] = field(default_factory=dict)
    split: Split | None = None
    handler: Any = None
    state: dict = field(default_factory=dict)
    alive: bool = True
    busy: bool = False
    ended: bool = False
    finished: bool = False
    mail: deque = field(default_factory=deque)
    attempt: int = 0
    next_input: int = 0
    versions: Counter = field(default_factory=Counter)
    base: dict[int, Held] = field(default_factory=dict)
    files: dict[int, dict[int, Held]] = field(default_factory=dict)
    first_barrier: dict[int, int] = field(default_factory=dict)
    blocked_since: dict[ChannelId, tuple[int, int]] = field(default_factory=dict)
    barriers: dict[tuple[ChannelId, int], Item] = field(default_factory=dict)
    missing: dict[int, set[str]] = field(default_factory=dict)
    recorded: set[int] = field(default_factory=set)
    final_cid: int | None = None
    last_complete: int = 0

    def __post_init__(self) -> None:
        self.state = start_state(self.vertex)
        self._told: tuple[dict | None, str] = (None, "")
        if self.vertex.kind == SOURCE:
            self.split = Split(self.vertex, self.id)

    @property
    def state_text(self) -> str:
        if self._told[0] is not self.state:
            self._told = (self.state, text_of(self.state))
        return self._told[1]

    @property
    def can_put(self) -> bool:
        """Whether there is room in all outputs; a record's own outputs then go out together."""
        return all(lane.has_room for lane in self.outputs.values())

    def reset(self, state: dict) -> None:
        """As it is deployed anew."""
        self.handler = self.steps.start(tuple(lane.id for lane in self.inputs))
        self.state = state
        self.alive = True
        self.busy = self.ended = self.finished = False
        self.next_input = 0
        self.final_cid = None
        self.last_complete = 0
        for part in (
            self.mail,
            self.files,
            self.first_barrier,
            self.blocked_since,
            self.barriers,
            self.missing,
            self.recorded,
        ):
            part.clear()

    def lane(self, channel: ChannelId) -> Lane:
        return next(lane for lane in self.inputs if lane.id == channel)

    def next_lane(self) -> Lane | None:
        """The next input that holds something and is not blocked, each in its turn."""
        for turn in range(len(self.inputs)):
            lane = self.inputs[(self.next_input + turn) % len(self.inputs)]
            if lane.input and not lane.blocked:
                self.next_input = (self.next_input + turn + 1) % len(self.inputs)
                return lane
        return None

    def changed(self, record: Record) -> None:
        """Notes which key group the record has changed."""
        self.versions[self._group(record.key)] += 1

    def sizes(self) -> dict[int, int]:
        """Bytes of the state by key group; a state that is not keyed is one group."""
        if not is_keyed(self.vertex):
            return {0: KEY_BYTES}
        keys = Counter(self._group(key) for key in self.state)
        return {group: number * KEY_BYTES for group, number in keys.items()}

    def current_versions(self) -> dict[int, int]:
        return {group: self.versions[group] for group in self.sizes()}

    def _group(self, key: str) -> int:
        return key_group(key, self.vertex.max_parallelism) if is_keyed(self.vertex) else 0


def tasks_of(
    dataflow: Dataflow, steps: Any, slow: dict[str, float], tx_timeout: int | None
) -> dict[ProcessId, SimTask]:
    """All subtasks without their channels, those of each vertex after those before it."""
    tasks = {}
    for name in dataflow.in_order:
        vertex = dataflow.vertex_by_id[name]
        for index in range(vertex.parallelism):
            id_ = ProcessId(f"{name}[{index}]")
            two_phase = vertex.kind == SINK and vertex.sink == TWO_PHASE
            tasks[id_] = SimTask(
                id=id_,
                vertex=vertex,
                index=index,
                edges=dataflow.edges_from(name),
                cost=vertex.cost * slow.get(id_, 1),
                steps=steps,
                tx=Transactions(id_, tx_timeout) if two_phase else None,
            )
    return tasks


def connect(
    dataflow: Dataflow, tasks: dict[ProcessId, SimTask], lanes: dict[ChannelId, Lane]
) -> None:
    """Gives every task its channels; the inputs in the order of the edges, then of the senders."""
    for edge in dataflow.edges:
        port = dataflow.edges_to(edge.target).index(edge)
        for source in range(dataflow.vertex_by_id[edge.source].parallelism):
            for target in dataflow.targets(edge, source):
                lane = lanes[dataflow.channel(edge, source, target)]
                sender, receiver = tasks[lane.channel.source], tasks[lane.channel.target]
                sender.outputs[edge.target, target] = lane
                receiver.inputs.append(lane)
                receiver.ports[lane.id] = port

"""A task of a simulated dataflow, and the log that all tasks write."""

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from snapshots.domain.dataflow_logs.dataflow import SINK, TWO_PHASE, Dataflow, Edge, Vertex
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId
from snapshots.domain.simulators.dataflows.functions import Record, Rid, State, apply
from snapshots.domain.simulators.dataflows.lanes import LaneT
from snapshots.domain.simulators.dataflows.transactions import Transactions
from snapshots.domain.simulators.event_queue import EventQueue

Effects = Iterable[object]
Step = Callable[..., Effects | None]
"""A step of a simulation: it does something, and returns effects for the run to carry out."""

text_of = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
).encode
"""The canonical text of a value without fractions; the same as ``canonical``, but faster."""


def value_text(record: Record) -> str:
    """Return the record as the value of an event."""
    return f'{{"key":{text_of(record.key)},"value":{record.value}}}'


def rid_text(rid: Rid) -> JsonText:
    """Return the further fields of an event whose only further field is the record's id."""
    return JsonText(f'{{"rid":[{text_of(rid.split)},{rid.offset},{text_of(rid.derived)}]}}')


class EventLog:
    """Collects events in the order of time.

    ``lines`` counts all lines so far, the header included; ``fresh`` holds the events that have not
    been taken yet.
    """

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._next_index: Counter[ProcessId] = Counter()
        self.lines = 1
        self.fresh: list[LoggedEvent] = []

    @property
    def now(self) -> int:
        """The time of the next event, in us."""
        return self._queue.now

    def add(
        self,
        process: ProcessId,
        kind: str,
        extra: Mapping[str, Any] | JsonText | None = None,
        **fields: Any,
    ) -> None:
        """Log an event of the process now.

        Args:
            extra: the further fields, or their canonical text; those that are None are left out.
            fields: the fields of ``LoggedEvent``.
        """
        index = self._next_index[process]
        self._next_index[process] = index + 1
        self.lines += 1
        if extra is not None and not isinstance(extra, str):
            present = {name: value for name, value in extra.items() if value is not None}
            extra = JsonText(text_of(present)) if present else None
        self.fresh.append(
            LoggedEvent(
                self.lines, process, kind, index=index, at=self._queue.now, extra=extra, **fields
            )
        )


@dataclass(eq=False, kw_only=True)
class Attempt:
    """Something that may die and run again; what a dead attempt had planned does not happen.

    ``attempt`` counts the deaths so far.
    """

    alive: bool = True
    attempt: int = 0

    def die(self) -> None:
        """End this attempt."""
        self.alive = False
        self.attempt += 1


@dataclass(eq=False, kw_only=True)
class Task(Attempt, Generic[LaneT]):
    """One subtask as it runs.

    ``state`` is replaced at each change and never mutated, so a reference to it is a copy.
    ``cost`` is the mean time for a record in us. ``busy`` means that it works on something that
    takes time. ``mail`` holds the steps to be run before the next record. ``ports`` gives the
    input edge of each channel. ``tx`` is None unless the task is a two-phase sink.
    """

    id: ProcessId
    vertex: Vertex
    index: int
    edges: tuple[Edge, ...]
    cost: float
    tx: Transactions | None
    state: State
    inputs: list[LaneT] = field(default_factory=list)
    ports: dict[ChannelId, int] = field(default_factory=dict)
    outputs: dict[tuple[str, int], LaneT] = field(default_factory=dict)
    busy: bool = False
    mail: deque[tuple[Step, tuple[Any, ...]]] = field(default_factory=deque)
    next_input: int = 0

    def __post_init__(self) -> None:
        self._text: tuple[State | None, str] = (None, "")

    @property
    def state_text(self) -> str:
        """The state as canonical text, computed once for each state."""
        if self._text[0] is not self.state:
            self._text = (self.state, text_of(self.state))
        return self._text[1]

    @property
    def can_put(self) -> bool:
        """Whether all outputs have room; the outputs of one record then go out together."""
        for lane in self.outputs.values():  # noqa: SIM110 (a generator takes twice as long)
            if not lane.has_room:
                return False
        return True

    def reset(self, state: State) -> None:
        """Put the task in the condition of one that was just deployed."""
        self.state = state
        self.alive = True
        self.busy = False
        self.mail.clear()
        self.next_input = 0

    def absorb(self, record: Record, channel: ChannelId) -> list[Record]:
        """Change the state by a record, and return the records made of it."""
        if self.vertex.kind == SINK:
            self.state = {"written": self.state["written"] + 1}
            return []
        self.state, made = apply(self.vertex, self.state, record, self.ports[channel])
        return made

    def lane(self, channel: ChannelId) -> LaneT:
        """Return the input of this id."""
        return next(lane for lane in self.inputs if lane.id == channel)

    def next_lane(self) -> LaneT | None:
        """Return the next input in turn that holds something and is not blocked."""
        for turn in range(len(self.inputs)):
            lane = self.inputs[(self.next_input + turn) % len(self.inputs)]
            if lane.input and not lane.blocked:
                self.next_input = (self.next_input + turn + 1) % len(self.inputs)
                return lane
        return None


def subtasks_in_order(dataflow: Dataflow) -> Iterator[tuple[Vertex, int, ProcessId]]:
    """Yield every subtask's vertex, index and id; each vertex comes after those before it."""
    for name in dataflow.in_order:
        vertex = dataflow.vertex_by_id[name]
        for index in range(vertex.parallelism):
            yield vertex, index, ProcessId(f"{name}[{index}]")


def task_fields(
    dataflow: Dataflow,
    vertex: Vertex,
    index: int,
    id_: ProcessId,
    slow: Mapping[str, float],
    tx_timeout: int | None = None,
) -> dict[str, Any]:
    """Return the fields of ``Task``, without the state, that follow from the dataflow.

    Args:
        slow: how many times longer than others a task takes for a record.
        tx_timeout: us after which a transaction that was not committed is gone.
    """
    two_phase = vertex.kind == SINK and vertex.sink == TWO_PHASE
    return {
        "id": id_,
        "vertex": vertex,
        "index": index,
        "edges": dataflow.edges_from(vertex.id),
        "cost": vertex.cost * slow.get(id_, 1),
        "tx": Transactions(id_, tx_timeout) if two_phase else None,
    }


def connect(
    dataflow: Dataflow,
    tasks: Mapping[ProcessId, Task[LaneT]],
    lanes: Mapping[ChannelId, LaneT],
) -> None:
    """Give every task its channels; inputs are in the order of the edges, then of the senders."""
    for edge in dataflow.edges:
        port = dataflow.edges_to(edge.target).index(edge)
        for source in range(dataflow.vertex_by_id[edge.source].parallelism):
            for target in dataflow.targets(edge, source):
                lane = lanes[dataflow.channel(edge, source, target)]
                sender, receiver = tasks[lane.channel.source], tasks[lane.channel.target]
                sender.outputs[edge.target, target] = lane
                receiver.inputs.append(lane)
                receiver.ports[lane.id] = port

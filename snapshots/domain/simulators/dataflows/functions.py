"""What flows through a dataflow, and what its subtasks do with it.

Nothing here depends on time. A record's key and value follow from its split and offset, and its way
from its rid and key. All states are counts and sums, so the final ones do not depend on the order.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from snapshots.domain.dataflow_logs.dataflow import (
    BROADCAST,
    FORWARD,
    HASH,
    KEYED,
    OPERATOR,
    SINK,
    SOURCE,
    Dataflow,
    Edge,
    Vertex,
)
from snapshots.domain.model.key_groups import key_group, owning_subtask, stable_hash
from snapshots.domain.model.topology import ProcessId

LARGEST_VALUE = 1000
LARGEST_TIME = 2**63 - 1
FLATMAP_COPIES = 2
FILTER_DROPS = 3  # every third record, by offset


State = dict[str, Any]
"""The state of a subtask, as JSON; it is replaced at each change and never mutated."""


class Rid(NamedTuple):
    """The identity of a record, the same in every attempt; ``derived`` is that of ``derive``."""

    split: str
    offset: int
    derived: str = ""


class Record(NamedTuple):
    """What flows through a dataflow; ``time`` is the event time in us."""

    rid: Rid
    key: str
    value: int
    time: int = 0


def derive(rid: Rid, copies: int, copy: int) -> Rid:
    """Return the rid of one of several records that are made of one.

    Its ``derived`` is the parent's and the number of the copy: ``0.1`` is the second copy of the
    first copy. A single record keeps the parent's rid.
    """
    if copies == 1:
        return rid
    return rid._replace(derived=f"{rid.derived}.{copy}" if rid.derived else str(copy))


@lru_cache(maxsize=16)
def _reach(keys: int, skew: float) -> Sequence[float]:
    """Return the unscaled chance of the first 1, 2 … keys; all splits of a vertex share it."""
    return array("d", accumulate((rank + 1.0) ** -skew for rank in range(keys)))


class Split:
    """The records of one source subtask, by offset (1 .. records).

    ``disorder``: how far event times may lie before the times at which the records come into being,
    in us.
    """

    def __init__(self, vertex: Vertex, name: str, disorder: int = 0) -> None:
        self.vertex = vertex
        self.name = name
        self.disorder = disorder
        self._reach = _reach(vertex.keys, vertex.skew)

    def record(self, offset: int) -> Record:
        """Return the record at this offset."""
        chance = stable_hash(f"{self.name} {offset}") / 2**32 * self._reach[-1]
        rank = min(bisect_left(self._reach, chance), self.vertex.keys - 1)
        value = self.vertex.value
        if value is None:
            value = 1 + stable_hash(f"{offset} {self.name}") % LARGEST_VALUE
        return Record(Rid(self.name, offset), f"k{rank + 1}", value, self.event_time(offset))

    def event_time(self, offset: int) -> int:
        """Return the event time of the record in us.

        If all records are there from the start, they follow each other as at 1,000 a second.
        """
        created = self.available_at(offset) if self.vertex.rate else offset * 1_000
        return max(0, created - stable_hash(f"time {offset} {self.name}") % (self.disorder + 1))

    def available_at(self, offset: int) -> int:
        """Return the time in us at which the record comes into being."""
        return round(offset * 1_000_000 / self.vertex.rate) if self.vertex.rate else 0


def start_state(vertex: Vertex) -> State:
    """Return the state of a subtask that has processed nothing."""
    if vertex.kind == SOURCE:
        return {"offset": 1}
    if vertex.kind == SINK:
        return {"written": 0}
    if vertex.function == "total":
        return {"users": 0, "times": 0}
    return {}


def start_states(dataflow: Dataflow) -> dict[ProcessId, State]:
    """Return the start state of every subtask."""
    return {
        subtask.id: start_state(dataflow.vertex_by_id[subtask.vertex])
        for subtask in dataflow.subtasks
    }


def apply(vertex: Vertex, state: State, record: Record, port: int) -> tuple[State, list[Record]]:
    """Return the operator's state after a record of the input edge ``port``, and what it makes."""
    rid, key, value, time = record
    match vertex.function:
        case "map":
            return state, [record]
        case "filter":
            return state, [record] if rid.offset % FILTER_DROPS else []
        case "flatmap":
            copies = (derive(rid, FLATMAP_COPIES, copy) for copy in range(FLATMAP_COPIES))
            return state, [Record(copy, key, value, time) for copy in copies]
        case "count":
            state = state | {key: state.get(key, 0) + 1}
            return state, [Record(rid, key, state[key], time)]
        case "sum":
            state = state | {key: state.get(key, 0) + value}
            return state, [Record(rid, key, state[key], time)]
        case "total":
            state = {"users": state["users"] + 1, "times": state["times"] + value}
            return state, [Record(rid, key, state["times"], time)]
    sums = list(state.get(key, (0, 0)))
    sums[port] += value
    return state | {key: sums}, [Record(rid, key, sums[0] * sums[1], time)]


class Windows(NamedTuple):
    """Windows of event time that follow one another: their length in us, and their sums by key.

    The state of a subtask is ``{key: {start: sum}}``, with the start of the window as text.
    ``disorder`` is that of the sources.
    """

    length: int
    disorder: int

    def start(self, time: int) -> int:
        """Return the start of the window in which an event time lies."""
        return time // self.length * self.length

    def is_over(self, start: int, watermark: int) -> bool:
        """Return whether the window fires at this watermark: no record of it is to come."""
        return start + self.length - 1 <= watermark

    def add(self, state: State, record: Record) -> State:
        """Return the state with the record's value in the sum of its window."""
        sums, start = dict(state.get(record.key, {})), str(self.start(record.time))
        sums[start] = sums.get(start, 0) + record.value
        return state | {record.key: sums}

    def fire(self, vertex: Vertex, state: State, watermark: int) -> tuple[State, list[Record]]:
        """Return the state without the windows that are over, and their results in order."""
        left: State = {}
        over = []
        for key, sums in state.items():
            kept = {s: value for s, value in sums.items() if not self.is_over(int(s), watermark)}
            over += [(int(s), key, value) for s, value in sums.items() if s not in kept]
            if kept:
                left[key] = kept
        return left, [self._result(vertex, *item) for item in sorted(over)]

    def all_results(self, vertex: Vertex, records: Iterable[Record]) -> list[Record]:
        """Return the results of all windows that hold one of the records."""
        state: State = {}
        for record in records:
            state = self.add(state, record)
        return self.fire(vertex, state, LARGEST_TIME)[1]

    def _result(self, vertex: Vertex, start: int, key: str, value: int) -> Record:
        rid = Rid(f"{vertex.id} {key}", start // self.length + 1)
        return Record(rid, key, value, start + self.length - 1)


def is_keyed(vertex: Vertex) -> bool:
    """Return whether the vertex keeps state by key."""
    return vertex.kind == OPERATOR and vertex.function in KEYED


def routed(
    dataflow: Dataflow, edge: Edge, source: int, record: Record
) -> Iterable[tuple[int, Record]]:
    """Yield who gets a record that travels on the edge.

    Each item is the index of a subtask of the edge's target and the record as it gets it.
    """
    target = dataflow.vertex_by_id[edge.target]
    count = target.parallelism
    if edge.exchange == FORWARD:
        yield source, record
    elif edge.exchange == HASH:
        group = key_group(record.key, target.max_parallelism)
        yield owning_subtask(group, count, target.max_parallelism), record
    elif edge.exchange == BROADCAST:
        for subtask in range(count):
            yield subtask, record._replace(rid=derive(record.rid, count, subtask))
    else:
        # By the offset: a restore would not bring back a counter of the sender.
        yield stable_hash(f"{record.rid.offset} {record.rid.derived}") % count, record


def emitted(
    dataflow: Dataflow, edges: tuple[Edge, ...], source: int, records: Iterable[Record]
) -> list[tuple[Edge, int, Record]]:
    """Return where a subtask's records go, as (edge, subtask of its target, record)."""
    sent = []
    for record in records:
        for index, edge in enumerate(edges):
            copy = record
            if len(edges) > 1:
                copy = record._replace(rid=derive(record.rid, len(edges), index))
            sent += [(edge, to, item) for to, item in routed(dataflow, edge, source, copy)]
    return sent


def expected_rids(dataflow: Dataflow, windows: Windows | None = None) -> dict[str, set[Rid]]:
    """Return for each sink vertex the records that reach it if each is processed once.

    Args:
        windows: how vertices make windows; needed if the dataflow has such vertices.
    """
    reached: dict[tuple[str, int], list[tuple[Record, int]]] = {}
    sinks: dict[str, set[Rid]] = {
        vertex.id: set() for vertex in dataflow.vertices if vertex.kind == SINK
    }
    for name in dataflow.in_order:
        vertex, edges = dataflow.vertex_by_id[name], dataflow.edges_from(name)
        for index in range(vertex.parallelism):
            if vertex.kind == SOURCE:
                split = Split(vertex, f"{name}[{index}]", windows.disorder if windows else 0)
                made = [split.record(offset) for offset in range(1, vertex.records + 1)]
            elif vertex.kind == SINK:
                sinks[name] |= {record.rid for record, _ in reached.get((name, index), ())}
                continue
            elif vertex.is_window:
                assert windows is not None  # a run without watermarks refuses such a vertex
                taken = (record for record, _ in reached.get((name, index), ()))
                made = windows.all_results(vertex, taken)
            else:
                state, made = start_state(vertex), list[Record]()
                for record, port in reached.get((name, index), ()):
                    state, some = apply(vertex, state, record, port)
                    made += some
            for edge, subtask, record in emitted(dataflow, edges, index, made):
                port = dataflow.edges_to(edge.target).index(edge)
                reached.setdefault((edge.target, subtask), []).append((record, port))
    return sinks

"""How the states and channels of a checkpoint are shared among other numbers of subtasks.

The rules are those of the plan of a restore: `inventory/dealing.py` for lists, the key groups for
keyed state, `inventory/in_flight_plan.py` for data in flight. A source keeps its splits in a list,
a sink its transactions. Watermarks in flight are left out; sources make new ones.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import HASH, SOURCE, Dataflow, Edge, Vertex
from snapshots.domain.inventory.dealing import dealt
from snapshots.domain.inventory.in_flight_plan import receivers_of
from snapshots.domain.model.key_groups import key_group, owning_subtask
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.functions import State, is_keyed, start_state
from snapshots.domain.simulators.dataflows.lanes import Item
from snapshots.domain.simulators.dataflows.recovery import Saved

SPLITS, COUNTS, TRANSACTIONS = "splits", "counts", "transactions"
Lists = Mapping[str, Sequence[tuple[int, Any]]]
"""Lists by name; each element comes with the old subtask that had it, in the order of these."""


@dataclass(frozen=True)
class Rescaling:
    """The shares of a checkpoint's state and channels that the subtasks of a new run get.

    Attributes:
        dataflow: of the new run.
        before: the dataflow of the run that took the checkpoint.
        saved: what the checkpoint holds of each old subtask.
        contents: what it holds of each old channel.
    """

    dataflow: Dataflow
    before: Dataflow
    saved: Mapping[ProcessId, Saved]
    contents: Mapping[ChannelId, Sequence[Item]]

    # --- states ----------------------------------------------------------------------------------

    def shares(self) -> dict[ProcessId, Saved]:
        """Return what each new subtask starts with."""
        return {
            ProcessId(f"{vertex.id}[{index}]"): share
            for vertex in self.dataflow.vertices
            for index, share in enumerate(self._shares(vertex))
        }

    def _shares(self, vertex: Vertex) -> Iterator[Saved]:
        former = [self.saved[name] for name in self._former(vertex)]
        lists = dealt_lists(_lists(vertex, former), len(former), vertex.parallelism)
        kept = [item.watermark for item in former if item.watermark is not None]
        for index in range(vertex.parallelism):
            own = lists.get(index, {})
            pending = tuple(tx for _, tx in own.get(TRANSACTIONS, ()))
            if is_keyed(vertex):
                state, holders = _keys_of(vertex, index, former)
            else:
                state, holders = _state_of(vertex, own, index)
            origins = holders | {old for old, _ in own.get(TRANSACTIONS, ())}
            yield Saved(
                state,
                pending,
                min(kept, default=None),
                tuple(f"{vertex.id}[{old}]" for old in sorted(origins)),
            )

    def _former(self, vertex: Vertex) -> list[ProcessId]:
        number = self.before.vertex_by_id[vertex.id].parallelism
        return [ProcessId(f"{vertex.id}[{index}]") for index in range(number)]

    # --- data in flight --------------------------------------------------------------------------

    def channels(self) -> dict[ChannelId, list[Item]]:
        """Return what each new channel starts with."""
        contents: dict[ChannelId, list[Item]] = {}
        for edge in self.dataflow.edges:
            senders = self.dataflow.vertex_by_id[edge.source].parallelism
            for source, target, item in self._old_contents(edge):
                receiver = self._receiver(edge, target, item)
                channel = self.dataflow.channel(edge, source % senders, receiver)
                contents.setdefault(channel, []).append(item)
        return contents

    def _old_contents(self, edge: Edge) -> Iterator[tuple[int, int, Item]]:
        for source in range(self.before.vertex_by_id[edge.source].parallelism):
            for target in self.before.targets(edge, source):
                for item in self.contents.get(self.before.channel(edge, source, target), ()):
                    if item.is_record:
                        yield source, target, item

    def _receiver(self, edge: Edge, old: int, item: Item) -> int:
        """Return the new subtask that keeps a record which lay on the way to an old one."""
        vertex = self.dataflow.vertex_by_id[edge.target]
        before = self.before.vertex_by_id[edge.target].parallelism
        readers = receivers_of(edge.exchange.upper(), old, before, vertex.parallelism)
        if edge.exchange != HASH:
            return readers[0]
        assert item.record is not None  # watermarks are left out
        group = key_group(item.record.key, vertex.max_parallelism)
        return owning_subtask(group, vertex.parallelism, vertex.max_parallelism)


def dealt_lists(lists: Lists, before: int, after: int) -> dict[int, dict[str, list[Any]]]:
    """Return the elements of each list that each new subtask gets."""
    sizes = {name: [(old, 1) for old, _ in items] for name, items in lists.items()}
    shares: dict[int, dict[str, list[Any]]] = {}
    for index, stretches in dealt(sizes, before, after).items():
        for part in stretches:
            own = [item for item in lists[part.state] if item[0] == part.subtask]
            share = shares.setdefault(index, {}).setdefault(part.state, [])
            share += own[part.first : part.first + part.elements]
    return shares


def positions_of(task: str, state: State) -> dict[str, int]:
    """Return the next offset of each split that a source subtask reads."""
    positions: dict[str, int] = state.get(SPLITS, {task: state.get("offset", 1)})
    return positions


def _lists(vertex: Vertex, former: Sequence[Saved]) -> Lists:
    """Return the lists in the states of the old subtasks of a vertex."""
    lists: dict[str, list[tuple[int, Any]]] = {}
    for old, saved in enumerate(former):
        if vertex.kind == SOURCE:
            positions = positions_of(f"{vertex.id}[{old}]", saved.state)
            lists.setdefault(SPLITS, []).extend((old, item) for item in sorted(positions.items()))
        elif saved.state and not is_keyed(vertex):
            lists.setdefault(COUNTS, []).append((old, saved.state))
        lists.setdefault(TRANSACTIONS, []).extend((old, tx) for tx in saved.pending)
    return lists


def _state_of(
    vertex: Vertex, own: Mapping[str, Sequence[Any]], index: int
) -> tuple[State, set[int]]:
    """Return the state that a new subtask makes of its elements, and who had them."""
    if vertex.kind == SOURCE:
        splits = own.get(SPLITS, ())
        return {SPLITS: dict(item for _, item in splits)}, {old for old, _ in splits}
    counts = own.get(COUNTS, ())
    sums = Counter(start_state(vertex))
    for _, state in counts:
        sums.update(state)
    return dict(sums), {old for old, _ in counts}


def _keys_of(vertex: Vertex, index: int, former: Iterable[Saved]) -> tuple[State, set[int]]:
    """Return the keyed state in the key groups of a new subtask, and who had it."""
    groups = vertex.max_parallelism
    items = chain.from_iterable(
        ((old, key, value) for key, value in saved.state.items())
        for old, saved in enumerate(former)
    )
    own = [
        item
        for item in items
        if owning_subtask(key_group(item[1], groups), vertex.parallelism, groups) == index
    ]
    return {key: value for _, key, value in own}, {old for old, *_ in own}

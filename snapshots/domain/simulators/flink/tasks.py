"""A subtask of a simulated Flink job."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow, Vertex
from snapshots.domain.model.key_groups import key_group
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.domain.simulators.dataflows.aligning import AligningTask
from snapshots.domain.simulators.dataflows.functions import (
    Record,
    Split,
    State,
    Windows,
    is_keyed,
    start_state,
)
from snapshots.domain.simulators.dataflows.lanes import Item, Lane
from snapshots.domain.simulators.dataflows.machine import StreamMachine
from snapshots.domain.simulators.dataflows.tasks import subtasks_in_order, task_fields
from snapshots.domain.simulators.flink.rescaling import SPLITS, positions_of
from snapshots.domain.simulators.protocols import flink_watermarks
from snapshots.domain.simulators.protocols.flink_files import Held
from snapshots.domain.simulators.protocols.flink_watermarks import BEGINNING, Valve

KEY_BYTES = 16
ONLY_GROUP = 0
"""The key group that stands for a state without keys."""


@dataclass(eq=False, kw_only=True)
class FlinkTask(AligningTask):
    """A subtask with its part of the checkpoints under way.

    versions: for each key group, how often it has changed.
    base: the files of the newest checkpoint known to be complete, on which the next one builds.
    files: for each checkpoint, its files by key group.
    barriers: the barriers that have come, by channel and checkpoint.
    missing: for each checkpoint, what its acknowledgement waits for.
    recorded: the checkpoints for which this attempt has recorded its state.
    final_cid: the first checkpoint recorded after the task had ended.
    last_complete: the newest checkpoint that the task knows to be complete.
    valve: the task's watermark, and those of its inputs.
    latest: the latest event time that a source has read.
    read_at: when a source read its last record, or was deployed.
    is_late: whether the record that was taken last was dropped, because its window was over.
    """

    splits: dict[str, Split] = field(default_factory=dict)
    versions: Counter[int] = field(default_factory=Counter)
    base: dict[int, Held] = field(default_factory=dict)
    files: dict[int, dict[int, Held]] = field(default_factory=dict)
    barriers: dict[tuple[ChannelId, int], Item] = field(default_factory=dict)
    missing: dict[int, set[str]] = field(default_factory=dict)
    recorded: set[int] = field(default_factory=set)
    final_cid: int | None = None
    last_complete: int = 0
    valve: Valve = field(default_factory=Valve)
    latest: int = BEGINNING
    read_at: int = 0
    windows: Windows
    is_late: bool = False

    def reset(self, state: State) -> None:
        """Put the task in the condition of one that was just deployed."""
        super().reset(state)
        self.valve = flink_watermarks.start(tuple(lane.id for lane in self.inputs))
        self.latest = BEGINNING
        self.final_cid = None
        self.last_complete = 0
        for part in (self.files, self.barriers, self.missing, self.recorded):
            part.clear()

    def next_lane(self) -> Lane | None:
        """Return the next input; what was buffered during an alignment comes first, in order."""
        buffered = [lane for lane in self.inputs if lane.buffered and not lane.blocked]
        if buffered:
            return min(buffered, key=lambda lane: lane.buffered[0].buffered_at or 0)
        return super().next_lane()

    def next_read(self) -> tuple[int, Split, int] | None:
        """Return when the next record of a source comes into being, its split and its offset."""
        positions = positions_of(self.id, self.state).items()
        waiting = [
            (split.available_at(offset), split, offset)
            for split, offset in ((self.splits[name], offset) for name, offset in positions)
            if offset <= split.vertex.records
        ]
        return min(waiting, key=lambda item: (item[0], item[1].name), default=None)

    def state_after(self, split: Split, offset: int) -> State:
        """Return the state of a source that has read this offset of a split."""
        if SPLITS not in self.state:
            return {"offset": offset + 1}
        return {SPLITS: self.state[SPLITS] | {split.name: offset + 1}}

    def absorb(self, record: Record, channel: ChannelId) -> list[Record]:
        """Change the state by a record, and return the records made of it."""
        if self.vertex.is_window:
            self._put_into_window(record)
            return []
        self.note_changed((record.key,))
        return super().absorb(record, channel)

    def _put_into_window(self, record: Record) -> None:
        start = self.windows.start(record.time)
        self.is_late = self.windows.is_over(start, self.valve.watermark)
        if not self.is_late:
            self.note_changed((record.key,))
            self.state = self.windows.add(self.state, record)

    def note_changed(self, keys: Iterable[str]) -> None:
        """Note that the state of these keys is another one now."""
        self.versions.update(map(self._group, keys))

    def sizes(self) -> dict[int, int]:
        """Return the bytes of the state by key group."""
        if not is_keyed(self.vertex):
            return {ONLY_GROUP: KEY_BYTES}
        keys = Counter(self._group(key) for key in self.state)
        return {group: number * KEY_BYTES for group, number in keys.items()}

    def current_versions(self) -> dict[int, int]:
        """Return the versions of the key groups that hold something."""
        return {group: self.versions[group] for group in self.sizes()}

    def _group(self, key: str) -> int:
        return key_group(key, self.vertex.max_parallelism) if is_keyed(self.vertex) else ONLY_GROUP


FlinkMachine = StreamMachine[FlinkTask]


def tasks_of(
    dataflow: Dataflow,
    steps: ModuleType,
    slow: Mapping[str, float],
    tx_timeout: int | None,
    windows: Windows,
    before: Dataflow,
) -> dict[ProcessId, FlinkTask]:
    """Return all subtasks without their channels, those of each vertex after those before it.

    Args:
        steps: the step functions by which the tasks follow barriers.
        slow: how many times longer than others a task takes for a record.
        tx_timeout: us after which a transaction that was not committed is gone.
        windows: the windows of event time that vertices make.
        before: the dataflow whose sources' subtasks the splits are named after.
    """
    return {
        id_: FlinkTask(
            **task_fields(dataflow, vertex, index, id_, slow, tx_timeout),
            state=start_state(vertex),
            steps=steps,
            windows=windows,
            splits=_splits(before.vertex_by_id[vertex.id], windows),
        )
        for vertex, index, id_ in subtasks_in_order(dataflow)
    }


def _splits(vertex: Vertex, windows: Windows) -> dict[str, Split]:
    """Return the splits of a source, one for each of its subtasks; other vertices have none."""
    if vertex.kind != SOURCE:
        return {}
    names = [f"{vertex.id}[{index}]" for index in range(vertex.parallelism)]
    return {name: Split(vertex, name, windows.disorder) for name in names}

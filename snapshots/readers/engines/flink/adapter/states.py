"""What each subtask recorded, in a few numbers: the states of a derived recording.

A state is ``{"bytes": {part: n}, "states": {name: {"entries": n, "bytes": n, "sum": n}}}``; it has
``sum`` if every value is a number. ``states`` is absent where there is too much to read twice.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.model.topology import JsonText
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen, entries_of
from snapshots.readers.engines.flink.adapter.inventory import subtask_inventory
from snapshots.readers.engines.flink.adapter.runs import Run, Subtask
from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.upload import FlinkUpload, StoredCheckpoint
from snapshots.readers.formats.fields import json_text

MOST_BYTES = 64 * 2**20  # of stored state whose entries are summed up, in an upload
MOST_STATES = 100  # of a subtask
_LARGEST = 2**53  # beyond it a sum of numbers may lose digits

State = dict[str, Any]  # as the module says


@dataclass(slots=True)
class _Sum:
    entries: int = 0
    bytes: int = 0
    sum: int | float | None = 0

    def add(self, entry: StateEntry) -> None:
        self.entries += 1
        self.bytes += entry.bytes
        value = entry.value
        if isinstance(value, bool) or not isinstance(value, int | float) or self.sum is None:
            self.sum = None
        else:
            self.sum += value

    def to_json(self) -> dict[str, object]:
        numbers: dict[str, object] = {"entries": self.entries, "bytes": self.bytes}
        if self.sum is not None and -_LARGEST < self.sum < _LARGEST:
            numbers["sum"] = self.sum
        return numbers


class States:
    """Reads the states of an upload's checkpoints, up to MOST_BYTES of stored state."""

    def __init__(self, upload: FlinkUpload) -> None:
        self._upload = upload
        self._left = MOST_BYTES

    def by_subtask(self, checkpoint: FlinkCheckpoint, run: Run) -> dict[Subtask, JsonText]:
        """Return the states of the subtasks of which something is known."""
        if (stored := checkpoint.readable) is not None:
            states = self._stored(checkpoint, stored, run)
        else:
            states = {
                (vertex.vertex, answer.index): {"bytes": present(
                    {"state": answer.state_size, "uploaded": answer.uploaded_size,
                     "in flight": answer.persisted}
                )}
                for vertex in checkpoint.vertices
                for answer in vertex.subtasks
                if answer.state_size is not None
            }  # fmt: skip
        return {subtask: JsonText(json_text(state)) for subtask, state in states.items()}

    def _stored(
        self, checkpoint: FlinkCheckpoint, stored: StoredCheckpoint, run: Run
    ) -> dict[Subtask, State]:
        states: dict[Subtask, State] = {}
        size = sum(operator.size for operator in checkpoint.operators)
        is_read = size <= self._left
        if is_read:
            self._left -= size
        for operator in checkpoint.operators:
            vertex = run.vertex_of(checkpoint, operator.id)
            if vertex is None:
                continue
            width = run.widths[vertex]
            if (vertex, 0) not in states:
                states |= {(vertex, subtask): {"bytes": {}} for subtask in range(width)}
            for subtask in operator.subtasks:
                if subtask.index < width:
                    parts = states[vertex, subtask.index]["bytes"]
                    for name, part in subtask_inventory(subtask).parts.items():
                        parts[name] = parts.get(name, 0) + part
            if is_read:
                self._sum_up(checkpoint.number, stored, operator, vertex, states)
        return states

    def _sum_up(
        self,
        number: int,
        stored: StoredCheckpoint,
        operator: Operator,
        vertex: str,
        states: dict[Subtask, State],
    ) -> None:
        sums: dict[tuple[int, str], _Sum] = defaultdict(_Sum)
        counts: Counter[int] = Counter()
        for entry in entries_of(self._upload, number, stored, operator, OperatorSeen()):
            key = entry.subtask, entry.state
            if key not in sums:
                counts[entry.subtask] += 1
            if entry.subtask >= 0 and counts[entry.subtask] <= MOST_STATES:
                sums[key].add(entry)
        for (subtask, name), sum_ in sums.items():
            if (state := states.get((vertex, subtask))) is None:
                continue
            by_name = state.setdefault("states", {})
            while name in by_name:
                name = f"{operator.name or operator.id}: {name}"
            by_name[name] = sum_.to_json()


def finished(checkpoint: FlinkCheckpoint, run: Run) -> set[Subtask]:
    """Return the subtasks all of whose operators had ended before, as far as the files say it."""
    by_vertex: dict[str, set[int]] = {}
    for operator in checkpoint.operators:
        vertex = run.vertex_of(checkpoint, operator.id)
        if vertex is None:
            continue
        ended = {subtask.index for subtask in operator.subtasks if subtask.finished}
        if operator.finished:
            ended = set(range(run.widths[vertex]))
        by_vertex[vertex] = by_vertex[vertex] & ended if vertex in by_vertex else ended
    return {(vertex, index) for vertex, ended in by_vertex.items() for index in ended}

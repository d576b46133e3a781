"""What each subtask recorded, in a few numbers: the states of a derived recording.

A state is ``{"bytes": {part: n}, "states": {name: {"entries": n, "bytes": n, "sum": n}}}``; ``sum``
where every value is a number. ``states`` is absent where there is too much to read twice.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.model.topology import JsonText
from snapshots.readers.engines.derived_log import present
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen, entries_of
from snapshots.readers.engines.flink.adapter.inventory import subtask_inventory
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.adapter.runs import Run
from snapshots.readers.engines.flink.metadata import Operator
from snapshots.readers.engines.flink.rest.checkpoints import SubtaskTimes
from snapshots.readers.engines.flink.upload import FlinkUpload
from snapshots.readers.formats.fields import json_text

MOST_BYTES = 64 * 2**20  # of stored state whose entries are summed up, in an upload
MOST_STATES = 100  # of a subtask
_LARGEST = 2**53  # beyond it a sum of numbers may lose digits

Subtask = tuple[str, int]  # vertex id and number


@dataclass(slots=True)
class _Sum:
    entries: int = 0
    bytes: int = 0
    sum: int | float | None = 0

    def take(self, entry: StateEntry) -> None:
        self.entries += 1
        self.bytes += entry.bytes
        value = entry.value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        self.sum = self.sum + value if is_number and self.sum is not None else None

    def to_json(self) -> dict[str, object]:
        found: dict[str, object] = {"entries": self.entries, "bytes": self.bytes}
        if self.sum is not None and -_LARGEST < self.sum < _LARGEST:
            found["sum"] = self.sum
        return found


class States:
    """The states of an upload's checkpoints, as far as they are read."""

    def __init__(self, upload: FlinkUpload) -> None:
        self._upload = upload
        self._left = MOST_BYTES

    def of(self, place: Place, run: Run) -> dict[Subtask, JsonText]:
        """By subtask; a subtask is absent where nothing is known of it."""
        if place.has_files:
            return {
                subtask: json_text(state)
                for subtask, state in self._of_files(place, run).items()
                if subtask[0] in run.names
            }
        return {
            (vertex.vertex, told.index): json_text(_told(told))
            for vertex in (place.rest.vertices if place.rest is not None else ())
            for told in vertex.subtasks
            if told.state_size is not None
        }

    def _of_files(self, place: Place, run: Run) -> dict[Subtask, dict[str, object]]:
        found: dict[Subtask, dict[str, dict]] = {}
        metadata = place.stored.metadata
        is_read = metadata.size <= self._left
        if is_read:
            self._left -= metadata.size
        for operator in metadata.operators:
            vertex = run.vertex_of(place, operator.id)
            if vertex is None:
                continue
            wide = run.graph.vertex_by_id[vertex].parallelism
            if (vertex, 0) not in found:
                found |= {(vertex, subtask): {"bytes": {}} for subtask in range(wide)}
            for one in operator.subtasks:
                if one.index < wide:
                    parts = found[vertex, one.index]["bytes"]
                    for name, size in subtask_inventory(one).parts.items():
                        parts[name] = parts.get(name, 0) + size
            if is_read:
                self._sum_up(place, operator, vertex, found)
        return found

    def _sum_up(
        self, place: Place, operator: Operator, vertex: str, found: dict[Subtask, dict]
    ) -> None:
        sums: dict[tuple[int, str], _Sum] = defaultdict(_Sum)
        states: Counter[int] = Counter()
        for entry in entries_of(self._upload, place, operator, OperatorSeen()):
            where = entry.subtask, entry.state
            if where not in sums:
                states[entry.subtask] += 1
            if entry.subtask >= 0 and states[entry.subtask] <= MOST_STATES:
                sums[where].take(entry)
        for (subtask, name), sum_ in sums.items():
            if (own := found.get((vertex, subtask))) is None:
                continue
            of_subtask = own.setdefault("states", {})
            while name in of_subtask:
                name = f"{operator.name or operator.id}: {name}"
            of_subtask[name] = sum_.to_json()


def _told(one: SubtaskTimes) -> dict[str, object]:
    parts = {"state": one.state_size, "uploaded": one.uploaded_size, "in flight": one.persisted}
    return {"bytes": present(parts)}


def finished(place: Place, run: Run) -> set[Subtask]:
    """The subtasks of which all operators had finished before, as far as the files say it."""
    found: dict[str, set[int]] = {}
    for operator in place.stored.metadata.operators if place.has_files else ():
        vertex = run.vertex_of(place, operator.id)
        if vertex is None:
            continue
        ended = {one.index for one in operator.subtasks if one.finished}
        if operator.finished:
            ended = set(range(run.graph.vertex_by_id[vertex].parallelism))
        found[vertex] = found[vertex] & ended if vertex in found else ended
    return {(vertex, index) for vertex, ended in found.items() for index in ended}

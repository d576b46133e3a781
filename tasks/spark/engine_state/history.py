"""One state of a query at many batches, from the newest to the oldest, with few reads by Spark.

A read costs Spark seconds, however small the state is. So from a batch that was read whole back to
an older one there are two reads: the older batch whole, and the feed of what every batch between
changed. Put together they must give the newer batch as it was read; else, and where Spark gives no
feed, each batch is read by itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from snapshots.readers.engines.spark_streaming.adapter.entries import as_text
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.stored_state import DELETE
from tasks.spark.engine_state.state import BY_SPARK, StateRead, StateRequest

MOST_KEPT = 200_000  # rows of all batches of a stretch
LONGEST_STRETCH = 64  # batches

State = dict[tuple[int, bytes], dict[str, Json]]  # by partition and key


@dataclass
class History:
    """read: asks Spark. request: operator and reading. has_changes: whether the files are there of
    what a batch changed. batches: whose state can be put together. by_changes: whether Spark gives
    a feed of it."""

    read: Callable[[StateRequest], StateRead]
    request: StateRequest
    has_changes: Callable[[int], bool]
    batches: frozenset[int]
    by_changes: bool = True
    above: StateRead | None = None
    kept: dict[int, StateRead] = field(default_factory=dict)

    def at(self, batch: int) -> StateRead:
        """Each batch is asked for after all newer ones."""
        if batch not in self.kept and not self._by_changes(batch):
            found = self.read(replace(self.request, batch=batch))
            self.kept[batch] = found
            self.above = found if _is_plain(found) else None
        for newer in [one for one in self.kept if one > batch]:
            del self.kept[newer]
        return self.kept[batch]

    def _by_changes(self, batch: int) -> bool:
        """Whether a stretch of batches up to this one could be had."""
        oldest = self._oldest(batch)
        if oldest is None or oldest == batch:
            return False
        found = self._stretch(oldest)
        self.by_changes = found is not None
        if found is not None:
            self.kept |= found
            self.above = found[oldest]
        return self.by_changes

    def _oldest(self, batch: int) -> int | None:
        """Of the batches down from this one without a gap, as many as there is room for."""
        if not self.by_changes or self.above is None or self.above.batch != batch + 1:
            return None
        rows = sum(map(len, self.above.rows.values()))
        most = min(LONGEST_STRETCH, MOST_KEPT // max(rows, 1))
        oldest = None
        for one in range(batch, batch - most, -1):
            if one not in self.batches or not self.has_changes(one + 1):
                break
            oldest = one
        return oldest

    def _stretch(self, oldest: int) -> dict[int, StateRead] | None:
        """The batches from the oldest up to, and without, ``above``; None where that fails."""
        base = self.read(replace(self.request, batch=oldest))
        if not _is_plain(base):
            return None
        changes = self.read(replace(self.request, batch=self.above.batch, changes_from=oldest + 1))
        if not _is_plain(changes):
            return None
        state, found = _state(base), {oldest: base}
        by_batch = _by_batch(changes)
        for batch in range(oldest + 1, self.above.batch + 1):
            _apply(state, by_batch.get(batch, ()))
            if batch < self.above.batch:
                found[batch] = replace(base, batch=batch, rows=_rows(state))
        return found if _same(state, _state(self.above)) else None


def of_side(store: StateRead) -> StateRead:
    """The rows of a join's side, from those of its store."""
    rows = {
        partition: [
            {"key": _without(row["key"], "index"), "value": _without(row["value"], "matched")}
            for row in own
        ]
        for partition, own in store.rows.items()
    }
    return replace(store, rows=rows)


def _without(value: Json, column: str) -> Json:
    is_struct = isinstance(value, dict)
    return {name: value[name] for name in value if name != column} if is_struct else value


def same_rows(one: StateRead, other: StateRead) -> bool:
    """Whether both are whole and have the same rows, in whatever order."""
    found = (
        sorted((partition, as_text(row)) for partition, rows in read.rows.items() for row in rows)
        for read in (one, other)
    )
    return _is_plain(one) and _is_plain(other) and next(found) == next(found)


def _is_plain(answer: StateRead) -> bool:
    """Whether Spark gave all there is."""
    lost = answer.truncated or answer.lost or answer.missing_partitions
    return answer.by == BY_SPARK and answer.failure is None and not lost


def _state(answer: StateRead) -> State:
    return {
        (partition, as_text(row.get("key"))): row
        for partition, rows in answer.rows.items()
        for row in rows
    }


def _by_batch(changes: StateRead) -> dict[int, list[tuple[int, dict[str, Json]]]]:
    """Partition and row, as they came."""
    found: dict[int, list[tuple[int, dict[str, Json]]]] = {}
    for partition, rows in changes.rows.items():
        for row in rows:
            found.setdefault(row["batch"], []).append((partition, row))
    return found


def _apply(state: State, changes: Iterable[tuple[int, dict[str, Json]]]) -> None:
    for partition, row in changes:
        place = partition, as_text(row.get("key"))
        if row["change"] == DELETE:
            state.pop(place, None)
        else:
            known = {name: row[name] for name in row if name not in ("batch", "change")}
            state[place] = known


def _rows(state: State) -> dict[int, list[dict[str, Json]]]:
    found: dict[int, list[dict[str, Json]]] = {}
    for (partition, _), row in state.items():
        found.setdefault(partition, []).append(row)
    return found


def _same(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(
        as_text(one[place]) == as_text(other[place]) for place in one
    )

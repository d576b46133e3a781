"""Read one state of a query at many batches, newest first, with few reads by Spark.

A read costs Spark seconds, however small the state is. From a batch that was read whole, back to
an older one, two reads suffice: the older batch whole, and the feed of changes in between. Applied
in order they must give the newer batch as it was read. If they do not, or if Spark offers no feed,
the batches are read whole, many with one query. If that fails, each batch is read by itself.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from snapshots.readers.engines.spark_streaming.adapter.entries import as_text
from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.state.stored_state import DELETE
from tasks.spark.engine_state.state import BY_SPARK, StateRead, StateRequest

MOST_KEPT = 200_000  # rows of all batches of a stretch
LONGEST_STRETCH = 64  # batches
FIRST_STRETCH = 5  # batches that are read whole with one query; then twice as many each time
MOST_TASKS = 512  # of Spark, for one query

State = dict[tuple[int, bytes], dict[str, Json]]  # by partition and key


@dataclass
class History:
    """The readings of one state at many batches.

    Args:
        read: reads the state after one batch with Spark.
        read_batches: reads it after several batches at once; empty if that does not work.
        request: operator and reading.
        has_changes: tells whether the files of a batch's changes are there.
        batches: the batches whose state can be rebuilt from files.
        by_changes: whether Spark offers a feed of changes.
        partitions: how many tasks of Spark one read takes.
        above: the newest batch that was read and is newer than all still to be read.
        stretch: how many batches the next query reads whole.
    """

    read: Callable[[StateRequest], StateRead]
    read_batches: Callable[[StateRequest, Sequence[int], int], dict[int, StateRead]]
    request: StateRequest
    has_changes: Callable[[int], bool]
    batches: frozenset[int]
    by_changes: bool = True
    partitions: int = 1
    above: StateRead | None = None
    stretch: int = FIRST_STRETCH
    kept: dict[int, StateRead] = field(default_factory=dict)

    def at(self, batch: int) -> StateRead:
        """Return the state at a batch; batches must be requested newest first."""
        if batch not in self.kept and not self._by_changes(batch) and not self._together(batch):
            state = self.read(replace(self.request, batch=batch))
            self.kept[batch] = state
            self.above = state if is_plain(state) else None
        for newer in [kept for kept in self.kept if kept > batch]:
            del self.kept[newer]
        return self.kept[batch]

    def _by_changes(self, batch: int) -> bool:
        """Rebuild a stretch of batches that ends at ``batch``; return whether that worked."""
        if not self.by_changes or self.above is None or self.above.batch != batch + 1:
            return False
        oldest = self._oldest(batch, self.above)
        if oldest is None or oldest == batch:
            return False
        stretch = self._stretch(oldest, batch, self.above)
        self.by_changes = stretch is not None
        if stretch is not None:
            self.kept |= stretch
            self.above = stretch[oldest]
        return self.by_changes

    def _together(self, batch: int) -> bool:
        """Read the batch and older ones with one query; return whether that worked."""
        most = min(self.stretch, LONGEST_STRETCH, max(1, MOST_TASKS // self.partitions))
        wanted = sorted((each for each in self.batches if each <= batch), reverse=True)[:most]
        if self.by_changes or len(wanted) < 2 or wanted[0] != batch:
            return False
        answers = self.read_batches(self.request, wanted, MOST_KEPT)
        self.stretch *= 2
        self.kept |= answers
        return batch in answers

    def _oldest(self, batch: int, above: StateRead) -> int | None:
        """Return the oldest batch of the gapless stretch below ``batch`` that fits in memory."""
        rows = sum(map(len, above.rows.values()))
        most = min(LONGEST_STRETCH, MOST_KEPT // max(rows, 1))
        oldest = None
        for candidate in range(batch, batch - most, -1):
            if candidate not in self.batches or not self.has_changes(candidate + 1):
                break
            oldest = candidate
        return oldest

    def _stretch(self, oldest: int, newest: int, above: StateRead) -> dict[int, StateRead] | None:
        """Rebuild the batches from ``oldest`` to ``newest``; return None if that fails.

        ``above`` is the batch after them, to which the changes must lead.
        """
        base = self.read(replace(self.request, batch=oldest))
        if not is_plain(base):
            return None
        changes = self.read(replace(self.request, batch=newest + 1, changes_from=oldest + 1))
        if not is_plain(changes):
            return None
        state, stretch = _state(base), {oldest: base}
        by_batch = _by_batch(changes)
        for batch in range(oldest + 1, newest + 1):
            _apply(state, by_batch.get(batch, ()))
            stretch[batch] = replace(base, batch=batch, rows=_rows(state))
        _apply(state, by_batch.get(newest + 1, ()))
        return stretch if _same(state, _state(above)) else None


def of_side(store: StateRead) -> StateRead:
    """Return the rows of a join's side, made from those of its store."""
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
    """Tell whether two reads are complete and have the same rows in any order."""
    texts = (
        sorted((partition, as_text(row)) for partition, rows in read.rows.items() for row in rows)
        for read in (one, other)
    )
    return is_plain(one) and is_plain(other) and next(texts) == next(texts)


def is_plain(answer: StateRead) -> bool:
    """Tell whether Spark itself read the state completely."""
    lost = answer.truncated or answer.lost or answer.missing_partitions
    return answer.by == BY_SPARK and answer.failure is None and not lost


def _state(answer: StateRead) -> State:
    return {
        (partition, as_text(row.get("key"))): row
        for partition, rows in answer.rows.items()
        for row in rows
    }


def _by_batch(changes: StateRead) -> dict[int, list[tuple[int, dict[str, Json]]]]:
    """Group changes by batch, as (partition, row), in the order in which they were read."""
    by_batch: dict[int, list[tuple[int, dict[str, Json]]]] = {}
    for partition, rows in changes.rows.items():
        for row in rows:
            by_batch.setdefault(row["batch"], []).append((partition, row))
    return by_batch


def _apply(state: State, changes: Iterable[tuple[int, dict[str, Json]]]) -> None:
    for partition, row in changes:
        key = partition, as_text(row.get("key"))
        if row["change"] == DELETE:
            state.pop(key, None)
        else:
            columns = {name: row[name] for name in row if name not in ("batch", "change")}
            state[key] = columns


def _rows(state: State) -> dict[int, list[dict[str, Json]]]:
    rows_of: dict[int, list[dict[str, Json]]] = {}
    for (partition, _), row in state.items():
        rows_of.setdefault(partition, []).append(row)
    return rows_of


def _same(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(
        as_text(one[key]) == as_text(other[key]) for key in one
    )

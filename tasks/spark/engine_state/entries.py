"""Read the entries of a Structured Streaming checkpoint's state with Spark's own data source."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import ChannelBytes, StateEntry
from snapshots.domain.inventory.model import UploadInventory
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.engines.spark_streaming.adapter.entries import (
    Rows,
    Wanted,
    missing_sentence,
    rows_by_files,
    without_event_time,
)
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.adapter.sizes import StoredVersions
from snapshots.readers.engines.spark_streaming.state.readings import (
    DEFAULT,
    JOIN_SIDE,
    STORE,
    TIMERS,
    VARIABLE,
    Reading,
)
from snapshots.readers.engines.spark_streaming.state.store_files import CHANGES
from snapshots.readers.engines.spark_streaming.state.stored_state import Kept
from tasks.spark.engine_state.failures import Failure
from tasks.spark.engine_state.history import History, is_plain, of_side, same_rows
from tasks.spark.engine_state.state import (
    BY_FILES,
    Patience,
    StateRead,
    StateReader,
    StateRequest,
    open_state,
)

MOST_ROWS = 100_000  # of one state of one batch
MOST_READS = 500  # reads by Spark for one upload
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
TOO_MANY = (
    f"Spark reads at most {MOST_READS} states of an upload; this state comes from the files alone."
)
TOO_OFTEN = Failure(None, TOO_MANY)


@dataclass
class WithState:
    """An uploaded checkpoint whose entries Spark reads.

    If Spark fails, the decoder of the files reads the entries, and the inventory holds the reason.
    """

    upload: SparkUpload
    session: SparkSession

    def entries(self) -> Iterator[StateEntry]:
        with _StateReads(self.upload, self.session) as reads:
            yield from self.upload.reads.entries(self.upload.jobs, reads.read_rows)

    def inventory(self) -> UploadInventory:
        return self.upload.inventory()

    def restore_check(self) -> UploadCheck:
        return self.upload.restore_check()

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        return self.upload.channel_bytes()

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        return self.upload.recording()


@dataclass
class _StateReads:
    """Reads one job's states after another, from a private copy of the job's checkpoint.

    Only the current job's copy is kept.

    Args:
        count: how often Spark has read.
        histories: the current job's histories, by operator and reading.
        of_stores: whether a join side's rows equal those of its store, by operator and reading.
        of_files: whether the rows by Spark equal those by the files alone, by operator and reading.
    """

    upload: SparkUpload
    session: SparkSession
    count: int = 0
    folder: str | None = None
    reader: StateReader | None = None
    histories: dict[tuple[int, Reading], History] = field(default_factory=dict)
    of_stores: dict[tuple[int, Reading], bool] = field(default_factory=dict)
    of_files: dict[tuple[int, Reading], bool] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)
    patience: Patience = field(default_factory=Patience)
    kept: Kept = field(default_factory=Kept)

    def __enter__(self) -> "_StateReads":
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def read_rows(self, wanted: Wanted) -> Rows:
        if wanted.job.checkpoint.is_state_alone:  # Spark asks for both logs
            return rows_by_files(wanted, self.upload.limits, self.kept)
        self._open(wanted)
        if wanted.batch not in wanted.job.in_flight and self._lacks(wanted):
            return rows_by_files(wanted, self.upload.limits, self.kept)
        if self.of_files.get((wanted.operator, wanted.reading)):
            return rows_by_files(wanted, self.upload.limits, self.kept)
        answer = self._side(wanted) if _has_store(wanted) else self._answer(wanted)
        if answer.failure is TOO_OFTEN:
            rows = rows_by_files(wanted, self.upload.limits, self.kept)
            return replace(rows, reason=rows.reason or TOO_MANY)
        assert self.reader is not None  # it is open
        return replace(_rows(answer), damaged=self.reader.damaged)

    def _answer(self, wanted: Wanted) -> StateRead:
        key = wanted.operator, wanted.reading
        if key not in self.of_files and wanted.reading.kind in (VARIABLE, TIMERS, JOIN_SIDE):
            request = StateRequest(wanted.operator, wanted.reading, wanted.batch)
            newest = self._read(replace(request, most_rows=MOST_ROWS))
            if is_plain(newest):
                self.of_files[key] = self._is_by_files(wanted, newest)
            return newest
        if key not in self.histories:
            self.histories[key] = self._history(wanted)
        return self.histories[key].at(wanted.batch)

    def _side(self, wanted: Wanted) -> StateRead:
        """Return the rows of a join's side.

        They usually are the rows of one store. If the newest batch confirms it, only the store is
        read.
        """
        key = wanted.operator, wanted.reading
        if self.of_stores.get(key, True):
            store = replace(wanted, reading=Reading(STORE, wanted.reading.store))
            side = of_side(self._answer(store))
            if key not in self.of_stores:
                own = self._answer(wanted)
                self.of_stores[key] = same_rows(side, own)
                return own
            return side
        return self._answer(wanted)

    def _is_by_files(self, wanted: Wanted, newest: StateRead) -> bool:
        """Tell whether the files alone give the rows that Spark has read.

        Then they give those of older batches as well, of which Spark offers no feed of changes.
        """
        files = without_event_time(wanted, rows_by_files(wanted, self.upload.limits, self.kept))
        own = without_event_time(wanted, Rows(newest.rows))
        by_files = replace(newest, rows=dict(files.by_partition))
        return files.complete and same_rows(replace(newest, rows=dict(own.by_partition)), by_files)

    def _history(self, wanted: Wanted) -> History:
        """Return the history of a state.

        Spark offers no change feed for join sides, variables and timers.
        """
        request = StateRequest(wanted.operator, wanted.reading, most_rows=MOST_ROWS)
        by_changes = wanted.reading.kind in (DEFAULT, STORE)
        has_state = (replace(wanted, batch=batch) for batch in wanted.job.with_state)
        complete = frozenset(older.batch for older in has_state if not self._lacks(older))
        has_changes = partial(self._has_changes, wanted)
        tasks = sum(1 for _ in self._partitions(wanted))
        return History(
            self._read,
            self._read_batches,
            request,
            has_changes,
            complete,
            by_changes,
            max(1, tasks),
        )

    def _lacks(self, wanted: Wanted) -> bool:
        """Tell whether files are missing from which the state after the batch is built."""
        return any(part.load(wanted.batch + 1).lacking for part in self._partitions(wanted))

    def _has_changes(self, wanted: Wanted, batch: int) -> bool:
        """Tell whether each partition has a file of the batch's changes."""
        wrote = [part.wrote(batch + 1) for part in self._partitions(wanted)]
        return all(any(file.kind in CHANGES for file in files) for files in wrote)

    def _partitions(self, wanted: Wanted) -> Iterable[StoredVersions]:
        stores = self.upload.states[wanted.job.folder].stores.get(wanted.operator, {})
        listed = stores.get(wanted.reading.store_in(stores), {})
        has = wanted.job.checkpoint.has_partition
        return [part for number, part in listed.items() if has(number, wanted.batch)]

    def _read(self, request: StateRequest) -> StateRead:
        self.count += 1
        if self.count > MOST_READS:
            return StateRead(request, request.batch, True, {}, by=None, failure=TOO_OFTEN)
        assert self.reader is not None  # read_rows has opened it
        return self.reader.read(request)

    def _read_batches(
        self, request: StateRequest, batches: Sequence[int], most_rows: int
    ) -> dict[int, StateRead]:
        self.count += 1
        if self.count > MOST_READS:
            return {}
        assert self.reader is not None  # read_rows has opened it
        return self.reader.read_batches(request, batches, most_rows)

    def _open(self, wanted: Wanted) -> None:
        if self.reader is None or self.folder != wanted.job.folder:
            self.stack.close()
            self.histories.clear()
            self.of_stores.clear()
            self.of_files.clear()
            opened = open_state(
                self.session,
                wanted.job.checkpoint,
                self.upload.limits,
                _scratch(self.upload.root),
                self.patience,
            )
            self.reader = self.stack.enter_context(opened)
            self.folder = wanted.job.folder


def _has_store(wanted: Wanted) -> bool:
    """Tell whether the reading is of a join's side that has a store of its own."""
    stores = wanted.job.checkpoint.versions.get(wanted.operator, {})
    return wanted.reading.kind == JOIN_SIDE and wanted.reading.store in stores


def _scratch(root: Path) -> Path | None:
    """Return the folder for private copies: beside the upload, where executors see it too.

    Copies there are hard links. Return None if Spark could misread the path.
    """
    return root.parent if _PLAIN_PATH.fullmatch(str(root.parent)) else None


def _rows(answer: StateRead) -> Rows:
    reasons = [
        _why(answer),
        f"Only the first {MOST_ROWS:,} rows are read." if answer.truncated else None,
        missing_sentence(answer.missing_partitions),
        next(iter(answer.lost.values()), None),
    ]
    sentences = list(dict.fromkeys(reason for reason in reasons if reason))
    complete = not (
        answer.by is None or answer.truncated or answer.missing_partitions or answer.lost
    )
    return Rows(answer.rows, complete, " ".join(sentences) or None)


def _why(answer: StateRead) -> str | None:
    """Explain why Spark did not read the state, or return None if it did."""
    if answer.failure is None:
        return None
    instead = " The files were read without it." if answer.by == BY_FILES and answer.rows else ""
    return answer.failure.sentence + instead

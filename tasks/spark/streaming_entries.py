"""Entries of a Structured Streaming checkpoint's state as Spark's own data source reads them."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from snapshots.domain.assembly import Header
from snapshots.domain.contents.entries import ChannelBytes, StateEntry
from snapshots.domain.contents.model import UploadContents
from snapshots.domain.recording import LoggedEvent
from snapshots.readers.spark_streaming.engine.entries import (
    Rows,
    Wanted,
    missing_sentence,
    rows_by_files,
)
from snapshots.readers.spark_streaming.engine.reader import SparkUpload
from tasks.spark.streaming_state import BY_FILES, StateRead, StateReader, StateRequest, open_state

MOST_ROWS = 100_000  # of one state of one batch
MOST_READS = 500  # states of all batches that Spark is asked for
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")
TOO_MANY = (
    f"Spark is asked for {MOST_READS} states of an upload and no more; of this one there is what "
    "the files alone tell."
)


@dataclass
class WithState:
    """An EngineUpload whose entries Spark reads. Where it fails, the reason is in ``contents``, and
    what the decoder of the files can read is given instead."""

    upload: SparkUpload
    session: SparkSession

    def entries(self) -> Iterator[StateEntry]:
        with _Asking(self.upload, self.session) as asking:
            yield from self.upload.reads.entries(self.upload.jobs, asking.ask)

    def contents(self) -> UploadContents:
        return self.upload.contents()

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        return self.upload.channel_bytes()

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        return self.upload.recording()


@dataclass
class _Asking:
    """Keeps the private copy of one job at a time; jobs are asked for one after the other."""

    upload: SparkUpload
    session: SparkSession
    count: int = 0
    folder: str | None = None
    reader: StateReader | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> "_Asking":
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def ask(self, wanted: Wanted) -> Rows:
        self.count += 1
        if self.count > MOST_READS:
            found = rows_by_files(wanted, self.upload.limits)
            return Rows(found.by_partition, found.complete, found.reason or TOO_MANY)
        request = StateRequest(wanted.operator, wanted.reading, wanted.batch, most_rows=MOST_ROWS)
        return _rows(self._reader(wanted).read(request))

    def _reader(self, wanted: Wanted) -> StateReader:
        if self.reader is None or self.folder != wanted.job.folder:
            self.stack.close()
            opened = open_state(
                self.session, wanted.job.checkpoint, self.upload.limits, _scratch(self.upload.root)
            )
            self.reader = self.stack.enter_context(opened)
            self.folder = wanted.job.folder
        return self.reader


def _scratch(root: Path) -> Path | None:
    """Beside the upload's files, which executors see, too; a copy there takes links alone."""
    return root.parent if _PLAIN_PATH.fullmatch(str(root.parent)) else None


def _rows(answer: StateRead) -> Rows:
    reasons = [
        _why(answer),
        f"Only the first {MOST_ROWS:,} rows are read." if answer.truncated else None,
        missing_sentence(answer.missing_partitions),
        next(iter(answer.lost.values()), None),
    ]
    known = list(dict.fromkeys(reason for reason in reasons if reason))
    complete = not (
        answer.by is None or answer.truncated or answer.missing_partitions or answer.lost
    )
    return Rows(answer.rows, complete, " ".join(known) or None)


def _why(answer: StateRead) -> str | None:
    """Why it was not Spark that read."""
    if answer.failure is None:
        return None
    instead = " The files were read without it." if answer.by == BY_FILES and answer.rows else ""
    return answer.failure.sentence + instead

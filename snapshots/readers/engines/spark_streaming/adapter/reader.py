"""The reader of Spark's checkpoint directories."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.inventory.model import FileUse, UploadInventory
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.defects import InputRefused, quoted
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.engines.base import START_BYTES, Beginnings, EngineUpload
from snapshots.readers.engines.log_stories import told_by_logs
from snapshots.readers.engines.spark_streaming import upload as uploads
from snapshots.readers.engines.spark_streaming.adapter.entries import Reads, rows_by_files
from snapshots.readers.engines.spark_streaming.adapter.events import derived_recording
from snapshots.readers.engines.spark_streaming.adapter.files import MOST_NAMED, file_uses
from snapshots.readers.engines.spark_streaming.adapter.findings import findings
from snapshots.readers.engines.spark_streaming.adapter.inventory import upload_inventory
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob, jobs_of
from snapshots.readers.engines.spark_streaming.adapter.listed_upload import (
    listed_upload,
    names_spark,
)
from snapshots.readers.engines.spark_streaming.adapter.progress_upload import ProgressUpload
from snapshots.readers.engines.spark_streaming.adapter.restore_check import restore_check
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.driver_logs import begins_as_driver_log, read_logs
from snapshots.readers.engines.spark_streaming.files import Files, list_files, open_regular
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.progress import Progress, looks_like_progress
from snapshots.readers.engines.spark_streaming.report_documents import begins_with_reports
from snapshots.readers.engines.spark_streaming.state.stored_state import Kept
from snapshots.readers.engines.told import Beside, ToldUpload
from snapshots.readers.formats.listings import paths_in, read_listing
from snapshots.readers.formats.log_lines import beginning

_LOG_FILE = re.compile(r"(?:(.*)/)?(offsets|commits)/\d+|(?:(.*)/)?(metadata)")

_MOST_TRIED = 1_000  # files that may hold progress reports
_STORED_STATE = re.compile(
    r"(?:.*/)?state/\d+/\d+/(?:[^/]+/)?\d+(?:_[0-9A-Za-z-]+)?\.(?:delta|snapshot|changelog|zip)"
)


class SparkStreamingReader:
    """Reads one or several checkpoint directories, and what lies beside them."""

    name = "spark-streaming"
    title = "Spark Structured Streaming checkpoints"

    def recognises(self, files: Beginnings) -> str | None:
        """Recognise a folder with two of ``offsets/<batch>``, ``commits/<batch>``, ``metadata``.

        A file of state is enough, too.
        """
        parts_by_folder: dict[str, set[str]] = {}
        for name in files.names:
            if match := _LOG_FILE.fullmatch(name):
                folder = match[1] or match[3] or ""
                parts_by_folder.setdefault(folder, set()).add(match[2] or match[4])
        for folder, parts in sorted(parts_by_folder.items()):
            if len(parts) > 1:
                holder = f"The folder {quoted(folder)}" if folder else "It"
                return f"{holder} holds {' and '.join(sorted(parts))}, as Spark's checkpoints do."
        if state := next(filter(_STORED_STATE.fullmatch, files.names), None):
            return f"{quoted(state)} is named as Spark names its files of state."
        for name in files.names[:_MOST_TRIED]:
            if names_spark(paths_in(files.read(name))):
                return f"{quoted(name)} is a listing of files that names those of a checkpoint."
            if begins_as_driver_log(beginning(files.read(name))):
                return (
                    f"{quoted(name)} begins as a log of Spark's, by the classes that write to it."
                )
            if holds := begins_with_reports(files.read(name)):
                return f"{quoted(name)} begins as {holds}."
        return None

    def read(self, root: Path) -> EngineUpload:
        """Read the files below a folder. Raises: InputRefused."""
        files = list_files(root, SparkLimits().files)
        told = _told(files)
        if told is None:
            return _of_files(root, files)
        try:
            return Beside(_of_files(root, files), told)
        except InputRefused:  # nothing else can be read
            if told.tells_nothing:
                raise told.refusal() from None
            return told


def _of_files(root: Path, files: Files) -> EngineUpload:
    """Read the checkpoint directories or the reports of an upload. Raises: InputRefused."""
    if uploads.find_checkpoints(files):
        return SparkUpload(root)
    tried = sorted(files.entries)[:_MOST_TRIED]
    if any(looks_like_progress(files, path) for path in tried if files.entries[path].size):
        return ProgressUpload(root)
    return SparkUpload(root)  # which refuses it


def _told(files: Files) -> ToldUpload | None:
    """Return what listings and logs tell; None without such files. Raises: InputRefused."""
    sizes = {path: entry.size for path, entry in files.entries.items()}
    starts = {path: _start(files, path) for path in sorted(files.entries)[:_MOST_TRIED]}
    listings = tuple(
        read_listing(files.root, path)
        for path, start in starts.items()
        if names_spark(paths_in(start))
    )
    logs = [path for path, start in starts.items() if begins_as_driver_log(beginning(start))]
    told = listed_upload(listings, sizes) if listings else None
    if not logs:
        return told
    reading = read_logs(files.root, logs, SparkLimits())
    by_logs = told_by_logs("spark", reading.stories.values(), reading.accounts, sizes)
    return by_logs if told is None else told.and_told(by_logs)


def _start(files: Files, path: str) -> bytes:
    try:
        with open_regular(files.root / path) as file:
            return file.read(START_BYTES)
    except OSError:
        return b""


@dataclass
class SparkUpload(EngineUpload):
    """An upload of Spark's. A batch drains its channels; what is in flight is a range of offsets.

    Raises: InputRefused where there is no checkpoint in it.

    Attributes:
        reads: what is known of states after their entries were read.
    """

    root: Path
    limits: SparkLimits = field(default_factory=SparkLimits)
    reads: Reads = field(default_factory=Reads)

    def __post_init__(self) -> None:
        self.upload = uploads.read_upload(self.root, self.limits)
        self.jobs = jobs_of(self.upload.checkpoints)

    def inventory(self) -> UploadInventory:
        uses = self._file_uses()
        reports = {job.folder: self._reports(job) for job in self.jobs}
        return upload_inventory(
            self.jobs,
            self.states,
            reports,
            self.reads,
            uses,
            list(self._notes()),
            {job.folder: findings(self.upload, self.jobs, job) for job in self.jobs},
        )

    def restore_check(self) -> UploadCheck:
        return restore_check(self.jobs, self.states, self._file_uses(), self.limits)

    def _file_uses(self) -> tuple[FileUse, ...]:
        files = list_files(self.root, self.limits.files).entries
        sizes = {path: entry.size for path, entry in files.items()}
        return file_uses(self.upload, self.jobs, self.states, sizes)

    def entries(self) -> Iterator[StateEntry]:
        """Yield the entries that the decoder of the files can read."""
        return self.reads.entries(
            self.jobs, partial(rows_by_files, limits=self.limits, kept=Kept())
        )

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        return derived_recording(self.upload, self.jobs, self.states)

    @cached_property
    def states(self) -> dict[str, StateSizes]:
        """The stored state of each checkpoint, by its folder."""
        return {job.folder: StateSizes(job.checkpoint, self.limits) for job in self.jobs}

    def _reports(self, job: SparkJob) -> dict[int, Progress]:
        """Return the progress reports of a job by batch, as the checkpoint itself takes them."""
        query = job.checkpoint.query
        return {
            report.batch: report
            for report in self.upload.reports
            if not report.idle and (query is None or report.query in (query, None))
        }

    def _notes(self) -> Iterator[str]:
        yield from map(str, self.upload.damaged[:MOST_NAMED])
        if any(len(job.batches) > MOST_NAMED for job in self.jobs):
            yield f"A file names only the newest {MOST_NAMED} batches that need it."

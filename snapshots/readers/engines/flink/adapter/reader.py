"""The reader of Flink's checkpoints, savepoints and answers of its REST API."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snapshots.domain.answering.job_report import JobReport
from snapshots.domain.archive.model import JobFacts
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import ChannelBytes, StateEntry, StateTypes
from snapshots.domain.inventory.model import UploadInventory
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.defects import quoted
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.engines.base import START_BYTES, Beginnings, EngineUpload
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.checkpoints import checkpoints_of
from snapshots.readers.engines.flink.adapter.entries import OperatorSeen, entries_of
from snapshots.readers.engines.flink.adapter.in_flight import InFlightReading
from snapshots.readers.engines.flink.adapter.inventory import upload_inventory
from snapshots.readers.engines.flink.adapter.recording import recording
from snapshots.readers.engines.flink.adapter.restore_check import restore_check
from snapshots.readers.engines.flink.adapter.runs import runs_of
from snapshots.readers.engines.flink.files import CHECKPOINT_FOLDER
from snapshots.readers.engines.flink.listed import names_flink
from snapshots.readers.engines.flink.metadata import is_metadata
from snapshots.readers.engines.flink.rest.archive import facts_of_upload
from snapshots.readers.engines.flink.rest.beginnings import begins_as_answer, looks_like_json
from snapshots.readers.engines.flink.rest.report import report_of
from snapshots.readers.engines.flink.sql.query import Query
from snapshots.readers.engines.flink.text_logs.messages import begins_as_log
from snapshots.readers.engines.flink.upload import METADATA, FlinkUpload, read_upload
from snapshots.readers.formats.listings import paths_in
from snapshots.readers.formats.log_lines import beginning

_HEX = "[0-9a-f]{32}"
_ANSWER_NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:^|/)jobs/{_HEX}(?:/.*)?\.json$",
        rf"(?:^|/)checkpoint-\d+-subtasks-{_HEX}\.json$",
        r"(?:^|/)checkpoints-config\.json$",
    )
)
_ARCHIVE_NAME = re.compile(rf"(?:^|/){_HEX}$")  # of a History Server, a job each
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_STATE_FILE = re.compile(rf"(?:^|/)(?:{CHECKPOINT_FOLDER.pattern})/{_UUID}$")
_MOST_BEGINNINGS = 200  # files whose beginnings are looked at


@dataclass(frozen=True)
class FlinkReader:
    """Reads checkpoints, savepoints and answers of Flink's REST API.

    Attributes:
        types: the types of records in flight that somebody knows, by edge (``map -> sink``, with
            the names of the vertices).
    """

    types: Mapping[str, str] = field(default_factory=dict)
    name: str = "flink"
    title: str = "Flink checkpoints"

    def recognises(self, files: Beginnings) -> str | None:
        """Recognise files by their names, or by how some of them begin."""
        if count := sum(name.rpartition("/")[2] == METADATA for name in files.names):
            named = f"{count:,} files" if count > 1 else "a file"
            return f"It holds {named} called {METADATA}, as Flink writes one for each checkpoint."
        for pattern in _ANSWER_NAMES:
            if answer := next(filter(pattern.search, files.names), None):
                return f"{quoted(answer)} is named as an answer of Flink's REST API."
        if len(files.names) > 1 and all(map(_ARCHIVE_NAME.search, files.names)):
            return "Its files are named as the archives of Flink's History Server."
        if state := next(filter(_STATE_FILE.search, files.names), None):
            return f"{quoted(state)} is named as a file of a Flink checkpoint."
        return _recognised_by_content(files)

    def read(self, root: Path) -> "FlinkEngineUpload":
        """Read the files below a folder. Raises: InputRefused where nothing is readable."""
        return FlinkEngineUpload(read_upload(root), self.types)


def _recognised_by_content(files: Beginnings) -> str | None:
    """Return why a file begins as one of Flink's, whatever it is called."""
    for name in sorted(files.names, key=_is_unpromising)[:_MOST_BEGINNINGS]:
        start = files.read(name)
        subject = quoted(name) if len(files.names) > 1 else "It"
        if is_metadata(start):
            return f"{subject} begins as the _metadata of a Flink checkpoint."
        if names_flink(paths_in(start)):
            return f"{subject} is a listing of files that names folders of Flink's checkpoints."
        if begins_as_log(beginning(start)):
            return f"{subject} begins as a log of Flink's, by the classes that write to it."
        if looks_like_json(start) and begins_as_answer(start, len(start) < START_BYTES):
            return f"{subject} begins as an answer of Flink's REST API."
    return None


def _is_unpromising(name: str) -> bool:
    """Tell whether a name gives no hint that the file is a `_metadata` or an answer."""
    return not name.lower().endswith((METADATA, ".json", ".log", ".out"))


class FlinkEngineUpload(EngineUpload):
    """An upload of Flink's."""

    def __init__(self, upload: FlinkUpload, types: Mapping[str, str]) -> None:
        self.upload = upload
        self.checkpoints = checkpoints_of(upload)
        self.runs = runs_of(one for one in self.checkpoints if one.is_described)
        self._run_of = {one.number: run for run in self.runs for one in run.checkpoints}
        self._in_flight = InFlightReading(upload, types)
        self._seen: dict[tuple[int, str], OperatorSeen] = {}
        self._is_read = False

    def inventory(self) -> UploadInventory:
        if not self._is_read:
            for _ in self.entries():
                pass
        return upload_inventory(
            self.upload, self.checkpoints, self._run_of, self._in_flight, self._seen
        )

    def restore_check(self) -> UploadCheck:
        if not self._is_read:
            for _ in self.entries():
                pass
        return restore_check(self.upload, self.checkpoints, self._seen)

    def entries(self) -> Iterator[StateEntry]:
        for checkpoint in self.checkpoints:
            if (stored := checkpoint.readable) is None:
                continue
            for operator in checkpoint.operators:
                seen = self._seen[checkpoint.number, operator.id] = OperatorSeen(
                    query=Query.of(operator.name, operator.uid)
                )
                yield from entries_of(self.upload, checkpoint.number, stored, operator, seen)
        self._is_read = True

    def channel_bytes(self) -> Iterator[ChannelBytes]:
        for checkpoint in filter(lambda one: one.is_described, self.checkpoints):
            for one in self._in_flight.numbered(checkpoint, self._run_of[checkpoint.number]):
                yield ChannelBytes(checkpoint.number, one.described.number, one.data)

    def state_types(self) -> Iterator[StateTypes]:
        for checkpoint in self.checkpoints:
            stored = checkpoint.readable
            if stored is not None and any(
                edge.channels for edge in self._in_flight.joined(checkpoint).edges
            ):
                for data in checkpoint_state.descriptions(self.upload, stored):
                    yield StateTypes(checkpoint.number, data)

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        return recording(self.upload, self.runs, self._in_flight)

    def archive_facts(self) -> tuple[JobFacts, ...]:
        return facts_of_upload(self.upload)

    def job_reports(self) -> tuple[JobReport, ...]:
        return tuple(report_of(job.rest) for job in self.upload.jobs if job.rest is not None)

"""The reader of SeaTunnel's checkpoint files and REST answers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.inventory.entries import StateEntry
from snapshots.domain.inventory.model import UploadInventory
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.model.defects import InputRefused, quoted
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.engines.base import START_BYTES, Beginnings, EngineUpload
from snapshots.readers.engines.log_stories import told_by_logs
from snapshots.readers.engines.seatunnel.adapter.checkpoints import Pipelines, pipelines_of
from snapshots.readers.engines.seatunnel.adapter.entries import entries_of
from snapshots.readers.engines.seatunnel.adapter.events import derived_recording
from snapshots.readers.engines.seatunnel.adapter.inventory import upload_inventory
from snapshots.readers.engines.seatunnel.adapter.listed_upload import (
    listed_upload,
    names_seatunnel,
)
from snapshots.readers.engines.seatunnel.adapter.restore_check import restore_check
from snapshots.readers.engines.seatunnel.engine_logs import begins_as_engine_log, read_logs
from snapshots.readers.engines.seatunnel.names import file_name
from snapshots.readers.engines.seatunnel.upload import (
    SeaTunnelLimits,
    SeaTunnelUpload,
    read_upload,
    walk,
)
from snapshots.readers.engines.told import Beside, ToldUpload
from snapshots.readers.formats.java.stream import MAGIC
from snapshots.readers.formats.listings import paths_in, read_listing
from snapshots.readers.formats.log_lines import beginning

_ANSWER = re.compile(
    rb'\s*\[?\s*\{[^{]*"(?:jobDag|pipelines)"\s*:|\s*\[?\s*\{\s*"pipelineId"\s*:'
    rb'|\s*\[?\s*\{[^{]*"jobId"\s*:.*"(?:jobStatus|updatedAt)"\s*:'
    rb'|\s*\{\s*"status"\s*:\s*"fail"\s*,\s*"message"\s*:|\s*\{\s*"jobId"\s*:\s*"?\d+"?\s*\}\s*\Z',
    re.DOTALL,
)
_MOST_TRIED = 1_000  # files that may be listings
_ANSWER_NAME = re.compile(r"(?:.*/)?job-info[^/]*\.json")


class SeaTunnelReader:
    """Reads checkpoints, savepoints and REST answers of the Zeta engine."""

    name = "seatunnel"
    title = "SeaTunnel checkpoints"

    def recognises(self, files: Beginnings) -> str | None:
        """Recognise files by their names, and one JSON file also by how it begins."""
        names, start = files.names, files.of_the_only
        for name in names[:_MOST_TRIED]:
            if names_seatunnel(paths_in(files.read(name))):
                return f"{quoted(name)} is a listing of files that names SeaTunnel's checkpoints."
            if begins_as_engine_log(beginning(files.read(name))):
                return f"{quoted(name)} begins as a log of SeaTunnel's engine, by its loggers."
        for name in names:
            if file_name(name) is not None:
                return f"{quoted(name)} is named as SeaTunnel names its checkpoints."
        for name in names:
            if name.endswith(".ser") and not start.startswith(MAGIC):
                return f"{quoted(name)} ends in .ser, as SeaTunnel's checkpoints do."
        for name in names:
            if _ANSWER_NAME.fullmatch(name):
                return f"{quoted(name)} is named as SeaTunnel's answer about a job."
        if len(names) == 1 and _ANSWER.match(start):
            return "JSON that begins as an answer of SeaTunnel's REST interface does."
        return None

    def read(self, root: Path) -> EngineUpload:
        """Read the files below a folder. Raises: InputRefused."""
        sizes = dict(walk(root))
        told = _told(root, sizes)
        if told is None:
            return SeaTunnelFiles(read_upload(root, SeaTunnelLimits()))
        try:
            return Beside(SeaTunnelFiles(read_upload(root, SeaTunnelLimits())), told)
        except InputRefused:  # nothing else can be read
            if told.tells_nothing:
                raise told.refusal() from None
            return told


def _told(root: Path, sizes: dict[str, int]) -> ToldUpload | None:
    """Return what listings and logs tell; None without such files."""
    starts = {}
    for path in islice(sizes, _MOST_TRIED):
        with (root / path).open("rb") as file:
            starts[path] = file.read(START_BYTES)
    listings = tuple(
        read_listing(root, path)
        for path, start in starts.items()
        if names_seatunnel(paths_in(start))
    )
    logs = [path for path, start in starts.items() if begins_as_engine_log(beginning(start))]
    told = listed_upload(listings, sizes) if listings else None
    if not logs:
        return told
    reading = read_logs(root, logs)
    by_logs = told_by_logs("seatunnel", reading.stories.values(), reading.accounts, sizes)
    return by_logs if told is None else told.and_told(by_logs)


@dataclass(frozen=True)
class SeaTunnelFiles(EngineUpload):
    """An upload of SeaTunnel's. Barriers are aligned, so nothing of a channel is stored."""

    upload: SeaTunnelUpload

    def inventory(self) -> UploadInventory:
        return upload_inventory(self.upload, self._pipelines)

    def restore_check(self) -> UploadCheck:
        return restore_check(self.upload, self._pipelines)

    def entries(self) -> Iterator[StateEntry]:
        return entries_of(self._pipelines)

    def recording(self) -> tuple[Header, Iterator[LoggedEvent]]:
        return derived_recording(self._pipelines)

    @cached_property
    def _pipelines(self) -> Pipelines:
        return pipelines_of(self.upload)

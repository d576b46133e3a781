"""The reader of SeaTunnel's checkpoint files and REST answers."""

import re
from collections.abc import Iterable, Iterator
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
from snapshots.readers.engines.seatunnel.adapter.checkpoints import Pipelines, pipelines_of
from snapshots.readers.engines.seatunnel.adapter.entries import entries_of
from snapshots.readers.engines.seatunnel.adapter.events import derived_recording
from snapshots.readers.engines.seatunnel.adapter.inventory import upload_inventory
from snapshots.readers.engines.seatunnel.adapter.listed_upload import (
    listed_upload,
    names_seatunnel,
)
from snapshots.readers.engines.seatunnel.adapter.restore_check import restore_check
from snapshots.readers.engines.seatunnel.names import file_name
from snapshots.readers.engines.seatunnel.upload import (
    SeaTunnelLimits,
    SeaTunnelUpload,
    read_upload,
    walk,
)
from snapshots.readers.engines.told import Beside
from snapshots.readers.formats.java.stream import MAGIC
from snapshots.readers.formats.listings import Listing, paths_in, read_listing

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
        listings = _listings(root, sizes)
        if not listings:
            return SeaTunnelFiles(read_upload(root, SeaTunnelLimits()))
        told = listed_upload(listings, sizes)
        try:
            return Beside(SeaTunnelFiles(read_upload(root, SeaTunnelLimits())), told)
        except InputRefused:
            return told  # nothing else can be read


def _listings(root: Path, paths: Iterable[str]) -> tuple[Listing, ...]:
    """Return the listings that name checkpoints among the files of an upload."""
    found = []
    for path in islice(paths, _MOST_TRIED):
        with (root / path).open("rb") as file:
            if names_seatunnel(paths_in(file.read(START_BYTES))):
                found.append(path)
    return tuple(read_listing(root, path) for path in found)


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

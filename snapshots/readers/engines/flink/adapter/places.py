"""Every checkpoint that an upload tells of, numbered as ``UploadInventory.checkpoints`` is."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.inventory import model
from snapshots.readers.engines.flink.checkpoint_kind import SAVEPOINT, Properties
from snapshots.readers.engines.flink.rest import checkpoints as told
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint
from snapshots.readers.engines.flink.upload import FlinkJob, FlinkUpload, StoredCheckpoint

_STATUSES = {
    told.COMPLETED: model.COMPLETED,
    told.FAILED: model.FAILED,
    told.IN_PROGRESS: model.IN_PROGRESS,
}
_CHECKPOINT_FOLDER = re.compile(r"chk-(\d{1,18})")


@dataclass(frozen=True)
class Place:
    """A checkpoint: its files, or what the REST API says of it, or both.

    number: place among all. id: Flink's, 0 where a damaged `_metadata` does not tell it.
    """

    number: int
    job: FlinkJob
    id: int
    stored: StoredCheckpoint | None
    rest: RestCheckpoint | None

    @property
    def has_files(self) -> bool:
        return self.stored is not None and self.stored.metadata is not None

    @property
    def status(self) -> str:
        """As in the model. A `_metadata` is written when all have acknowledged."""
        if self.rest is not None:
            return _STATUSES.get(self.rest.status, model.UNKNOWN)
        return model.COMPLETED if self.has_files else model.UNKNOWN

    @property
    def is_savepoint(self) -> bool:
        properties = self.stored.metadata.properties if self.has_files else None
        if isinstance(properties, Properties):
            return properties.kind == SAVEPOINT
        if self.rest is not None:
            return self.rest.is_savepoint
        return self.stored.folder.rpartition("/")[2].startswith("savepoint-")


def places(upload: FlinkUpload) -> tuple[Place, ...]:
    """By job, then by id."""
    found: list[Place] = []
    for job in upload.jobs:
        for id_, stored, rest in _of_job(job):
            found.append(Place(len(found), job, id_, stored, rest))
    return tuple(found)


def _of_job(
    job: FlinkJob,
) -> Iterator[tuple[int, StoredCheckpoint | None, RestCheckpoint | None]]:
    rest = {} if job.rest is None else job.rest.checkpoint_by_id
    stored: dict[int, list[StoredCheckpoint]] = defaultdict(list)
    for one in job.checkpoints:
        stored[_id_of(one)].append(one)
    for id_ in sorted(rest.keys() | stored.keys()):
        for one in stored.get(id_) or (None,):
            yield id_, one, rest.get(id_)


def _id_of(stored: StoredCheckpoint) -> int:
    if stored.metadata is not None:
        return stored.metadata.checkpoint_id
    named = _CHECKPOINT_FOLDER.fullmatch(stored.folder.rpartition("/")[2])
    return int(named.group(1)) if named else 0

"""The checkpoints of an upload, and what is known of their channels without their bytes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from snapshots.domain.inventory.model import COMPLETED, FAILED, IN_PROGRESS, UNKNOWN
from snapshots.domain.model.derived import (
    ALIGNED,
    AT_LEAST_ONCE,
    NEVER_STORED,
    NO_BUFFERS,
    NO_FILES,
    NO_MODE,
    NOT_COMPLETED,
    NOT_JOINED,
    NOT_TOLD,
    NOTHING_PERSISTED,
    UNDER_WAY,
)
from snapshots.readers.engines.flink.adapter import modes
from snapshots.readers.engines.flink.checkpoint_kind import SAVEPOINT, Properties
from snapshots.readers.engines.flink.metadata import Metadata, Operator
from snapshots.readers.engines.flink.rest import checkpoints as rest_checkpoints
from snapshots.readers.engines.flink.rest.checkpoints import RestCheckpoint, VertexTimes
from snapshots.readers.engines.flink.upload import FlinkJob, FlinkUpload, StoredCheckpoint

_STATUSES = {
    rest_checkpoints.COMPLETED: COMPLETED,
    rest_checkpoints.FAILED: FAILED,
    rest_checkpoints.IN_PROGRESS: IN_PROGRESS,
}
HIDDEN = 0  # no number of Flink's, which begin with 1
_CHECKPOINT_FOLDER = re.compile(r"chk-(\d{1,18})")


@dataclass(frozen=True)
class FlinkCheckpoint:
    """A checkpoint: its files, or what the REST API says of it, or both.

    Attributes:
        number: its place among all checkpoints of the upload.
        id: Flink's number of it; HIDDEN if a damaged or missing `_metadata` hides it.
    """

    number: int
    job: FlinkJob
    id: int
    stored: StoredCheckpoint | None
    rest: RestCheckpoint | None

    @property
    def readable(self) -> StoredCheckpoint | None:
        """The checkpoint's files; None if their `_metadata` is missing or cannot be read."""
        return self.stored if self.metadata is not None else None

    @property
    def metadata(self) -> Metadata | None:
        """What the checkpoint's `_metadata` says; None if it is missing or cannot be read."""
        return self.stored.metadata if self.stored is not None else None

    @property
    def is_described(self) -> bool:
        """Whether anything tells more of it than that it was there."""
        return self.metadata is not None or self.rest is not None

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators in its `_metadata`."""
        return self.metadata.operators if self.metadata is not None else ()

    @property
    def vertices(self) -> tuple[VertexTimes, ...]:
        """The vertices of which the REST API gives times."""
        return self.rest.vertices if self.rest is not None else ()

    @property
    def triggered_at(self) -> int | None:
        """When it was triggered, in epoch milliseconds; None if no REST answer tells."""
        return self.rest.triggered_at if self.rest is not None else None

    @property
    def status(self) -> str:
        """One of the inventory's statuses; UNKNOWN if neither a REST answer nor `_metadata` tells.

        A `_metadata` is written when all tasks have acknowledged, so it stands for COMPLETED.
        """
        if self.rest is not None:
            return _STATUSES.get(self.rest.status, UNKNOWN)
        return COMPLETED if self.metadata is not None else UNKNOWN

    @property
    def is_savepoint(self) -> bool:
        """Whether it is a savepoint."""
        properties = self.metadata.properties if self.metadata is not None else None
        if isinstance(properties, Properties):
            return properties.kind == SAVEPOINT
        if self.rest is not None:
            return self.rest.is_savepoint
        return self.stored is not None and _folder_name(self.stored).startswith("savepoint-")

    @property
    def config(self) -> dict[str, object]:
        """The configuration of the job's checkpoints; empty if the upload lacks it."""
        return {} if self.job.rest is None else self.job.rest.config

    @property
    def mode(self) -> str | None:
        """How the barriers were handled, in a word of ``modes``; None if nothing tells it."""
        return modes.mode_of(self.rest, self.metadata, self.config, is_savepoint=self.is_savepoint)

    @property
    def why_no_mode(self) -> str | None:
        """Why the mode is not known, as a sentence; None if it is known."""
        if self.mode is not None:
            return None
        return modes.NO_ANSWER if self.rest is None else modes.NO_CONFIGURATION

    @property
    def persisted(self) -> int | None:
        """The bytes of data in flight that were stored, with the length before each buffer.

        None if neither the files nor the REST API say it.
        """
        if self.metadata is not None:
            subtasks = (one for operator in self.operators for one in operator.subtasks)
            return sum(half.size for one in subtasks for half in (*one.inputs, *one.outputs))
        if self.rest is None or self.status != COMPLETED:
            return None
        return self.rest.totals.persisted

    @property
    def why_empty(self) -> str | None:
        """Why channels hold nothing, in a word of ``derived``; None if no channel is known to."""
        if self.status != COMPLETED:
            return None
        if self.mode == modes.ALIGNED:
            return ALIGNED
        if self.mode == modes.AT_LEAST_ONCE:
            return AT_LEAST_ONCE
        if self.metadata is not None:
            return NO_BUFFERS
        return NOTHING_PERSISTED if self.persisted == 0 else NEVER_STORED

    @property
    def why_unknown(self) -> str | None:
        """Why channels are not known, in a word of ``derived``; None if every channel is known."""
        if self.status == FAILED:
            return NOT_COMPLETED
        if self.status == IN_PROGRESS:
            return UNDER_WAY
        if self.status != COMPLETED:
            return NOT_TOLD
        if self.metadata is not None:
            return NOT_JOINED
        if self.why_empty != NEVER_STORED:
            return None
        return NO_FILES if self.mode is not None else NO_MODE


def checkpoints_of(upload: FlinkUpload) -> tuple[FlinkCheckpoint, ...]:
    """Return the checkpoints of an upload by job, then by id."""
    checkpoints: list[FlinkCheckpoint] = []
    for job in upload.jobs:
        for id_, stored, rest in _of_job(job):
            checkpoints.append(FlinkCheckpoint(len(checkpoints), job, id_, stored, rest))
    return tuple(checkpoints)


def _of_job(job: FlinkJob) -> Iterator[tuple[int, StoredCheckpoint | None, RestCheckpoint | None]]:
    rest = {} if job.rest is None else job.rest.checkpoint_by_id
    stored: dict[int, list[StoredCheckpoint | None]] = defaultdict(list)
    for checkpoint in job.checkpoints:
        stored[_id_of(checkpoint, rest.values())].append(checkpoint)
    for id_ in sorted(rest.keys() | stored.keys()):
        for files in stored.get(id_) or [None]:
            yield id_, files, rest.get(id_)


def _id_of(stored: StoredCheckpoint, rest: Iterable[RestCheckpoint]) -> int:
    """Return Flink's number of a checkpoint, or HIDDEN if nothing tells it."""
    if stored.metadata is not None:
        return stored.metadata.checkpoint_id
    folder = _folder_name(stored)
    if named := _CHECKPOINT_FOLDER.fullmatch(folder):
        return int(named.group(1))
    written = (one for one in rest if one.path and one.path.rstrip("/").endswith(f"/{folder}"))
    return next((one.id for one in written if folder), HIDDEN)


def _folder_name(stored: StoredCheckpoint) -> str:
    return stored.folder.rpartition("/")[2]

"""What the first answer needs of an upload's inventory, without the parts of each checkpoint.

The names and types are those of ``inventory.model``, from whose documents this is read. Instants
are epoch milliseconds; None means that the files do not say.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from snapshots.domain.inventory.batches import PlannedBatch
from snapshots.domain.inventory.model import CheckpointInventory, Flaw, JobInventory
from snapshots.domain.inventory.restore_check import Completeness


@dataclass(frozen=True, slots=True)
class CheckpointSummary:
    """One checkpoint of the list.

    Attributes:
        missing: how many files that it needs are not in the upload. None if that is not known.
        operators: how many operators are known. None if the files do not say which there are.
    """

    job: str | None
    id: int
    kind: str
    status: str
    operators: int | None
    missing: int | None
    path: str | None = None
    triggered_at: int | None = None
    completed_at: int | None = None
    bytes: int | None = None
    notes: tuple[str, ...] = ()
    problem: str | None = None
    snapshot: str | None = None
    why_empty: str | None = None
    why_unknown: str | None = None
    why_state_unknown: str | None = None
    phases: Mapping[str, int] = field(default_factory=dict)
    planned: PlannedBatch | None = None

    @property
    def snapshot_name(self) -> str:
        """Return the name of the checkpoint in the derived recording."""
        return self.snapshot or str(self.id)


@dataclass(frozen=True, slots=True)
class UploadSummary:
    """The jobs and checkpoints of an upload, in the order of the inventory.

    Attributes:
        completeness: by number of the checkpoint, whether all is there that a restore reads. Empty
            in uploads that an older release read.
    """

    engine: str
    jobs: tuple[JobInventory, ...]
    checkpoints: tuple[CheckpointSummary, ...]
    notes: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    flaws_total: int = 0
    completeness: Mapping[int, Completeness] = field(default_factory=dict)

    def points(self) -> Iterator["Point"]:
        """Yield every checkpoint with its number."""
        for number, item in enumerate(self.checkpoints):
            yield Point(number, item, self.completeness.get(number))

    def of_job(self, key: str) -> list["Point"]:
        """Return the checkpoints of one job with their numbers; an unknown job has an empty key."""
        return [point for point in self.points() if (point.item.job or "") == key]


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint and its number in the upload.

    Attributes:
        completeness: whether all is there that a restore reads. None in uploads that an older
            release read.
    """

    number: int
    item: CheckpointSummary
    completeness: Completeness | None = None


Detail = Callable[[int], CheckpointInventory]
"""Returns everything about the checkpoint with a number, which may be slow."""


def newest(points: Iterable[Point], *statuses: str) -> Point | None:
    """Return the last of those with one of the statuses; None if there is none.

    The order is that of the inventory: by the engine's number within a job.
    """
    return next((p for p in reversed(list(points)) if p.item.status in statuses), None)

"""What is damaged or missing of a checkpoint directory, and which of its batches that spoils.

State that Spark itself has removed since nobody needs it any more is not missing.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import Flaw
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob, fate_of
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes, StoredVersions
from snapshots.readers.engines.spark_streaming.files import DamagedFile
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE

MOST_SAID = 5  # of one batch
MOST_FILES = 1_000  # whose batches are told
GONE = "It is missing, and without it the state cannot be put together."
NO_FOLDER = "This folder of a partition is missing, and Spark reads its rows as if there were none."
NO_SCHEMA = "It is missing, and without this schema the bytes of the state have no meaning."
_OF_A_BATCH = ("offset log", "commit log")
_SCHEMA = "state schema"
_OF_ALL = (_SCHEMA, "operator metadata", "query id")


@dataclass(frozen=True)
class Spoilt:
    """path: in the checkpoint. places: of the batches that it spoils, in the job's, ascending."""

    path: str
    what: str
    places: Sequence[int]

    def flaw(self, job: SparkJob) -> Flaw:
        ids = [job.batches[place].batch for place in self.places]
        word = "epoch" if job.is_continuous else "batch"
        several = "epochs" if job.is_continuous else "batches"
        spoils = f"{several if len(ids) > 1 else word} {spans_text(ids)}" if ids else None
        return Flaw(job.path(self.path), self.what, spoils)


def spoilt(job: SparkJob, state: StateSizes, found: Iterable[DamagedFile] = ()) -> Iterator[Spoilt]:
    """found: files that turned out to be damaged when entries were read."""
    over = range(_over(job))
    yield from _damaged(job, state, found, over)
    yield from _missing(job, state, over)


def flaws_by_batch(job: SparkJob, state: StateSizes) -> dict[int, list[str]]:
    """Sentences: what is flawed, by batch, and of one that is in flight how far it came.

    Of the first MOST_FILES files; the contents have how many there are.
    """
    said: dict[int, list[str]] = {}
    more: dict[int, int] = {}
    for one in islice(spoilt(job, state), MOST_FILES):
        sentence = f"{job.path(one.path)}: {one.what}"
        for place in one.places:
            batch = job.batches[place].batch
            if len(said.setdefault(batch, [])) < MOST_SAID:
                said[batch].append(sentence)
            else:
                more[batch] = more.get(batch, 0) + 1
    for batch, count in more.items():
        said[batch].append(f"{count:,} more files are damaged or missing.")
    for batch, flying in job.in_flight.items():
        said.setdefault(batch, []).append(flying.how_far)
    return said


def _over(job: SparkJob) -> int:
    """How many batches are over: those that are not are the newest."""
    count = len(job.batches)
    while count and not fate_of(job, job.batches[count - 1]).is_over:
        count -= 1
    return count


def _damaged(
    job: SparkJob, state: StateSizes, found: Iterable[DamagedFile], over: range
) -> Iterator[Spoilt]:
    users = {file.path: one.users(file) for one in _partitions(state) for file in one.files}
    errors = (*job.checkpoint.damaged, *state.damaged, *found)
    for path, error in {error.file: error for error in errors}.items():
        role = job.checkpoint.roles.get(path)
        places: Sequence[int] = users.get(path, ())
        if role in _OF_A_BATCH:
            number = int(path.rsplit("/", 1)[-1])
            places = (bisect_left(job.batches, number, key=lambda batch: batch.batch),)
        elif role in _OF_ALL:
            places = over
        yield Spoilt(path, error.what, places)


def _partitions(state: StateSizes) -> Iterator[StoredVersions]:
    for stores in state.stores.values():
        for partitions in stores.values():
            yield from partitions.values()


def _missing(job: SparkJob, state: StateSizes, over: range) -> Iterator[Spoilt]:
    checkpoint = job.checkpoint
    for operator in checkpoint.operators:
        for partition in checkpoint.missing_partitions.get(operator.id, ()):
            yield Spoilt(f"state/{operator.id}/{partition}", NO_FOLDER, over)
        stores = state.stores.get(operator.id, {})
        for store, partitions in stores.items():
            has_schema = (operator.id, store) in checkpoint.schemas
            if partitions and not has_schema and not _has_damaged_schema(job, operator):
                yield Spoilt(_schema_path(operator, store, len(stores) == 1), NO_SCHEMA, over)
            inner = "" if store == DEFAULT_STORE else f"/{store}"
            for partition, versions in sorted(partitions.items()):
                for name, places in versions.gaps(over):
                    yield Spoilt(f"state/{operator.id}/{partition}{inner}/{name}", GONE, places)


def _has_damaged_schema(job: SparkJob, operator: Operator) -> bool:
    roles, folder = job.checkpoint.roles, f"state/{operator.id}/"
    damaged = (error.file for error in job.checkpoint.damaged)
    return any(file.startswith(folder) and roles.get(file) == _SCHEMA for file in damaged)


def _schema_path(operator: Operator, store: str, single: bool) -> str:
    """Where Spark would have written it."""
    if operator.properties is not None:
        return f"state/{operator.id}/_stateSchema/{store}"
    return f"state/{operator.id}/0{'' if single else f'/{store}'}/_metadata/schema"

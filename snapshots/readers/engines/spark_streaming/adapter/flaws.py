"""What is damaged or missing of a checkpoint directory, and which of its batches that spoils.

State that Spark itself has removed, because nobody needs it any more, is not missing. A file that
is not read here may be whole.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from snapshots.domain.inventory.batches import spans_text
from snapshots.domain.inventory.model import Flaw
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob, fate_of
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead
from snapshots.readers.engines.spark_streaming.state.operators import Operator
from snapshots.readers.engines.spark_streaming.state.store_files import DEFAULT_STORE

MOST_SAID = 5  # sentences of one batch
MOST_FILES = 1_000  # whose batches are named
GONE = "It is missing, and without it the state cannot be put together."
NO_FOLDER = "This folder of a partition is missing, and Spark reads its rows as if there were none."
NO_SCHEMA = "It is missing, so that nobody can tell here what the bytes of the state mean."
OF_A_BATCH = ("offset log", "commit log")  # roles of files that one batch needs
OF_ALL = ("query id", "operator metadata", "state schema")  # roles of files that all batches need


@dataclass(frozen=True)
class Spoilt:
    """A file that is damaged or missing.

    Attributes:
        path: below the checkpoint directory.
        places: the places in the job of the batches that it spoils, ascending.
    """

    path: str
    what: str
    places: Sequence[int]

    def flaw(self, job: SparkJob) -> Flaw:
        """Return the flaw as the inventory lists it."""
        ids = [job.batches[place].batch for place in self.places]
        words = ("epoch", "epochs") if job.is_continuous else ("batch", "batches")
        spoils = f"{words[len(ids) > 1]} {spans_text(ids)}" if ids else None
        return Flaw(job.path(self.path), self.what, spoils)


def state_path(operator: int, partition: int, store: str, name: str = "") -> str:
    """Return the path of a partition's folder, or of a file in it."""
    folder = f"state/{operator}/{partition}" + ("" if store == DEFAULT_STORE else f"/{store}")
    return f"{folder}/{name}" if name else folder


def spoilt(
    job: SparkJob, state: StateSizes, found_later: Iterable[DamagedFile] = ()
) -> Iterator[Spoilt]:
    """Yield the missing folders of a job, then its damaged files, then those that are missing.

    Args:
        found_later: files that turned out to be damaged when entries were read.
    """
    over = range(_over(job))
    yield from (
        Spoilt(f"{folder}/", reason, range(len(job.batches)))
        for folder, reason in job.missing_folders.items()
    )
    yield from _damaged(job, state, found_later, over)
    yield from _missing(job, state, over)


def flaws_by_batch(job: SparkJob, state: StateSizes) -> dict[int, list[str]]:
    """Return sentences on what is flawed, by batch, and how far each batch in flight came.

    They are about the first MOST_FILES files; the inventory says how many there are.
    """
    sentences: dict[int, list[str]] = {}
    more: dict[int, int] = {}
    for file in islice(spoilt(job, state), MOST_FILES):
        for place in file.places:
            batch = job.batches[place].batch
            if len(sentences.setdefault(batch, [])) < MOST_SAID:
                sentences[batch].append(f"{job.path(file.path)}: {file.what}")
            else:
                more[batch] = more.get(batch, 0) + 1
    for batch, count in more.items():
        sentences[batch].append(f"{count:,} more files are damaged or missing.")
    for batch, in_flight in job.in_flight.items():
        sentences.setdefault(batch, []).append(in_flight.how_far)
    return sentences


def not_read(
    job: SparkJob, state: StateSizes, found_later: Iterable[DamagedFile] = ()
) -> Iterator[str]:
    """Yield a sentence on each file that may be whole and is not read here."""
    for path, error in _errors(job, state, found_later).items():
        if isinstance(error, FileNotRead):
            yield f"{job.path(path)}: {error.what}"


def _errors(
    job: SparkJob, state: StateSizes, found_later: Iterable[DamagedFile]
) -> dict[str, DamagedFile]:
    errors = (*job.checkpoint.damaged, *state.damaged, *found_later)
    return {error.file: error for error in errors}


def _over(job: SparkJob) -> int:
    """Count the batches that are over: those that are not are the newest."""
    count = len(job.batches)
    while count and not fate_of(job, job.batches[count - 1]).is_over:
        count -= 1
    return count


def _damaged(
    job: SparkJob, state: StateSizes, found_later: Iterable[DamagedFile], over: range
) -> Iterator[Spoilt]:
    users = {
        file.path: versions.users(file)
        for *_, versions in state.partitions()
        for file in versions.files
    }
    for path, error in _errors(job, state, found_later).items():
        if isinstance(error, FileNotRead):
            continue
        role = job.checkpoint.roles.get(path)
        places: Sequence[int] = users.get(path, ())
        if role in OF_A_BATCH:
            places = (job.place_of(path),)
        elif role in OF_ALL:
            places = over
        yield Spoilt(path, error.what, places)


def _missing(job: SparkJob, state: StateSizes, over: range) -> Iterator[Spoilt]:
    checkpoint = job.checkpoint
    for operator in checkpoint.operators:
        for partition in checkpoint.missing_partitions.get(operator.id, ()):
            yield Spoilt(state_path(operator.id, partition, DEFAULT_STORE), NO_FOLDER, over)
        stores = state.stores.get(operator.id, {})
        for store, partitions in stores.items():
            has_schema = (operator.id, store) in checkpoint.schemas
            if partitions and not has_schema and not _has_damaged_schema(job, operator):
                yield Spoilt(_schema_path(operator, store, len(stores) == 1), NO_SCHEMA, over)
            for partition, versions in sorted(partitions.items()):
                for name, places in versions.gaps(_with_partition(job, partition, over)):
                    yield Spoilt(state_path(operator.id, partition, store, name), GONE, places)


def _with_partition(job: SparkJob, partition: int, over: range) -> range:
    """Return the places up to the last batch that has a partition; repartitioning may drop it."""
    has, batches = job.checkpoint.has_partition, job.batches
    last = next((at for at in reversed(over) if has(partition, batches[at].batch)), -1)
    return range(last + 1)


def _has_damaged_schema(job: SparkJob, operator: Operator) -> bool:
    roles, folder = job.checkpoint.roles, f"state/{operator.id}/"
    damaged = (error.file for error in job.checkpoint.damaged)
    return any(file.startswith(folder) and roles.get(file) == "state schema" for file in damaged)


def _schema_path(operator: Operator, store: str, single: bool) -> str:
    """Return where Spark would have written the schema of a store."""
    if operator.properties is not None:
        return f"state/{operator.id}/_stateSchema/{store}"
    return f"state/{operator.id}/0{'' if single else f'/{store}'}/_metadata/schema"

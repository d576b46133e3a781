"""What each file of an upload is, and which batches need it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

from snapshots.domain.inventory.model import FileUse
from snapshots.readers.engines.spark_streaming import upload as uploads
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.logs.offsets import FILE, kind_of
from snapshots.readers.engines.spark_streaming.state.store_files import CHANGES
from snapshots.readers.engines.spark_streaming.timeline import SourceRange

MOST_NAMED = 100  # of the batches that need a file, the newest
MOST_INPUTS = 1_000_000  # times that an input file was read
UNKNOWN_ROLE = "unknown"
_OF_ALL = ("query id", "operator metadata", "state schema")
_UNKNOWN_REASON = "Spark writes no such file there."
_LEFT_OVER = "It was left over by a failed attempt: the commit names another file."
_LEFT_OUT = "It is a link or no regular file, lies too deep, or its name cannot be shown."


def file_uses(
    upload: uploads.SparkUpload,
    jobs: tuple[SparkJob, ...],
    states: Mapping[str, StateSizes],
    sizes: Mapping[str, int],
) -> tuple[FileUse, ...]:
    """Every file once, by path. states: by folder of the checkpoint; sizes: of all files."""
    uses = [use for job in jobs for use in _of_checkpoint(job, states[job.folder])]
    uses += _outside(upload, jobs, sizes)
    return tuple(sorted(uses, key=lambda use: use.path))


def _of_checkpoint(job: SparkJob, state: StateSizes) -> Iterator[FileUse]:
    checkpoint = job.checkpoint
    reasons = {error.file: error.what for error in (*checkpoint.damaged, *state.damaged)}
    reasons |= {file.path: _LEFT_OVER for file in checkpoint.left_overs}
    needed, kinds = _state_files(state)
    kinds |= {file.path: "state left-over" for file in checkpoint.left_overs}
    needed |= _source_logs(job)
    everything = range(len(job.batches))
    for path, role in checkpoint.roles.items():
        if role in _OF_ALL:
            places = everything
        elif role in ("offset log", "commit log"):
            places = _of_batch(job, path)
        else:
            places = needed.get(path, ())
        yield FileUse(
            job.path(path),
            checkpoint.files.entries[path].size,
            kinds.get(path, role) or UNKNOWN_ROLE,
            _numbers(job, places),
            reasons.get(path) or (_UNKNOWN_REASON if role is None else None),
        )


def _numbers(job: SparkJob, places: Sequence[int]) -> tuple[int, ...]:
    """places: of batches in the job, ascending."""
    return tuple(job.first + place for place in places[-MOST_NAMED:])


def _of_batch(job: SparkJob, path: str) -> tuple[int, ...]:
    number = int(path.rsplit("/", 1)[-1])
    place = bisect_left(job.batches, number, key=lambda batch: batch.batch)
    return (place,)


def _state_files(state: StateSizes) -> tuple[dict[str, range | list[int]], dict[str, str]]:
    """The places of the batches that need each, and what it is."""
    needed: dict[str, range | list[int]] = {}
    kinds: dict[str, str] = {}
    of_tables: dict[str, set[int]] = {}
    for stores in state.stores.values():
        for partitions in stores.values():
            for versions in partitions.values():
                for file in versions.files:
                    users = versions.users(file)
                    needed[file.path] = users
                    kinds[file.path] = "state changes" if file.kind in CHANGES else "state snapshot"
                    for table in versions.tables.get(file.path) or ():
                        of_tables.setdefault(table, set()).update(users[-MOST_NAMED:])
    needed |= {table: sorted(users) for table, users in of_tables.items()}
    return needed, kinds


def _source_logs(job: SparkJob) -> dict[str, range]:
    """To know which files it has seen, a batch needs the log up to its end offset."""
    ends: dict[str, list[tuple[int, int]]] = {}
    for place, batch in enumerate(job.batches):
        for source in batch.sources or ():
            if (end := _log_offset(source)) is not None:
                ends.setdefault(source.source, []).append((end, place))
    firsts = {source: _first_reaching(known) for source, known in ends.items()}
    found: dict[str, range] = {}
    for path, role in job.checkpoint.roles.items():
        if role == "source log":
            _, source, name = path.split("/")
            known, places = firsts.get(source, ((), ()))
            first = bisect_left(known, int(name.removesuffix(".compact")))
            if first < len(known):
                found[path] = range(places[first], len(job.batches))
    return found


def _first_reaching(ends: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """End offsets, ascending, and of each the first batch that reads so far or farther."""
    ordered = sorted(ends)
    places = accumulate((place for _, place in reversed(ordered)), min)
    return [end for end, _ in ordered], list(places)[::-1]


def _log_offset(source: SourceRange) -> int | None:
    end = source.end.get("logOffset") if kind_of(source.end) == FILE else None
    return end if type(end) is int else None


def _outside(
    upload: uploads.SparkUpload, jobs: tuple[SparkJob, ...], sizes: Mapping[str, int]
) -> Iterator[FileUse]:
    reasons = {error.file: error.what for error in upload.damaged}
    readers = _readers_of_inputs(upload, jobs)
    for path, role in upload.roles.items():
        yield FileUse(
            path,
            sizes[path],
            role or UNKNOWN_ROLE,
            tuple(readers.get(path, ())[-MOST_NAMED:]),
            reasons.get(path) or (None if role else "It belongs to no checkpoint."),
        )
    for path in upload.left_out:
        yield FileUse(path, 0, "left out", (), _LEFT_OUT)


def _readers_of_inputs(
    upload: uploads.SparkUpload, jobs: tuple[SparkJob, ...]
) -> dict[str, list[int]]:
    """Input files to the batches that read them."""
    found: dict[str, list[int]] = {}
    reads = (
        (url, job.first + place)
        for job in jobs
        for place, batch in enumerate(job.batches)
        for source in batch.sources or ()
        for url in _urls(job, source)
    )
    for url, number in islice(reads, MOST_INPUTS):
        if (path := upload.inputs.get(url)) is not None:
            found.setdefault(path, []).append(number)
    return found


def _urls(job: SparkJob, source: SourceRange) -> list[str]:
    log = job.checkpoint.source_logs.get(source.source)
    end = _log_offset(source)
    if log is None or source.files is None or end is None:
        return []
    start = source.start.get("logOffset", -1) if isinstance(source.start, dict) else -1
    return [file.url for file in log.between(start, end) or ()]

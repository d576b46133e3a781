"""What each file of an upload is, and which batches need it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice

from snapshots.domain.inventory.model import FileUse
from snapshots.readers.engines.spark_streaming import upload as uploads
from snapshots.readers.engines.spark_streaming.adapter.flaws import OF_A_BATCH, OF_ALL
from snapshots.readers.engines.spark_streaming.adapter.jobs import SparkJob
from snapshots.readers.engines.spark_streaming.adapter.sizes import StateSizes
from snapshots.readers.engines.spark_streaming.logs.offsets import FILE, kind_of
from snapshots.readers.engines.spark_streaming.logs.own_logs import NOT_READ, OWN_LOG
from snapshots.readers.engines.spark_streaming.state.store_files import CHANGES
from snapshots.readers.engines.spark_streaming.timeline import SourceRange

MOST_NAMED = 100  # of the batches that need a file, the newest
MOST_INPUTS = 1_000_000  # times that an input file was read
UNKNOWN_ROLE = "unknown"
_UNKNOWN_REASON = "Spark writes no such file there."
_LEFT_OVER = "It was left over by a failed attempt: the commit names another file."
_LEFT_OUT = "It is a link or no regular file, lies too deep, or its name cannot be shown."


def file_uses(
    upload: uploads.SparkUpload,
    jobs: tuple[SparkJob, ...],
    states: Mapping[str, StateSizes],
    sizes: Mapping[str, int],
) -> tuple[FileUse, ...]:
    """List every file once, by path.

    Args:
        states: the stored state of each checkpoint, by its folder.
        sizes: the size of every file of the upload, in bytes.
    """
    uses = [use for job in jobs for use in _of_checkpoint(job, states[job.folder])]
    uses += _outside(upload, jobs, sizes)
    return tuple(sorted(uses, key=lambda use: use.path))


def _of_checkpoint(job: SparkJob, state: StateSizes) -> Iterator[FileUse]:
    checkpoint = job.checkpoint
    reasons = {error.file: error.what for error in (*checkpoint.damaged, *state.damaged)}
    not_read = {s for s, log in checkpoint.own_logs.items() if log.what is None}
    reasons |= {
        path: NOT_READ
        for path, role in checkpoint.roles.items()
        if role == OWN_LOG and path.split("/")[1] in not_read and path not in reasons
    }
    reasons |= {file.path: _LEFT_OVER for file in checkpoint.left_overs}
    users, kinds = _state_files(state)
    kinds |= {file.path: "state left-over" for file in checkpoint.left_overs}
    users |= _source_logs(job)
    for path, role in checkpoint.roles.items():
        places = users.get(path, ())
        if role in OF_ALL:
            places = range(len(job.batches))
        elif role in OF_A_BATCH:
            places = (job.place_of(path),)
        yield FileUse(
            job.path(path),
            checkpoint.files.entries[path].size,
            kinds.get(path, role) or UNKNOWN_ROLE,
            tuple(job.first + place for place in places[-MOST_NAMED:]),
            reasons.get(path) or (_UNKNOWN_REASON if role is None else None),
        )


def _state_files(state: StateSizes) -> tuple[dict[str, Sequence[int]], dict[str, str]]:
    """Return the places of the batches that need each file of state, and what it is."""
    users: dict[str, Sequence[int]] = {}
    kinds: dict[str, str] = {}
    table_users: dict[str, set[int]] = {}
    for *_, versions in state.partitions():
        for file in versions.files:
            places = users[file.path] = versions.users(file)
            kinds[file.path] = "state changes" if file.kind in CHANGES else "state snapshot"
            for table in versions.tables.get(file.path) or ():
                table_users.setdefault(table, set()).update(places[-MOST_NAMED:])
    return users | {table: sorted(places) for table, places in table_users.items()}, kinds


def _source_logs(job: SparkJob) -> dict[str, range]:
    """Return the places of the batches that need each file of a source's log.

    To know which files it has seen, a batch needs the log up to its end offset.
    """
    ends: dict[str, list[tuple[int, int]]] = {}
    for place, batch in enumerate(job.batches):
        for source in batch.sources or ():
            if (end := _log_offset(source)) is not None:
                ends.setdefault(source.source, []).append((end, place))
    firsts = {source: _first_reaching(offsets) for source, offsets in ends.items()}
    users: dict[str, range] = {}
    for path, role in job.checkpoint.roles.items():
        if role == "source log":
            _, name, file = path.split("/")
            offsets, places = firsts.get(name, ([], []))
            first = bisect_left(offsets, int(file.removesuffix(".compact")))
            if first < len(offsets):
                users[path] = range(places[first], len(job.batches))
    return users


def _first_reaching(ends: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return end offsets, ascending, and the first batch that reads up to each or farther."""
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
    """Return the numbers of the batches that read each input file."""
    readers: dict[str, list[int]] = {}
    reads = (
        (url, job.first + place)
        for job in jobs
        for place, batch in enumerate(job.batches)
        for source in batch.sources or ()
        for url in _urls(job, source)
    )
    for url, number in islice(reads, MOST_INPUTS):
        if (path := upload.inputs.get(url)) is not None:
            readers.setdefault(path, []).append(number)
    return readers


def _urls(job: SparkJob, source: SourceRange) -> list[str]:
    log, end = job.checkpoint.source_logs.get(source.source), _log_offset(source)
    if log is None or source.files is None or end is None:
        return []
    start = source.start.get("logOffset", -1) if isinstance(source.start, dict) else -1
    return [file.url for file in log.between(start, end) or ()]

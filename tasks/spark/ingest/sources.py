"""Cut a source into pieces that can be parsed independently."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.readers.formats.compression import compression_of, spool
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import ParquetReader, RowGroup, row_groups
from snapshots.readers.logs.native_parts import event_chunks, header_text, parts
from snapshots.store.objects.paths import path_of, put_file, scratch_beside
from tasks.spark.capacity import Capacity
from tasks.spark.ingest.handing import Handing
from tasks.spark.ingest.parse import (
    GroupTask,
    SourceTask,
    TextTask,
    parse_groups,
    parse_source,
    parse_text,
)

SMALL_BYTES = 4 * 2**20  # a source up to this size goes through all stages in one task
_COMPRESSION = 8  # the assumed ratio by which a compressed source grows
_TEXT = "text-"  # how the name of an unpacked text begins
_CHUNK_BYTES = 8 * 2**20
_LEAST_CHUNK_BYTES = 2 * 2**20
_LEAST_ROWS, _MOST_ROWS = 200_000, 800_000  # of a task; a row group is never cut
LEAST_BYTES_PER_EVENT = 4
"""The fewest bytes on disk that a stored event was seen to take, with what belongs to it."""
_LEAST_SHARE_OF_TEXT = 100
"""Stored, a text of JSON lines that repeat each other takes a small share of its bytes."""


@dataclass(frozen=True)
class IngestTask:
    """What to ingest, and where to; the fields are as in ``ingest``.

    ``header_file`` holds the header if the source does not.
    """

    source: Path
    format: str
    header: Header
    folder: Path
    limits: Limits
    header_file: Path | None = None


def size_of(source: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    files = source.rglob("*") if source.is_dir() else [source]
    return sum(file.stat().st_size for file in files)


def is_small(source: Path) -> bool:
    """Tell whether a source is so small that several tasks would cost more than they save."""
    packed = source.is_dir() or source.suffix == ".parquet" or compression_of(source) is not None
    return size_of(source) * (_COMPRESSION if packed else 1) <= SMALL_BYTES


def least_room(task: IngestTask) -> int:
    """Return how many bytes on disk the recording takes at least, before anything is read of it.

    Raises: InputRefused.
    """
    if task.format == ParquetReader.name:
        rows = sum(group.rows for group in row_groups(task.source, task.limits))
        return rows * LEAST_BYTES_PER_EVENT
    if task.format == NativeReader.name:
        return sum(_least_room_of(path) for path in parts(task.source))
    return size_of(task.source) // _LEAST_SHARE_OF_TEXT


def _least_room_of(path: Path) -> int:
    """Return the least room of one text; a compressed one is unpacked, and becomes no shorter."""
    size = path.stat().st_size
    return size if compression_of(path) else size // _LEAST_SHARE_OF_TEXT


def parse_tasks(
    task: IngestTask, header: Path, work: Path, capacity: Capacity, handing: Handing
) -> tuple[Callable, list, list[int]]:
    """Return the kernel that parses the source, its tasks in source order, and their weights.

    Native text and Parquet are cut into pieces; compressed text is unpacked first. Any other format
    is read from its beginning to its end. ``header`` is the file of the pickled header.
    Raises: InputRefused.
    """
    size = max(size_of(task.source), 1)
    if task.format == NativeReader.name:
        texts = list(_texts(task, header, work, capacity, handing))
        return parse_text, texts, _shares([text.length for text in texts], size)
    if task.format == ParquetReader.name:
        groups = row_groups(task.source, task.limits)
        most = _rows_of_a_task(groups, capacity)
        tasks = [
            GroupTask(_handed(together, handing), task.limits, str(header), str(work), most)
            for together in _together(groups, most)
        ]
        rows = [sum(group.rows for group in item.groups) for item in tasks]
        return parse_groups, tasks, _shares(rows, size)
    whole = SourceTask(handing.place(task.source), task.format, task.limits, str(header), str(work))
    return parse_source, [whole], [size]


def _handed(groups: tuple[RowGroup, ...], handing: Handing) -> tuple[RowGroup, ...]:
    return tuple(replace(group, path=path_of(handing.place(group.path))) for group in groups)


def _rows_of_a_task(groups: list[RowGroup], capacity: Capacity) -> int:
    """Return how many rows a task stages at most.

    The more rows it stages at once, the fewer pieces the next stage gathers.
    """
    most = min(_MOST_ROWS, capacity.most_rows or _MOST_ROWS)
    return capacity.chunk(sum(group.rows for group in groups), _LEAST_ROWS, most)


def _together(groups: list[RowGroup], most: int) -> Iterator[tuple[RowGroup, ...]]:
    """Group neighbouring row groups so that each group is worth a task."""
    held: list[RowGroup] = []
    for group in groups:
        if held and sum(item.rows for item in held) + group.rows > most:
            yield tuple(held)
            held = []
        held.append(group)
    if held:
        yield tuple(held)


def _shares(amounts: list[int], size: int) -> list[int]:
    """Return the bytes of the source for which each piece stands."""
    total = max(sum(amounts), 1)
    return [amount * size // total for amount in amounts]


def _texts(
    task: IngestTask, header: Path, work: Path, capacity: Capacity, handing: Handing
) -> Iterator[TextTask]:
    """Yield chunks of whole lines behind the header."""
    paths, limits = parts(task.source), task.limits
    text = header_text(task.header_file or paths, limits)
    size = sum(
        path.stat().st_size * (_COMPRESSION if compression_of(path) else 1) for path in paths
    )
    most = capacity.chunk(size, _LEAST_CHUNK_BYTES, _CHUNK_BYTES)
    with scratch_beside(work) as unpacked:
        for path, chunk in event_chunks(_plain(paths, unpacked, limits), text, limits, most):
            yield TextTask(
                text=_place_of(path, unpacked, work, handing),
                offset=chunk.offset,
                length=len(chunk.data),
                first_line=chunk.first_line,
                header=str(header),
                work=str(work),
            )


def _place_of(path: Path, unpacked: Path, work: Path, handing: Handing) -> str:
    """Return where tasks find a text; an unpacked one is put there."""
    if path.parent != unpacked or unpacked == work:
        return handing.place(path)
    target = work / path.name
    if path.exists():
        put_file(path, target)
        path.unlink()
    return str(target)


def _plain(paths: list[Path], work: Path, limits: Limits) -> Iterator[Path]:
    """Yield files of which any place can be read: a compressed one is unpacked in its turn."""
    for number, path in enumerate(paths):
        if compression_of(path) is None:
            yield path
            continue
        unpacked = work / f"{_TEXT}{number}"
        spool(path, unpacked, limits)
        yield unpacked


def remove_texts(work: Path) -> None:
    """Remove the texts that were unpacked, which nothing needs after they were parsed."""
    for path in work.glob(f"{_TEXT}*"):
        path.unlink(missing_ok=True)

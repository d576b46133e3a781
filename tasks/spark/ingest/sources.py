"""Cut a source into pieces that can be parsed independently."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from snapshots.domain.assembling.assembly import Header
from snapshots.readers.formats.compression import compression_of, spool
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks, first_line
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import ParquetReader, RowGroup, row_groups
from tasks.spark.capacity import Capacity
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
_CHUNK_BYTES = 8 * 2**20
_LEAST_CHUNK_BYTES = 2 * 2**20
_GROUP_ROWS = 200_000
LEAST_BYTES_PER_EVENT = 10
"""Less than a stored event takes on disk with what belongs to it; 25 were seen."""
_LEAST_SHARE_OF_TEXT = 20
"""A text of JSON lines was seen to take a fifth of its bytes when it is stored."""


@dataclass(frozen=True)
class IngestTask:
    """What to ingest, and where to; the fields are as in ``ingest``."""

    source: Path
    format: str
    header: Header
    folder: Path
    limits: Limits


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
    return size_of(task.source) // _LEAST_SHARE_OF_TEXT


def parse_tasks(
    task: IngestTask, header: Path, work: Path, capacity: Capacity
) -> tuple[Callable, list, list[int]]:
    """Return the kernel that parses the source, its tasks in source order, and their weights.

    Native text and Parquet are cut into pieces; compressed text is unpacked first. Any other format
    is read from its beginning to its end. ``header`` is the file of the pickled header.
    Raises: InputRefused.
    """
    size = max(size_of(task.source), 1)
    if task.format == NativeReader.name:
        texts = list(_texts(task, header, work, capacity))
        return parse_text, texts, _shares([text.length for text in texts], size)
    if task.format == ParquetReader.name:
        tasks = [
            GroupTask(groups, task.limits, str(header), str(work))
            for groups in _together(row_groups(task.source, task.limits))
        ]
        rows = [sum(group.rows for group in item.groups) for item in tasks]
        return parse_groups, tasks, _shares(rows, size)
    whole = SourceTask(str(task.source), task.format, task.limits, str(header), str(work))
    return parse_source, [whole], [size]


def _together(groups: list[RowGroup]) -> Iterator[tuple[RowGroup, ...]]:
    """Group neighbouring row groups so that each group is worth a task."""
    held: list[RowGroup] = []
    for group in groups:
        if held and sum(item.rows for item in held) + group.rows > _GROUP_ROWS:
            yield tuple(held)
            held = []
        held.append(group)
    if held:
        yield tuple(held)


def _shares(amounts: list[int], size: int) -> list[int]:
    """Return the bytes of the source for which each piece stands."""
    total = max(sum(amounts), 1)
    return [amount * size // total for amount in amounts]


def _texts(task: IngestTask, header: Path, work: Path, capacity: Capacity) -> Iterator[TextTask]:
    """Yield chunks of whole lines after the header."""
    source, limits = task.source, task.limits
    if compression_of(source) is not None:
        source = work / "text"
        spool(task.source, source, limits)
    header_line, _ = first_line(source, limits)
    most = capacity.chunk(size_of(source), _LEAST_CHUNK_BYTES, _CHUNK_BYTES)
    for chunk in chunks(source, limits, most):
        skipped = 0
        for _ in range(max(0, header_line + 1 - chunk.first_line)):
            skipped = chunk.data.find(b"\n", skipped) + 1 or len(chunk.data)
        if skipped < len(chunk.data):
            yield TextTask(
                text=str(source),
                offset=chunk.offset + skipped,
                length=len(chunk.data) - skipped,
                first_line=max(chunk.first_line, header_line + 1),
                header=str(header),
                work=str(work),
            )

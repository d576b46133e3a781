"""Finds out which format a log has: the first reader that recognises its beginning reads it.

Packages and the files of engines are recognised before this, by ``engines.registry``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from snapshots.domain.assembling.assembly import Header, assemble
from snapshots.domain.model.defects import Defects, quoted, refuse
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers import unknown
from snapshots.readers.engines import registry
from snapshots.readers.formats.head import Head, read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs import native_parts
from snapshots.readers.logs.base import HEAD_BYTES, Glancing, Reader
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.cos418 import Cos418Reader
from snapshots.readers.logs.jaeger import JaegerReader
from snapshots.readers.logs.mapped.clocked import ClockLinesReader, reader_of
from snapshots.readers.logs.mapped.lines import PREFIX as MAPPED
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import ParquetReader
from snapshots.readers.logs.p_trace import PTraceReader
from snapshots.readers.logs.raft_trace import RaftTraceReader
from snapshots.readers.logs.shiviz.reader import ShivizReader
from snapshots.readers.logs.vector_timestamps import VectorTimestampsReader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        NativeReader(),
        ParquetReader(),
        Cos418Reader(),
        ShivizReader(),
        RaftTraceReader(),
        ClockLinesReader(),
        JaegerReader(),
        PTraceReader(),
        VectorTimestampsReader(),
    )
}
TELLING = (JaegerReader.name, PTraceReader.name, VectorTimestampsReader.name)
"""The formats whose readers tell in the header what they found."""
SMALL_EVENTS = 20_000


@dataclass(frozen=True)
class Sniffed:
    """A reader that recognises an input, and a sentence that says why."""

    reader: Reader
    reason: str


@dataclass(frozen=True)
class CheckedHead:
    """What the beginning of an input shows.

    Attributes:
        format: the reader's name.
        reason: a sentence that says why it is this reader.
        header: none means that only the whole input has it.
        complete: whether the input was read to its end.
    """

    format: str
    reason: str
    header: Header | None
    complete: bool


def names() -> tuple[str, ...]:
    """Return the names that ``format`` can have."""
    return tuple(READERS)


def reader_named(name: str) -> Reader:
    """Return the reader of a format.

    ``shiviz:NAME`` reads one execution of several; ``mapped:DOCUMENT`` reads any JSON lines.
    Raises: InputRefused; MappingRefused for a document that is no mapping.
    """
    format, colon, execution = name.partition(":")
    if colon and format == "shiviz":
        return ShivizReader(execution)
    if name.startswith(MAPPED):
        return reader_of(name)
    if name not in READERS:
        raise refuse(
            "unknown-format",
            f"There is no format {quoted(name)}. The formats are {', '.join(READERS)}.",
            field="format",
        )
    return READERS[name]


def sniff(source: Path, limits: Limits, format: str | None = None) -> Sniffed:
    """Return the reader for a file or folder: that of ``format``, or the one that recognises it.

    Raises: InputRefused (``empty``, ``unknown-format``, ``not-utf8``, ``header-missing`` …).
    """
    if format:
        return _given(format)
    if source.is_dir():
        return _of_folder(source)
    return recognised(read_head(source, limits))


def _of_folder(folder: Path) -> Sniffed:
    """Return the reader of a folder of parts, by the endings of its files."""
    if native_parts.holds_only_parts(folder):
        return Sniffed(READERS["native"], "A folder, read as parts of one recording in JSON Lines.")
    return Sniffed(READERS["parquet"], "A folder, read as parts of one Parquet recording.")


def _given(format: str) -> Sniffed:
    return Sniffed(reader_named(format), f"The format was given as {format}.")


def recognised(head: Head) -> Sniffed:
    """Return the first reader that recognises an input. Raises: InputRefused, as ``sniff``."""
    head.first()
    packed = f", inside {head.compression}" if head.compression else ""
    for reader in READERS.values():
        if reason := reader.recognises(head):
            return Sniffed(reader, f"{reason}{packed}.")
    readable = unknown.readable(READERS.values(), registry.READERS.values())
    raise unknown.refusal(head, readable)


def events(
    reader: Reader, source: Path, header: Header, limits: Limits, defects: Defects
) -> Iterator[LoggedEvent]:
    """Yield all events of an input. Raises: InputRefused, at the end at the latest."""
    yield from logged_events(reader.batches(source, header, limits, defects), header)
    defects.raise_refused()


def check_head(head: Head, format: str | None = None) -> CheckedHead:
    """Read the beginning of an input, or the whole of a small one, and return what it is.

    About two chunks (base.HEAD_BYTES, unpacked) are read. An input that ends there and has at most
    SMALL_EVENTS events is also assembled, which finds everything that can make it meaningless.
    Raises: InputRefused.
    """
    sniffed = _given(format) if format else recognised(head)
    reader, path, limits = sniffed.reader, head.source, head.limits
    if isinstance(reader, Glancing) and head.is_longer_than(HEAD_BYTES):
        reader.glance(path, limits)
        return CheckedHead(reader.name, sniffed.reason, None, False)
    header = reader.header(path, limits)
    defects = Defects()
    read = list(islice(reader.batches(path, header, limits, defects), 2))
    complete = len(read) < 2
    defects.raise_refused()
    if complete and sum(batch.num_rows for batch in read) <= SMALL_EVENTS:
        assemble(header, logged_events(read, header))
    return CheckedHead(reader.name, sniffed.reason, header, complete)

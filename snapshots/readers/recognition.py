"""Which format an input has: told from its content, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from orjson import JSONDecodeError, loads

from snapshots.domain.assembling.assembly import Header, assemble
from snapshots.domain.model.defects import Defects, InputRefused, quoted, refuse
from snapshots.domain.model.recording import KINDS, LoggedEvent
from snapshots.readers import unknown
from snapshots.readers.engines import registry
from snapshots.readers.formats.compression import compression_of, open_stream
from snapshots.readers.formats.json_lines import fault
from snapshots.readers.formats.lines import first_line
from snapshots.readers.logs import cos418, headers
from snapshots.readers.logs.base import HEAD_BYTES, Glancing, Limits, Reader
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.cos418 import Cos418Reader
from snapshots.readers.logs.mapped.lines import PREFIX as MAPPED
from snapshots.readers.logs.mapped.lines import reader_of
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import ParquetReader
from snapshots.readers.logs.raft_trace import RaftTraceReader, is_trace
from snapshots.readers.logs.shiviz import known
from snapshots.readers.logs.shiviz.logs import has_expressions
from snapshots.readers.logs.shiviz.reader import ShivizReader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        NativeReader(),
        ParquetReader(),
        Cos418Reader(),
        ShivizReader(),
        RaftTraceReader(),
    )
}
_BY_HEADER_FORMAT = {headers.FORMAT: NativeReader.name, cos418.FORMAT: Cos418Reader.name}
_PARQUET = b"PAR1"
SMALL_EVENTS = 20_000
_LOOKED_AT = 2**16  # bytes, for what the first line alone does not tell


@dataclass(frozen=True)
class Sniffed:
    """reason: what was recognised and by what, as a sentence."""

    reader: Reader
    reason: str


@dataclass(frozen=True)
class Head:
    """What the beginning of an input tells. complete: it was read to its end.

    header: None where only the whole input tells it.
    """

    format: str
    reason: str
    header: Header | None
    complete: bool


def names() -> tuple[str, ...]:
    """What ``format`` can be."""
    return tuple(READERS)


def reader_named(name: str) -> Reader:
    """The reader; ``shiviz:NAME`` reads one execution of several, ``mapped:DOCUMENT`` any JSON
    lines. Raises: InputRefused; MappingRefused for a document that is no mapping."""
    format, colon, execution = name.partition(":")
    if colon and format == "shiviz":
        return ShivizReader(execution)
    if name.startswith(MAPPED):
        return reader_of(name)
    if name not in READERS:
        raise refuse(
            "unknown-format",
            f"There is no format {quoted(name)}. There are: {', '.join(READERS)}.",
            field="format",
        )
    return READERS[name]


def sniff(source: Path, limits: Limits, format: str | None = None) -> Sniffed:
    """The reader for an input; ``format`` names one, else the content decides.

    Raises: InputRefused (``empty``, ``unknown-format``, ``not-utf8``, ``header-missing`` …).
    """
    if format:
        return Sniffed(reader_named(format), f"The format was given as {format}.")
    if source.is_dir():
        return Sniffed(READERS["parquet"], "A folder, read as parts of one Parquet recording.")
    compression = compression_of(source)
    with open_stream(source, limits) as stream:
        start = stream.read(_LOOKED_AT)
    if start.startswith(_PARQUET) and compression is None:
        return Sniffed(READERS["parquet"], "Parquet, by its first four bytes.")
    if start.startswith(_PARQUET):
        raise refuse(
            "unknown-format",
            "This is Parquet inside a compressed file: upload the Parquet file itself.",
        )
    unknown.refuse_other_files(start, _read_here())
    line, text = first_line(source, limits)
    packed = f", inside {compression}" if compression else ""
    if reason := _clocked(source, text, limits):
        return Sniffed(READERS["shiviz"], f"{reason}{packed}.")
    return _sniffed_line(text, line, packed)


def _clocked(source: Path, first: bytes, limits: Limits) -> str | None:
    """Why an input is a log with vector clocks, or None where it is none."""
    if has_expressions(first):
        return "A log with vector clocks, by the parser expression on its first line"
    with open_stream(source, limits) as stream:
        start = stream.read(_LOOKED_AT)
    form = None if first.lstrip().startswith(b"{") else known.recognised(start)
    return form and f"A log with vector clocks ({form.title}), by the events found in it"


def _read_here() -> str:
    return unknown.known(READERS.values(), registry.READERS.values())


def _sniffed_line(text: bytes, line: int, packed: str) -> Sniffed:
    """By the first line that is not blank."""
    try:
        fields = loads(text)
    except JSONDecodeError:
        raise _not_a_header(text, line) from None
    if type(fields) is not dict:
        raise refuse(
            "unknown-format",
            f"The first line is JSON but not a header object. {_read_here()}",
            line=line,
        )
    if fields.get("kind") == "header":
        name = fields.get("format")
        if type(name) is str and name in _BY_HEADER_FORMAT:
            reader = READERS[_BY_HEADER_FORMAT[name]]
            return Sniffed(reader, f"{reader.title}, by the format in its header{packed}.")
        raise refuse(
            "unknown-format",
            f"The header's format is {quoted(name)}, which is not read here. Known are: "
            f"{', '.join(_BY_HEADER_FORMAT)}.",
            line=line,
            field="format",
        )
    if is_trace(fields):
        reader = READERS[RaftTraceReader.name]
        return Sniffed(reader, f"{reader.title}, by the event on its first line{packed}.")
    if fields.get("kind") in KINDS or "process" in fields:
        raise refuse(
            "header-missing",
            'The first line is an event, not the header: an object with "kind":"header" that '
            "names the processes and channels must come first.",
            line=line,
            field="kind",
        )
    raise unknown.unmapped(_read_here(), line)


def _not_a_header(text: bytes, line: int) -> InputRefused:
    found = fault(text, line)
    if found.code == "not-utf8" or (text.lstrip().startswith(b'{"') and len(text) > 2):
        return InputRefused([found])
    hint = ""
    if text.strip() in (b"{", b"[", b"[{"):
        hint = " Is it one JSON document over many lines? Each event must be on a line of its own."
    return refuse("unknown-format", f"The first line is not JSON.{hint} {_read_here()}", line=line)


def events(
    reader: Reader, source: Path, header: Header, limits: Limits, defects: Defects
) -> Iterator[LoggedEvent]:
    """All events of an input, for the reference. Raises: InputRefused at the end at the latest."""
    yield from logged_events(reader.batches(source, header, limits, defects), header)
    defects.raise_refused()


def check_head(path: Path, limits: Limits, format: str | None = None) -> Head:
    """Reads the beginning of an input, the whole of a small one, and says what it is.

    About two chunks (base.HEAD_BYTES, after decompression) are read. An input that ends there and
    has at most SMALL_EVENTS events is also put in order and matched, so that all that can make it
    meaningless is found. Raises: InputRefused.
    """
    path = Path(path)
    found = sniff(path, limits, format)
    if isinstance(found.reader, Glancing) and _is_long(path, limits):
        found.reader.glance(path, limits)
        return Head(found.reader.name, found.reason, None, False)
    header = found.reader.header(path, limits)
    defects = Defects()
    batches = found.reader.batches(path, header, limits, defects)
    read = list(islice(batches, 2))
    complete = len(read) < 2
    defects.raise_refused()
    if complete and sum(batch.num_rows for batch in read) <= SMALL_EVENTS:
        assemble(header, logged_events(read, header))
    return Head(found.reader.name, found.reason, header, complete)


def _is_long(path: Path, limits: Limits) -> bool:
    """Whether more is in it than a head."""
    with open_stream(path, limits) as stream:
        left = HEAD_BYTES
        while left >= 0 and (block := stream.read()):
            left -= len(block)
    return left < 0

"""Find the progress reports in a file: JSON of any layout, or an event log of Spark's.

People keep ``lastProgress`` and ``recentProgress`` one a line, pretty-printed, as an array, one
after the other, as Python prints its dictionaries, or inside an object of a listener. An event log
holds them as ``QueryProgressEvent``, and in ``QueryTerminatedEvent`` the exception that ended a
query; it is plain or compressed with zstd, lz4, snappy or lzf.
Source: Spark's StreamingQueryProgress, StreamingQueryListener and EventLogFileWriters.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, parse
from snapshots.readers.engines.spark_streaming.state.blocks import unpack
from snapshots.readers.formats import literals
from snapshots.readers.formats.cursor import NotReadHere
from snapshots.readers.formats.pasted import bare

ZSTD = b"\x28\xb5\x2f\xfd"
CODECS = {b"LZ4Block": "lz4", b"\x82SNAPPY\x00": "snappy", b"ZV\x00": "lzf", b"ZV\x01": "lzf"}
"""How Spark names the compressions of event logs, by the first bytes."""
_EVENT = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"
PROGRESS, TERMINATED = f"{_EVENT}ProgressEvent", f"{_EVENT}TerminatedEvent"
_KEYS = {"batchId", "runId", "sources"}
_QUOTE = r"\\?(?:\"|'|“|”)"
_REPORT = re.compile(
    "".join(
        (
            r"\A[\s\[(]*\{",
            *(rf"(?=.*{_QUOTE}{key}{_QUOTE}\s*:)" for key in ("batchId", "runId")),
            rf"(?=.*{_QUOTE}(?:numInputRows|durationMs){_QUOTE}\s*:)",
        )
    ).encode(),
    re.S,
)
_EVENT_LOG = re.compile(rb'\A\s*\{"Event":"(?:SparkListener|org\.apache\.spark\.)')
_BLANK = re.compile(r"[\s,\x00]*")
_PIECE = 2**16
_LARGEST_BEGINNING = 2**25
_LINES_TRIED = 20
_DEEPEST = 100  # levels of a line that is tried
_DEEPEST_INSIDE = 2  # levels above a report
_MOST_FIELDS = 50  # of an object that are looked into
MOST_DOCUMENTS_BEHIND_ONE_ANOTHER = 100_000


@dataclass(frozen=True, slots=True)
class Ended:
    """How a query ended, by its event log.

    Attributes:
        query: the id of the query.
        exception: the exception that ended it; None if it was stopped.
    """

    query: str | None
    exception: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """One document of a file.

    Attributes:
        line: the line in which it begins.
        report: a progress report. None if it is none.
        ended: how a query ended. None if the document does not say.
        problem: why it is not read. None if it is.
    """

    line: int
    report: dict[str, Json] | None = None
    ended: Ended | None = None
    problem: str | None = None


def begins_with_reports(start: bytes) -> str | None:
    """Return what a file's first bytes show that it holds; None if it holds no reports."""
    if start.startswith((ZSTD, *CODECS)):
        start = _beginning(start)
    start = bare(start)
    if _EVENT_LOG.match(start):
        return "an event log of Spark"
    if _REPORT.match(start):
        return "progress reports of a Spark query"
    return None


def _beginning(start: bytes) -> bytes:
    """Return what the first bytes of a stream decompress to, as far as that is possible."""
    if (codec := _codec_of(start)) is not None:
        with suppress(NotReadHere):
            return unpack(start, codec, _LARGEST_BEGINNING).content
        return b""
    parts: list[bytes] = []
    try:
        with pa.input_stream(pa.BufferReader(start), compression="zstd") as stream:
            while len(parts) < 16 and (part := stream.read(4096)):
                parts.append(part)
    except (OSError, pa.ArrowException):
        pass  # the first bytes end amid a block
    return b"".join(parts)


def decompressed(data: bytes, most: int) -> bytes:
    """Return the content of a file. Raises: NotReadable."""
    if (codec := _codec_of(data)) is not None:
        try:
            return unpack(data, codec, most).content
        except NotReadHere as error:
            raise NotReadable(f"{error.what}.") from error
    if not data.startswith(ZSTD):
        return data
    parts, size = [], 0
    try:
        with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
            while part := stream.read(_PIECE):
                parts.append(part)
                size += len(part)
                if size > most:
                    raise NotReadable(f"It holds more than {most:,} bytes, which is the limit.")
    except (OSError, pa.ArrowException) as error:
        if not parts:
            raise NotReadable("It cannot be decompressed (zstd).") from error
    return b"".join(parts)  # an event log that is being written ends amid a block


def _codec_of(data: bytes) -> str | None:
    return next((codec for magic, codec in CODECS.items() if data.startswith(magic)), None)


def documents(data: bytes, depth: int) -> Iterator[Found]:
    """Yield the reports of a file in their order, and what is none where one is expected."""
    data = bare(data)
    lines = data.splitlines()
    is_event_log = _EVENT_LOG.match(data[:_PIECE]) is not None
    if is_event_log or any(map(_is_one_document, lines[:_LINES_TRIED])):
        for number, line in enumerate(lines, 1):
            if line.strip() and not (is_event_log and b"QueryListener$Query" not in line[:200]):
                yield from _of_text(line, number, depth)
        return
    yield from _behind_one_another(data, depth)


def _is_one_document(line: bytes) -> bool:
    """Tell whether a line alone is a report, or a list of some."""
    try:
        value = parse(line, _DEEPEST)
    except NotReadable:
        return False
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and any(_reports_in(item)) for item in items)


def _of_text(text: bytes | str, line: int, depth: int) -> Iterator[Found]:
    try:
        yield from _of_value(parse(text, depth), line)
    except NotReadable as error:
        yield Found(line, problem=str(error))


def _of_value(value: Json, line: int) -> Iterator[Found]:
    if isinstance(value, list):
        for item in value:
            yield from _of_value(item, line)
        return
    if not isinstance(value, dict):
        yield Found(line, problem="A JSON object is expected.")
        return
    event = value.get("Event")
    if event == PROGRESS:
        value = value.get("progress")
        value = value if isinstance(value, dict) else {}
    elif event == TERMINATED:
        query, exception = value.get("id"), value.get("exception")
        yield Found(
            line,
            ended=Ended(
                query if isinstance(query, str) else None,
                exception if isinstance(exception, str) and exception else None,
            ),
        )
        return
    elif event is not None:
        return
    reports = list(_reports_in(value))
    yield from (Found(line, report=report) for report in reports)
    if not reports:
        lacking = ", ".join(sorted(_KEYS - value.keys()))
        yield Found(line, problem=f"It is no progress report: it lacks {lacking}.")


def _reports_in(value: dict[str, Json], depth: int = _DEEPEST_INSIDE) -> Iterator[dict[str, Json]]:
    """Yield an object if it is a report, else the reports in its fields: a listener wraps them."""
    if value.keys() >= _KEYS:
        yield value
        return
    for item in list(value.values())[:_MOST_FIELDS]:
        if isinstance(item, str) and item.startswith("{") and '"batchId"' in item:
            with suppress(NotReadable):
                item = parse(item, _DEEPEST)
        if isinstance(item, dict) and depth:
            yield from _reports_in(item, depth - 1)


def _behind_one_another(data: bytes, depth: int) -> Iterator[Found]:
    """Yield documents that span lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield Found(1, problem="It is not UTF-8.")
        return
    decoder, place, line = json.JSONDecoder(), 0, 1
    for _ in range(MOST_DOCUMENTS_BEHIND_ONE_ANOTHER):
        blank = _BLANK.match(text, place)
        begin = place if blank is None else blank.end()
        line += text.count("\n", place, begin)
        if begin == len(text):
            return
        try:
            _, end = decoder.raw_decode(text, begin)
            found = _of_text(text[begin:end], line, depth)
        except (ValueError, RecursionError):
            try:
                value, end = literals.read(text, begin, depth)
            except literals.NotLiteral as error:
                yield Found(line, problem=f"It is not JSON, or it ends too early. {error}")
                return
            found = _of_value(value, line)
        yield from found
        line += text.count("\n", begin, end)
        place = end

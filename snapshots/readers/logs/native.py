"""Reads and writes the native format as JSON Lines: a header, then one event a line."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from orjson import Fragment, dumps, loads

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects, defect
from snapshots.domain.model.recording import KINDS, LoggedEvent
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.readers.formats.fields import (
    LARGEST,
    Check,
    Unfit,
    count_problem,
    id_problem,
    ids_problem,
    json_problem,
    json_text,
    name_problem,
    text_problem,
)
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.numerals import written_out
from snapshots.readers.logs.checks import (
    absent_field,
    check_batch,
    field_defect,
    second_header,
    unknown_kind,
)
from snapshots.readers.logs.columns import NONE, RAW, Row, raw_batch
from snapshots.readers.logs.headers import (
    FORMAT,
    header_object,
    header_text,
    names_format,
    parse_header,
)
from snapshots.readers.logs.native_columns import Unusual, usual_lines
from snapshots.readers.logs.native_parts import event_chunks, parts
from snapshots.readers.logs.native_parts import header_text as header_text_of

_KINDS = frozenset(KINDS)
_CHECKS: dict[str, Check] = {
    "index": count_problem,
    "at": count_problem,
    "channel": text_problem,
    "message": id_problem,
    "value": json_problem,
    "state": json_problem,
    "snapshot": name_problem,
    "messages": ids_problem,
    "label": text_problem,
}


class NativeReader:
    """Reads JSON Lines, plain or compressed: a file, or a folder of parts."""

    name = "native"
    title = "Cutline JSON Lines"

    def recognises(self, head: Head) -> str | None:
        return f"{self.title}, by the format in its header" if names_format(head, FORMAT) else None

    def header(self, source: Path, limits: Limits) -> Header:
        return parse_header(*header_object(parts(source)[0], limits), limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        paths = parts(source)
        for _, chunk in event_chunks(paths, header_text_of(paths, limits), limits):
            batch, batch_defects = parse_lines(chunk.data, chunk.first_line, header)
            defects.extend(batch_defects)
            if defects.refused_total >= say.MOST_LISTED:
                defects.raise_refused()
            yield batch


def parse_lines(
    chunk: bytes, first_line: int, header: Header
) -> tuple[pa.RecordBatch, list[Defect]]:
    """Return the events of whole lines as columns.RAW, and the defects, sorted by line.

    Blank lines hold nothing, and a line with a refused defect gives no row.

    Args:
        chunk: lines behind the header.
        first_line: the number of the chunk's first line, from 1.
    """
    batch, defects = read_lines(chunk, first_line, header)
    return written_out(batch, RAW), defects


def read_lines(
    chunk: bytes, first_line: int, header: Header
) -> tuple[pa.RecordBatch, list[Defect]]:
    """Return what ``parse_lines`` returns, with ids, values and states that are numbers as such."""
    try:
        batch = usual_lines(chunk, first_line, header)
    except Unusual:
        return parse_each_line(chunk, first_line, header)
    return batch, sorted(check_batch(batch, header), key=lambda item: item.line or 0)


def parse_each_line(
    chunk: bytes, first_line: int, header: Header
) -> tuple[pa.RecordBatch, list[Defect]]:
    """Return what ``parse_lines`` returns, without trying the quicker way."""
    rows: list[Row] = []
    defects: list[Defect] = []
    snapshots: set[object] = set()
    processes, channels = header.process_codes, header.channel_codes
    for line, text in enumerate(chunk.split(b"\n"), first_line):
        if not text or text.isspace():
            continue
        try:
            rows.append(_row(text, line, processes, channels, snapshots, defects))
        except (ValueError, KeyError, TypeError, AttributeError):
            defects.append(_explained(text, line, header))
    batch = raw_batch(rows)
    defects += check_batch(batch, header)
    return batch, sorted(defects, key=lambda item: item.line or 0)


def _row(
    text: bytes,
    line: int,
    processes: dict[ProcessId, int],
    channels: dict[ChannelId, int],
    snapshots: set[object],
    defects: list[Defect],
) -> Row:
    """Return a line as a row, and add its kept defect to ``defects``.

    ``snapshots`` holds the snapshot ids that have passed the check; this line's is added.
    Raises: what parse_each_line catches if a field is not what it must be; ``_explained`` finds out
    which.
    """
    event = loads(text)
    take = event.pop
    process = processes[take("process")]
    kind = take("kind")
    index = take("index", None)
    if index is not None and (type(index) is not int or not 0 <= index <= LARGEST):
        raise TypeError
    at = take("at", None)
    if at is not None and (type(at) is not int or not 0 <= at <= LARGEST):
        raise TypeError
    if kind not in _KINDS:
        return _unknown(line, process, kind, index, at, event, defects)
    channel = take("channel", None)
    channel = NONE if channel is None else channels[channel]
    message = take("message", None)
    if type(message) is int and -LARGEST <= message <= LARGEST:
        message = str(message)
    elif message is not None and (type(message) is not str or not message):
        raise TypeError
    value = take("value", None)
    if value is not None:
        value = json_text(value)
    state = take("state", None)
    if state is not None:
        state = json_text(state)
    snapshot = take("snapshot", None)
    if snapshot is not None:
        if type(snapshot) not in (int, str):
            raise TypeError
        if snapshot not in snapshots:
            _check(snapshot, name_problem)
            snapshots.add(snapshot)
        snapshot = str(snapshot)
    messages = take("messages", None)
    if messages is not None:
        _check(messages, ids_problem)
        messages = [str(item) for item in messages]
    label = take("label", None)
    if label is not None and type(label) is not str:
        raise TypeError
    extra = json_text(event) if event else None
    return (
        line, process, kind, index, at, channel, message, value, state, snapshot, messages, label,
        extra,
    )  # fmt: skip


def _unknown(
    line: int,
    process: int,
    kind: object,
    index: int | None,
    at: int | None,
    event: dict,
    defects: list[Defect],
) -> Row:
    """Return the row of a kind without a meaning, with all further fields in ``extra``."""
    if type(kind) is not str or kind == "header":
        raise TypeError
    extra = json_text(event) if event else None
    defects.append(unknown_kind(kind, line))
    return line, process, kind, index, at, NONE, None, None, None, None, None, None, extra


def _check(value: object, check: Check) -> None:
    problem = check(value)
    if problem is not None:
        raise Unfit(*problem)


def _explained(text: bytes, line: int, header: Header) -> Defect:
    """Return what is wrong with a line that gave no row."""
    event = load(text, line)
    if isinstance(event, Defect):
        return event
    if event.get("kind") == "header":
        return second_header(line)
    return _misplaced(event, line, header) or _misfit(event, line)


def _misplaced(event: dict, line: int, header: Header) -> Defect | None:
    """Return why an event has no kind, or no process or channel of the header; None if it has."""
    for field in ("kind", "process"):
        if event.get(field) is None:
            return absent_field(field, line)
        if (problem := text_problem(event[field])) is not None:
            return field_defect(field, problem, line)
    if event["process"] not in header.process_codes:
        return say.unknown_process(name=event["process"], line=line)
    channel = event.get("channel")
    if event["kind"] in _KINDS and type(channel) is str and channel not in header.channel_codes:
        return say.unknown_channel(name=channel, line=line)
    return None


def _misfit(event: dict, line: int) -> Defect:
    """Return the defect of the first field that holds what it cannot.

    Fields without a meaning may hold any JSON of usual size.
    """
    for field, value in event.items():
        problem = _CHECKS.get(field, json_problem)(value) if value is not None else None
        if problem is not None:
            return field_defect(field, problem, line)
    return defect("wrong-type", "The line cannot be read as an event.", line=line)


def write_lines(header: Header, logged_events: Iterable[LoggedEvent]) -> Iterator[bytes]:
    """Yield a recording in the native format, line by line, each with its newline.

    Reading it back gives the same header and events, numbered as lines 2, 3, 4 …
    """
    yield header_text(header) + b"\n"
    for event in logged_events:
        yield dumps(_event_fields(event)) + b"\n"


def _event_fields(event: LoggedEvent) -> dict[str, object]:
    fields = {
        "process": event.process,
        "kind": event.kind,
        "index": event.index,
        "at": event.at,
        "channel": event.channel,
        "message": event.message,
        "value": None if event.value is None else Fragment(event.value),
        "state": None if event.state is None else Fragment(event.state),
        "snapshot": event.snapshot,
        "messages": event.messages,
        "label": event.label,
    }
    extra = {} if event.extra is None else loads(event.extra)
    return {field: value for field, value in fields.items() if value is not None} | extra

"""The native format as JSON Lines: a header, then one event a line."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from orjson import Fragment, dumps, loads

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects, InputRefused, defect
from snapshots.domain.model.recording import KINDS, LoggedEvent
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
from snapshots.readers.formats.lines import chunks, first_line
from snapshots.readers.logs.checks import check_batch
from snapshots.readers.logs.columns import NONE, raw_batch
from snapshots.readers.logs.headers import FORMAT, header_text, names_format, parse_header

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
    """JSON Lines, plain or compressed."""

    name = "native"
    title = "Cutline JSON Lines"

    def recognises(self, head: Head) -> str | None:
        return f"{self.title}, by the format in its header" if names_format(head, FORMAT) else None

    def header(self, source: Path, limits: Limits) -> Header:
        line, text = first_line(source, limits)
        fields = load(text, line)
        if type(fields) is not dict:
            raise InputRefused([fields])
        return parse_header(fields, line, limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        header_line, _ = first_line(source, limits)
        for chunk in chunks(source, limits):
            data, line = after_header(chunk.data, chunk.first_line, header_line)
            batch, found = parse_lines(data, line, header)
            defects.extend(found)
            if defects.refused_total >= say.MOST_LISTED:
                defects.raise_refused()
            yield batch


def after_header(data: bytes, first: int, header_line: int) -> tuple[bytes, int]:
    """A chunk without the lines up to the header's, and the number of its first line then."""
    while data and first <= header_line:
        _, _, data = data.partition(b"\n")
        first += 1
    return data, first


def parse_lines(
    chunk: bytes, first_line: int, header: Header
) -> tuple[pa.RecordBatch, list[Defect]]:
    """The events of whole lines as columns.RAW, and what is wrong with them, by line.

    first_line: the 1-based number of the chunk's first line, which lies behind the header. Blank
    lines hold nothing. A line with a refused defect gives no row.
    """
    rows: list[tuple] = []
    found: list[Defect] = []
    seen: set[object] = set()
    processes, channels = header.process_codes, header.channel_codes
    for line, text in enumerate(chunk.split(b"\n"), first_line):
        try:
            rows.append(_row(text, line, processes, channels, seen, found))
        except (ValueError, KeyError, TypeError, AttributeError):
            if text and not text.isspace():
                found.append(_explained(text, line, header))
    batch = raw_batch(rows)
    found += check_batch(batch, header)
    return batch, sorted(found, key=lambda item: item.line)


def _row(
    text: bytes,
    line: int,
    processes: dict[str, int],
    channels: dict[str, int],
    seen: set[object],
    found: list[Defect],
) -> tuple:
    """A line as a row.

    seen: the snapshot ids found good so far; found: gets the kept defects. Raises: any of what
    parse_lines catches, where a field is not what it must be; ``_explained`` then says which.
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
        return _unknown(line, process, kind, index, at, event, found)
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
        if snapshot not in seen:
            seen.add(_checked(snapshot, name_problem))
        snapshot = str(snapshot)
    messages = take("messages", None)
    if messages is not None:
        messages = [str(item) for item in _checked(messages, ids_problem)]
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
    found: list[Defect],
) -> tuple:
    """A row of a kind without a meaning: its further fields stay together as they are."""
    if type(kind) is not str or kind == "header":
        raise TypeError
    extra = json_text(event) if event else None
    found.append(say.unknown_kind(kind=kind, line=line))
    return line, process, kind, index, at, NONE, None, None, None, None, None, None, extra


def _checked(value: object, check: Check) -> object:
    problem = check(value)
    if problem is not None:
        raise Unfit(*problem)
    return value


def _explained(text: bytes, line: int, header: Header) -> Defect:
    """What is wrong with a line that gave no row."""
    event = load(text, line)
    if type(event) is not dict:
        return event
    if event.get("kind") == "header":
        return defect(
            "header-twice",
            "A second header. Are two recordings in this file? Upload them one by one.",
            line=line,
            field="kind",
        )
    return _misplaced(event, line, header) or _misfit(event, line)


def _misplaced(event: dict, line: int, header: Header) -> Defect | None:
    """Why the event has no kind, or no process or channel of the header."""
    for field in ("kind", "process"):
        if event.get(field) is None:
            return defect(
                "missing-field",
                f"The event has no field {say.quoted(field)}.",
                line=line,
                field=field,
            )
        if (problem := text_problem(event[field])) is not None:
            return _problem(field, problem, line)
    if event["process"] not in header.process_codes:
        return say.unknown_process(name=event["process"], line=line)
    channel = event.get("channel")
    if event["kind"] in _KINDS and type(channel) is str and channel not in header.channel_codes:
        return say.unknown_channel(name=channel, line=line)
    return None


def _misfit(event: dict, line: int) -> Defect:
    """The first field that holds what it cannot; further fields hold any JSON of usual size."""
    for field, value in event.items():
        problem = _CHECKS.get(field, json_problem)(value) if value is not None else None
        if problem is not None:
            return _problem(field, problem, line)
    return defect("wrong-type", "The line cannot be read as an event.", line=line)


def _problem(field: str, problem: tuple[str, str], line: int) -> Defect:
    code, reason = problem
    return defect(code, f"The field {say.quoted(field)} {reason}.", line=line, field=field)


def write_lines(header: Header, logged_events: Iterable[LoggedEvent]) -> Iterator[bytes]:
    """A recording in the native format, a line at a time, each with its newline.

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

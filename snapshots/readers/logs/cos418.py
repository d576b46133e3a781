"""Reads event logs of the token-passing simulator of Princeton's COS 418, assignment 2.

A channel's id is ``SRC->DST``, tokens are states, amounts are values. The log says when a process
starts and stops to record a channel; what arrived in between becomes a ``record_channel`` event in
the place of the stop. Because of that memory a log is read from front to back.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects, defect
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
)
from snapshots.domain.model.topology import Channel, JsonText, Process, Topology
from snapshots.readers.formats.fields import (
    Check,
    Unfit,
    count_problem,
    given_name_problem,
    id_problem,
    json_problem,
    json_text,
    name_problem,
    text_problem,
)
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import chunks, first_line
from snapshots.readers.logs.checks import check_batch, field_defect, second_header, unknown_kind
from snapshots.readers.logs.columns import NONE, Row, raw_batch
from snapshots.readers.logs.headers import (
    HeaderFaults,
    channel_id,
    check_counts,
    further_fields,
    header_object,
    names_format,
    require_header,
)

FORMAT = "cos418-event-log"
VERSION = 1
CHANNEL_RECORD_START = "channel_record_start"
_CHANNEL_RECORD_STOP = "channel_record_stop"
_HEADER_FIELDS = {"kind", "format", "version", "processes", "channels"}

_EVERY: dict[str, Check] = {
    "n": count_problem,
    "tick": count_problem,
    "process": text_problem,
    "seq": count_problem,
    "tokens": json_problem,
}
_CHANNEL = _EVERY | {"src": text_problem, "dst": text_problem}
_MESSAGE = _CHANNEL | {"msg": id_problem, "amount": json_problem}
_SNAPSHOT: dict[str, Check] = {"snapshot": name_problem}
_NEEDED = {
    SEND: _MESSAGE,
    RECEIVE: _MESSAGE,
    MARKER_SEND: _CHANNEL | _SNAPSHOT,
    MARKER_RECEIVE: _CHANNEL | _SNAPSHOT,
    RECORD_STATE: _EVERY | _SNAPSHOT,
    CHANNEL_RECORD_START: _CHANNEL | _SNAPSHOT,
    _CHANNEL_RECORD_STOP: _CHANNEL | _SNAPSHOT,
}


class Cos418Reader:
    """Reads JSON Lines of the COS 418 simulator, plain or compressed."""

    name = "cos418"
    title = "COS 418 event log"

    def recognises(self, head: Head) -> str | None:
        return f"{self.title}, by the format in its header" if names_format(head, FORMAT) else None

    def header(self, source: Path, limits: Limits) -> Header:
        return _header(*header_object(source, limits), limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        header_line, _ = first_line(source, limits)
        log = _Log(header, defects)
        for chunk in chunks(source, limits):
            rows = (log.row(text, line) for line, text in chunk.lines() if line > header_line)
            batch = raw_batch([row for row in rows if row is not None])
            defects.extend(check_batch(batch, header))
            if defects.refused_total >= say.MOST_LISTED:
                defects.raise_refused()
            yield batch


def _header(fields: Mapping[str, object], line: int, limits: Limits) -> Header:
    require_header(fields, line, "The first line is not the header of a COS 418 log.")
    faults = HeaderFaults(line)
    if fields.get("format") != FORMAT:
        faults.add("format", f"must be {say.quoted(FORMAT)}")
    faults.check_version(fields, VERSION)
    processes, channels = (_items(fields, field, faults) for field in ("processes", "channels"))
    faults.raise_any()
    check_counts(len(processes), len(channels), limits, line)
    nodes = _processes(processes, faults)
    links = _channels(channels, nodes, faults)
    extra = further_fields(fields, _HEADER_FIELDS, faults)
    faults.raise_any()
    return Header("", "tick", Topology(tuple(nodes.values()), tuple(links.values())), extra)


def _items(fields: Mapping[str, object], field: str, faults: HeaderFaults) -> list:
    items = fields.get(field)
    if isinstance(items, list):
        return items
    faults.add(field, "must be a list")
    return []


def _processes(items: list, faults: HeaderFaults) -> dict[str, Process]:
    nodes: dict[str, Process] = {}
    for place, item in enumerate(items):
        path = f"processes[{place}]"
        if type(item) is not dict:
            faults.add(path, "must be an object with id and tokens")
        elif faults.passes(f"{path}.id", item.get("id"), given_name_problem) and faults.passes(
            f"{path}.tokens", item.get("tokens"), count_problem
        ):
            if item["id"] in nodes:
                faults.add(f"{path}.id", f"is {say.quoted(item['id'])}, which is used twice")
            nodes[item["id"]] = Process(item["id"], JsonText(json_text(item["tokens"])))
    return nodes


def _channels(
    items: list, nodes: Mapping[str, Process], faults: HeaderFaults
) -> dict[str, Channel]:
    links: dict[str, Channel] = {}
    for place, item in enumerate(items):
        path = f"channels[{place}]"
        is_pair = type(item) is list and len(item) == 2 and all(type(end) is str for end in item)
        if not is_pair or not all(end in nodes for end in item):
            faults.add(path, f"must be two of the processes, not {say.quoted(item)}")
            continue
        name = channel_id(*item)
        if name in links:
            faults.add(path, f"is {say.quoted(item)}, which is used twice")
        links[name] = Channel(name, *item)
    return links


class _Log:
    """Reads line after line; remembers which channels are being recorded, and what came since."""

    def __init__(self, header: Header, defects: Defects) -> None:
        self._processes = header.process_codes
        self._channels = header.channel_codes
        self._defects = defects
        # The ids that arrived since the start, by snapshot and code of the channel.
        self._recorded: dict[tuple[str, int], list[str]] = {}
        self._by_channel: dict[int, set[str]] = {}  # the snapshots that are recording a channel
        self._next = 0

    def row(self, text: bytes, line: int) -> Row | None:
        """Return the line's event as a row of columns.RAW, None if the line is refused."""
        event = load(text, line)
        if isinstance(event, Defect):
            self._defects.add(event)
            return None
        if (misfit := self._misfit(event, line)) is not None:
            self._defects.add(misfit)
            return None
        self._count(event, line)
        try:
            return self._parsed(event, line)
        except Unfit as unfit:
            code, reason = unfit.problem
            self._defects.add(defect(code, f"A further field {reason}.", line=line))
            return None

    def _misfit(self, event: dict, line: int) -> Defect | None:
        """Return why a line cannot be an event, None if it can."""
        kind = event.get("kind")
        if kind == "header":
            return second_header(line)
        if type(kind) is not str:
            code = "missing-field" if kind is None else "wrong-type"
            return defect(code, 'The field "kind" must name the event.', line=line, field="kind")
        for field, check in _NEEDED.get(kind, _EVERY).items():
            if event.get(field) is None:
                return say.missing_field(kind=kind, field=field, line=line)
            if (problem := check(event[field])) is not None:
                return field_defect(field, problem, line)
        if event["process"] not in self._processes:
            return say.unknown_process(name=event["process"], line=line)
        if "src" in _NEEDED.get(kind, ()):
            channel = channel_id(event["src"], event["dst"])
            if channel not in self._channels:
                return say.unknown_channel(name=channel, line=line)
        return None

    def _count(self, event: dict, line: int) -> None:
        """Take ``n``, which counts the lines of the log, and report where it skips some."""
        n = event.pop("n")
        if n != self._next:
            self._defects.add(
                defect(
                    "index-gap",
                    f"n is {n} where {self._next} is expected. Is a part of the log missing?",
                    line=line,
                    field="n",
                )
            )
        self._next = n + 1

    def _parsed(self, event: dict, line: int) -> Row:
        """Return a checked event as a row, and note what it says of recordings. Raises: Unfit."""
        take = event.pop
        kind = take("kind")
        process = self._processes[take("process")]
        index, at, state = take("seq"), take("tick"), json_text(take("tokens"))
        if kind not in _NEEDED:
            self._defects.add(unknown_kind(kind, line, frozenset(_NEEDED)))
        channel = NONE
        if "src" in _NEEDED.get(kind, ()):
            channel = self._channels[channel_id(take("src"), take("dst"))]
        message = value = snapshot = messages = None
        if kind in (SEND, RECEIVE):
            message, value = str(take("msg")), json_text(take("amount"))
            if kind == RECEIVE:
                for recording in self._by_channel.get(channel, ()):
                    self._recorded[recording, channel].append(message)
        elif kind in _NEEDED:
            snapshot = str(take("snapshot"))
            if kind == CHANNEL_RECORD_START:
                self._start(snapshot, channel)
            elif kind == _CHANNEL_RECORD_STOP:
                messages = self._stop(snapshot, channel, line)
                kind = kind if messages is None else RECORD_CHANNEL
        extra = json_text(event) if event else None
        return (
            line, process, kind, index, at, channel, message, value, state, snapshot, messages,
            None, extra,
        )  # fmt: skip

    def _start(self, snapshot: str, channel: int) -> None:
        self._recorded[snapshot, channel] = []
        self._by_channel.setdefault(channel, set()).add(snapshot)

    def _stop(self, snapshot: str, channel: int, line: int) -> list[str] | None:
        """Return the ids that arrived since the start; without a start, report it, return None."""
        messages = self._recorded.pop((snapshot, channel), None)
        if messages is None:
            self._defects.add(
                defect(
                    "unknown-kind",
                    "A channel_record_stop without a channel_record_start: what it recorded is "
                    "not known, and it is kept without a meaning.",
                    line=line,
                    field="kind",
                )
            )
        else:
            self._by_channel[channel].discard(snapshot)
        return messages

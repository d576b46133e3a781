"""Event logs of the token-passing simulator of Princeton's COS 418, assignment 2.

A channel's id is ``SRC->DST``, tokens are states, amounts are values. The log says when a process
starts and stops to record a channel; what arrived in between becomes a ``record_channel`` event in
the place of the stop. Because of that memory a log is read from front to back.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, Defects, InputRefused, defect, refuse
from snapshots.domain.model.recording import (
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
)
from snapshots.domain.model.topology import Channel, Process, Topology
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
from snapshots.readers.logs.checks import check_batch
from snapshots.readers.logs.columns import NONE, raw_batch
from snapshots.readers.logs.headers import HeaderFaults, check_counts, names_format

FORMAT = "cos418-event-log"
VERSION = 1
CHANNEL_RECORD_START = "channel_record_start"
_CHANNEL_RECORD_STOP = "channel_record_stop"
_HEADER_FIELDS = {"kind", "format", "version", "processes", "channels"}

_EVERY = {
    "n": count_problem,
    "tick": count_problem,
    "process": text_problem,
    "seq": count_problem,
    "tokens": json_problem,
}
_CHANNEL = {"src": text_problem, "dst": text_problem}
_MESSAGE = {"msg": id_problem}
_SNAPSHOT = {"snapshot": name_problem}
_NEEDED: dict[str, dict[str, Check]] = {
    SEND: _EVERY | _CHANNEL | _MESSAGE | {"amount": json_problem},
    RECEIVE: _EVERY | _CHANNEL | _MESSAGE | {"amount": json_problem},
    MARKER_SEND: _EVERY | _CHANNEL | _SNAPSHOT,
    MARKER_RECEIVE: _EVERY | _CHANNEL | _SNAPSHOT,
    RECORD_STATE: _EVERY | _SNAPSHOT,
    CHANNEL_RECORD_START: _EVERY | _CHANNEL | _SNAPSHOT,
    _CHANNEL_RECORD_STOP: _EVERY | _CHANNEL | _SNAPSHOT,
}


class Cos418Reader:
    """JSON Lines of the COS 418 simulator, plain or compressed."""

    name = "cos418"
    title = "COS 418 event log"

    def recognises(self, head: Head) -> str | None:
        return f"{self.title}, by the format in its header" if names_format(head, FORMAT) else None

    def header(self, source: Path, limits: Limits) -> Header:
        line, text = first_line(source, limits)
        fields = load(text, line)
        if type(fields) is not dict:
            raise InputRefused([fields])
        return _header(fields, line, limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        header_line, _ = first_line(source, limits)
        log = _Log(header, defects)
        for chunk in chunks(source, limits):
            lines = enumerate(chunk.data.split(b"\n"), chunk.first_line)
            batch = raw_batch(
                [
                    row
                    for line, text in lines
                    if line > header_line and text and not text.isspace()
                    for row in log.rows(text, line)
                ]
            )
            defects.extend(check_batch(batch, header))
            if defects.refused_total >= say.MOST_LISTED:
                defects.raise_refused()
            yield batch


def channel_id(source: str, target: str) -> str:
    return f"{source}->{target}"


def _header(fields: Mapping[str, object], line: int, limits: Limits) -> Header:
    if fields.get("kind") != "header":
        raise refuse(
            "header-missing", "The first line is not the header of a COS 418 log.", line=line,
            field="kind",
        )  # fmt: skip
    faults = HeaderFaults(line)
    if fields.get("format") != FORMAT:
        faults.add("format", f"must be {say.quoted(FORMAT)}")
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        faults.add("version", f"must be {VERSION}, not {say.quoted(fields.get('version'))}")
    processes, channels = fields.get("processes"), fields.get("channels")
    for field, items in (("processes", processes), ("channels", channels)):
        if type(items) is not list:
            faults.add(field, "must be a list")
    faults.raise_any()
    check_counts(len(processes), len(channels), limits, line)
    nodes = _processes(processes, faults)
    links = _channels(channels, nodes, faults)
    extra = {key: value for key, value in fields.items() if key not in _HEADER_FIELDS}
    for key, value in extra.items():
        faults.passes(key, value, json_problem)
    faults.raise_any()
    return Header("", "tick", Topology(tuple(nodes.values()), tuple(links.values())), extra)


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
                faults.add(f"{path}.id", f"is {say.quoted(item['id'])}, which stands twice")
            nodes[item["id"]] = Process(item["id"], json_text(item["tokens"]))
    return nodes


def _channels(
    items: list, nodes: Mapping[str, Process], faults: HeaderFaults
) -> dict[str, Channel]:
    links: dict[str, Channel] = {}
    for place, item in enumerate(items):
        path = f"channels[{place}]"
        known = type(item) is list and len(item) == 2 and all(type(end) is str for end in item)
        if not known or not all(end in nodes for end in item):
            faults.add(path, f"must be two of the processes, not {say.quoted(item)}")
            continue
        name = channel_id(*item)
        if name in links:
            faults.add(path, f"is {say.quoted(item)}, which stands twice")
        links[name] = Channel(name, *item)
    return links


class _Log:
    """Reads line after line; remembers which channels are being recorded, and what came since.

    A channel is under way from its start to its stop: (snapshot, code of the channel) -> ids.
    """

    def __init__(self, header: Header, defects: Defects) -> None:
        self._processes = header.process_codes
        self._channels = header.channel_codes
        self._defects = defects
        self._recorded: dict[tuple[str, int], list[str]] = {}
        self._by_channel: dict[int, set[str]] = {}  # the snapshots that are recording a channel
        self._next = 0

    def rows(self, text: bytes, line: int) -> Iterator[tuple]:
        """The line's event as a row of columns.RAW; none where the line is refused."""
        event = load(text, line)
        found = self._misfit(event, line) if type(event) is dict else event
        if found is not None:
            self._defects.add(found)
            return
        self._count(event, line)
        try:
            yield self._row(event, line)
        except Unfit as unfit:
            code, reason = unfit.problem
            self._defects.add(defect(code, f"A further field {reason}.", line=line))

    def _misfit(self, event: dict, line: int) -> Defect | None:
        kind = event.get("kind")
        if kind == "header":
            return defect(
                "header-twice",
                "A second header. Are two recordings in this file? Upload them one by one.",
                line=line,
                field="kind",
            )
        if type(kind) is not str:
            code = "missing-field" if kind is None else "wrong-type"
            return defect(code, 'The field "kind" must name the event.', line=line, field="kind")
        for field, check in _NEEDED.get(kind, _EVERY).items():
            if event.get(field) is None:
                return say.missing_field(kind=kind, field=field, line=line)
            if (problem := check(event[field])) is not None:
                return defect(
                    problem[0], f"The field {say.quoted(field)} {problem[1]}.", line=line,
                    field=field,
                )  # fmt: skip
        if event["process"] not in self._processes:
            return say.unknown_process(name=event["process"], line=line)
        if "src" in _NEEDED.get(kind, ()):
            channel = channel_id(event["src"], event["dst"])
            if channel not in self._channels:
                return say.unknown_channel(name=channel, line=line)
        return None

    def _count(self, event: dict, line: int) -> None:
        """``n`` counts the lines of the log; one defect where it first does not."""
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

    def _row(self, event: dict, line: int) -> tuple:
        take = event.pop
        kind = take("kind")
        process = self._processes[take("process")]
        index, at, state = take("seq"), take("tick"), json_text(take("tokens"))
        if kind not in _NEEDED:
            self._defects.add(say.unknown_kind(kind=kind, line=line))
        channel = NONE
        if "src" in _NEEDED.get(kind, ()):
            channel = self._channels[channel_id(take("src"), take("dst"))]
        message = value = snapshot = messages = None
        if kind in (SEND, RECEIVE):
            message, value = str(take("msg")), json_text(take("amount"))
        elif kind in _NEEDED:
            snapshot = str(take("snapshot"))
        if kind == RECEIVE:
            for recording in self._by_channel.get(channel, ()):
                self._recorded[recording, channel].append(message)
        elif kind == CHANNEL_RECORD_START:
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
        """The ids that arrived since the start; None, and a defect, where no start is known."""
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

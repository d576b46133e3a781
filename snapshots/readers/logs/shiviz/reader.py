"""Reads one execution of a log with vector clocks as a recording.

The log has events with clocks and nothing else. What follows from the clocks is marked ``derived``:
an event that learns something of another host is a receive, the last event that it learns of is the
send. An event that is more than one of these becomes several, its receives before its sends; the
first has its text and its fields. A message is named by the number of its sending event, by the
sender's own entry. What a host recorded follows its event.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, defect, quoted, refuse, times
from snapshots.domain.model.derived import CLOCKED
from snapshots.domain.model.recording import INTERNAL, RECEIVE, RECORD_STATE, SEND
from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.readers.formats.fields import json_text
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import BATCH_ROWS, NONE, Row, raw_batch
from snapshots.readers.logs.headers import channel_id
from snapshots.readers.logs.json_events import NO_TIME_UNIT, TIME_UNIT
from snapshots.readers.logs.shiviz.clocks import Edges
from snapshots.readers.logs.shiviz.events import Events
from snapshots.readers.logs.shiviz.known import recognised
from snapshots.readers.logs.shiviz.logs import (
    Log,
    chosen,
    glance,
    has_expressions,
    open_log,
    read_execution,
)

NOTES = (
    "Which events send and receive follows from the clocks, not from the log.",
    "A message that was never received leaves no trace in the clocks.",
    "A message that told its receiver nothing new leaves no trace either: the number of messages "
    "is a lower bound, and whether channels keep order cannot be told.",
    "Where sending does not count as an event, a message begins at the last event before it.",
    "What a channel holds at a cut is complete only if every message is received in the log.",
    "The states of the hosts are not known.",
)

_KEPT = 16 * 2**20  # bytes: a log up to this size is not read twice


class ShivizReader:
    """Reads text with vector clocks.

    ``execution`` is the name or the number (from 1) of one execution, where a log holds several. A
    small log that ``header`` has read is kept for the ``batches`` that follow.
    """

    title = "ShiViz or GoVector log"

    def __init__(self, execution: str | None = None) -> None:
        self.name = "shiviz" if execution is None else f"shiviz:{execution}"
        self._execution = execution
        self._kept: tuple[object, tuple[Log, Events, Edges]] | None = None

    def recognises(self, head: Head) -> str | None:
        _, first = head.first_line
        if has_expressions(first):
            return "A log with vector clocks, by the parser expression on its first line"
        if head.not_text is not None or first.lstrip().startswith(b"{"):
            return None
        if (form := recognised(head.start)) is None:
            return None
        return f"A log with vector clocks ({form.title}), by the events found in it"

    def glance(self, source: Path, limits: Limits) -> None:
        """Check the head only: clocks name events that may stand anywhere in the log."""
        glance(source, limits)

    def header(self, source: Path, limits: Limits) -> Header:
        log, events, edges = read = self._read(source, limits)
        small = len(log.text) <= _KEPT
        self._kept = (self._key(source, limits), read) if small else None
        return _header(log, events, edges, limits)

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != self._key(source, limits):
            _, events, edges = self._read(source, limits)
        else:
            _, events, edges = kept[1]
        add_holes(events, defects)
        if events.skipped.lines:
            line, shown = events.skipped.places[0]
            defects.add(
                defect(
                    "skipped-text",
                    f"The parser expression leaves out {times(events.skipped.lines, 'line')}; the "
                    f"first is {quoted(shown)}. Does it fit the log?",
                    line=line,
                    count=events.skipped.lines,
                )
            )
        rows = rows_of(events, edges, header)
        while batch := list(islice(rows, BATCH_ROWS)):
            yield raw_batch(batch)

    def _read(self, source: Path, limits: Limits) -> tuple[Log, Events, Edges]:
        log = open_log(source, limits)
        return log, *read_execution(log, chosen(log, self._execution), limits)

    def _key(self, source: Path, limits: Limits) -> tuple:
        stat = source.stat()
        return str(source), stat.st_mtime_ns, stat.st_size, limits


def add_holes(events: Events, defects: Defects) -> None:
    """Add a defect for each hole in the numbers of a host's events."""
    for hole in events.holes:
        defects.add(
            defect(
                "clock-hole",
                f"{hole.sentence} Its other events are read; what was sent in the hole is drawn "
                "from the event before it.",
                line=hole.line,
                process=hole.host,
                count=hole.count,
            )
        )


def header_of(events: Events, edges: Edges, limits: Limits, about: dict[str, object]) -> Header:
    """Return the header of an execution; ``about`` describes the log. Raises: InputRefused."""
    clocks = events.clocks
    owner, hosts = clocks.owner, len(clocks.hosts)
    pairs = np.unique(owner[edges.senders] * hosts + owner[edges.receivers])
    if len(pairs) > limits.channels:
        raise refuse(
            "too-many-channels",
            f"The log has messages between {len(pairs):,} pairs of hosts; at most "
            f"{limits.channels:,} are read here.",
        )
    ends = [(clocks.hosts[pair // hosts], clocks.hosts[pair % hosts]) for pair in pairs.tolist()]
    channels = [Channel(channel_id(*pair), *pair, fifo=False) for pair in ends]
    facts = about | {
        "events": len(clocks.lines),
        "messages": len(edges.senders),
        "missing_events": sum(hole.count for hole in events.holes),
    }
    times = [item.at for item in events.recorded if item.at is not None]
    if times:
        facts["began_at_us"] = min(times)
    processes = tuple(Process(host) for host in clocks.hosts)
    return Header(
        events.name,
        TIME_UNIT if times else NO_TIME_UNIT,
        Topology(processes, tuple(channels)),
        {CLOCKED: facts, "notes": list(NOTES)},
    )


def _header(log: Log, events: Events, edges: Edges, limits: Limits) -> Header:
    return header_of(
        events,
        edges,
        limits,
        {
            "parser": log.parser.text,
            "form": log.form,
            "delimiter": log.delimiter and log.delimiter.text,
            "execution": events.name,
            "executions": [part.name for part in log.parts][:1000],
            "skipped_lines": events.skipped.lines,
            "skipped": [list(place) for place in events.skipped.places],
        },
    )


def rows_of(events: Events, edges: Edges, header: Header) -> Iterator[Row]:
    """Yield rows of columns.RAW in the order of the log."""
    clocks = events.clocks
    count, hosts = len(clocks.lines), clocks.hosts
    owner, numbers = clocks.owner.tolist(), events.own.tolist()
    incoming, senders = _by_row(edges.receivers, edges.senders, count)
    outgoing, receivers = _by_row(edges.senders, edges.receivers, count)
    recorded_in = [events.recorded[place] for place in events.order.tolist()]
    records = np.array([len(item.snapshots) for item in recorded_in])
    stands = np.array([not item.is_recording for item in recorded_in])
    width = np.diff(incoming) + np.diff(outgoing)
    width = np.maximum(stands & (width == 0), width) + records
    before = np.concatenate(([0], np.cumsum(width)))
    first = (before[:-1] - before[clocks.starts[clocks.owner]]).tolist()
    began = _began(header)
    rows = np.empty(count, np.int64)
    rows[events.order] = np.arange(count)
    for place, row in enumerate(rows.tolist()):
        line, process, index = int(clocks.lines[row]), owner[row], first[row]
        label, recorded = events.texts[place], events.recorded[place]
        at = None if recorded.at is None else recorded.at - began
        fields = events.fields[place] | {"clock": events.clocks_shown[place]}
        ends: list[tuple[str, int, int]] = [
            (RECEIVE, s, row) for s in senders[incoming[row] : incoming[row + 1]]
        ]
        sends = [(SEND, row, r) for r in receivers[outgoing[row] : outgoing[row + 1]]]
        if recorded.is_recording:
            records_at, parts = len(ends), [*ends, *sends]
        else:
            parts = [*ends, *sends] or [(INTERNAL, row, row)]
            records_at = len(parts)
        shift = len(recorded.snapshots)
        state = None if recorded.is_recording else recorded.state  # else it is only recorded
        for part, (kind, sender, receiver) in enumerate(parts):
            extra = fields if part == 0 else {"event": numbers[row]}
            channel, message = NONE, None
            if kind != INTERNAL:
                ends_of = channel_id(hosts[owner[sender]], hosts[owner[receiver]])
                channel, message = header.channel_codes[ends_of], str(numbers[sender])
                extra = extra | {"derived": True}
            yield (
                line, process, kind, index + part + shift * (part >= records_at), at, channel,
                message, None, state, None, None, label if part == 0 else None,
                json_text(extra),
            )  # fmt: skip
        for part, snapshot in enumerate(recorded.snapshots, records_at):
            extra = {"event": numbers[row]} if parts else fields
            yield (
                line, process, RECORD_STATE, index + part, at, NONE, None, None, recorded.state,
                snapshot, None, None if parts else label, json_text(extra),
            )  # fmt: skip


def _began(header: Header) -> int:
    """Return the time from which a recording counts."""
    facts = header.extra[CLOCKED]
    assert isinstance(facts, dict)  # as ``header_of`` writes it
    return int(facts.get("began_at_us", 0))


def _by_row(rows: np.ndarray, others: np.ndarray, count: int) -> tuple[np.ndarray, list[int]]:
    """Return where each row's part of the second list begins, and ``others`` sorted by ``rows``."""
    order = np.lexsort((others, rows))
    return np.searchsorted(rows[order], np.arange(count + 1)), others[order].tolist()

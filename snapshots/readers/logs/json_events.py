"""Reads any log of JSON lines as a recording; a reader's ``event_of`` says which event a line is.

There is no header: processes and channels are those that the events name, so the log is read twice.
A line that is no event does not stop the reading; it is counted, with its number and the reason.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, InputRefused, defect, quoted, refuse, times
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
from snapshots.domain.model.topology import Channel, ChannelId, Process, ProcessId, Topology
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import CHUNK_BYTES, Chunk, chunks
from snapshots.readers.logs.base import HEAD_BYTES
from snapshots.readers.logs.columns import BATCH_ROWS, NONE, Row, raw_batch
from snapshots.readers.logs.headers import channel_id
from snapshots.readers.logs.pairing import Pairing

TIME_UNIT = "us"
NO_TIME_UNIT = "step"  # where no line has a time
MOST_LISTED = 100  # lines that are no events, each with its reason
LONGEST_SPAN = 2**62  # us
OUTGOING = frozenset({SEND, MARKER_SEND})
INCOMING = frozenset({RECEIVE, MARKER_RECEIVE})


class Misfit(Exception):
    """The line is no event; the message is the rest of a sentence that begins with its number."""


@dataclass(frozen=True, slots=True)
class Link:
    """A channel as one line names it: by its name, by both its ends, or by all of these.

    Attributes:
        ends: the source and the target. None means that only other lines may show them.
    """

    name: str | None
    ends: tuple[ProcessId, ProcessId] | None = None

    @property
    def id(self) -> ChannelId:
        """The channel's id in the recording."""
        if self.ends is None:
            return ChannelId(self.name or "")
        ends = channel_id(*self.ends)
        return ends if self.name is None else ChannelId(f"{self.name}: {ends}")


@dataclass(frozen=True, slots=True)
class LineEvent:
    """The event that one line describes.

    Attributes:
        at: the time in microseconds since an origin that all lines share. None means unknown.
        message: the message's id. None means that sends and receives are paired by their
            ``content``.
        value: the message's value as canonical JSON.
        state: the process's state after the event, as canonical JSON.
        extra: the canonical JSON object of all further fields of the line.
        clock: the vector clock of the event, by process; None if the log has none.
    """

    process: ProcessId
    kind: str
    at: int | None = None
    link: Link | None = None
    message: str | None = None
    content: str = ""
    value: str | None = None
    state: str | None = None
    snapshot: str | None = None
    label: str | None = None
    extra: str | None = None
    clock: dict[str, int] | None = None


Reading = LineEvent | Misfit | None
"""The event of a line, why the line is no event, or None if the format leaves the line out."""


@dataclass
class Misfits:
    """Lines that are no events.

    Attributes:
        places: the number of each of the first MOST_LISTED lines, and why the line is no event.
    """

    count: int = 0
    places: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, reason: str, count: int = 1) -> None:
        self.count += count
        if len(self.places) < MOST_LISTED:
            self.places.append((line, reason))

    def refusal(self, sentence: str) -> InputRefused:
        """Return the refusal of a log without events; it ends with the first misfit."""
        if not self.places:
            return refuse("unknown-format", sentence)
        line, reason = self.places[0]
        return refuse("unknown-format", f"{sentence} Line {line} {reason}.", line=line)


class JsonEventsReader:
    """Base class of the readers (see base.Reader) of logs with one JSON object a line.

    A reader must define ``name``, ``title`` and ``event_of``; all other members have defaults.

    Attributes:
        key: the field of the header that describes the log.
        notes: sentences about every recording of this format.
        fifo: whether the channels keep the order of messages.
    """

    name: str
    title: str
    key: str = "lines"
    notes: tuple[str, ...] = ()
    fifo: bool = False

    def recognises(self, head: Head) -> str | None:
        """Return None: lines that only a person can interpret are not recognised by themselves."""
        return None

    def event_of(self, fields: dict) -> LineEvent | None:
        """Return the event of a line, or None if the format leaves it out. Raises: Misfit."""
        raise NotImplementedError

    def further_facts(self) -> dict[str, object]:
        """Return what else the header says about the log."""
        return {}

    def glance(self, source: Path, limits: Limits) -> None:
        """Check that an event is among the first lines, as ``base.Glancing`` requires."""
        misfits = Misfits()
        for chunk in islice(chunks(source, limits), HEAD_BYTES // CHUNK_BYTES):
            for line, reading in self._readings_in(chunk):
                if isinstance(reading, LineEvent):
                    return
                if isinstance(reading, Misfit):
                    misfits.add(line, str(reading))
        title = quoted(self.title)
        raise misfits.refusal(f"Nothing in the first {HEAD_BYTES:,} bytes is an event of {title}.")

    def header(self, source: Path, limits: Limits) -> Header:
        scan = _Scan(limits)
        for line, reading in self.readings(source, limits):
            scan.take(line, reading)
        channels = scan.channels(self.fifo)
        if not scan.events:
            raise scan.refusal(self.title)
        facts: dict[str, object] = {
            "events": scan.events,
            "left_out": scan.left_out,
            "misfits": scan.misfits.count,
            "misfit_lines": [list(place) for place in sorted(scan.misfits.places)],
            **self.further_facts(),
        }
        if scan.began is not None:
            facts["began_at_us"] = scan.began
        notes = [*self.notes, *scan.notes()]
        topology = Topology(tuple(Process(name) for name in in_order(scan.processes)), channels)
        unit = NO_TIME_UNIT if scan.began is None else TIME_UNIT
        return Header("", unit, topology, {self.key: facts, "notes": notes})

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        facts = header.extra[self.key]
        assert isinstance(facts, dict)  # as the method ``header`` writes it
        add_misfits(facts["misfits"], facts["misfit_lines"], defects)
        rows = _Rows(header, facts.get("began_at_us", 0))
        batch: list[Row] = []
        for line, reading in self.readings(source, limits):
            if isinstance(reading, LineEvent) and (row := rows.row(line, reading)) is not None:
                batch.append(row)
                if len(batch) == BATCH_ROWS:
                    yield raw_batch(batch)
                    batch = []
        yield raw_batch(batch)

    def readings(self, source: Path, limits: Limits) -> Iterator[tuple[int, Reading]]:
        """Yield the number and the reading of every line that is not blank."""
        for chunk in chunks(source, limits):
            yield from self._readings_in(chunk)

    def _readings_in(self, chunk: Chunk) -> Iterator[tuple[int, Reading]]:
        for line, text in chunk.lines():
            yield line, self._reading(text, line)

    def _reading(self, text: bytes, line: int) -> Reading:
        fields = load(text, line)
        if not isinstance(fields, dict):
            return Misfit(f"cannot be read: {fields.sentence.rstrip('.')}")
        try:
            return self.event_of(fields)
        except Misfit as misfit:
            return misfit


def add_misfits(count: int, places: Sequence[Sequence[Any]], defects: Defects) -> None:
    """Add a defect for the lines that are no events; ``places`` has the first of them."""
    if not count:
        return
    line, reason = places[0]
    lines = "1 line of the log is not an event and is left out; it"
    if count > 1:
        lines = f"{count:,} lines of the log are not events and are left out; the first"
    defects.add(defect("skipped-text", f"{lines} {reason}.", line=line, count=count))


def in_order(names: Iterable[ProcessId]) -> list[ProcessId]:
    """Sort names: numbers first and by value, the others behind them by their letters."""
    return sorted(
        names, key=lambda name: (not _is_number(name), len(name) * _is_number(name), name)
    )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


class _Scan:
    """The first reading of a log: it collects processes and channels."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.events = self.left_out = 0
        self.misfits = Misfits()
        self.processes: dict[ProcessId, None] = {}
        self.active: set[ProcessId] = set()
        self.links: dict[Link, tuple[ProcessId, ProcessId]] = {}
        self.named: dict[ChannelId, _Ends] = {}
        self.began: int | None = None
        self.pairing = Pairing()
        self.is_paired = False

    def take(self, line: int, reading: Reading) -> None:
        if reading is None:
            self.left_out += 1
        elif isinstance(reading, Misfit):
            self.misfits.add(line, str(reading))
        else:
            self.events += 1
            self._take_event(line, reading)

    def _take_event(self, line: int, event: LineEvent) -> None:
        self.processes[event.process] = None
        self.active.add(event.process)
        if event.at is not None:
            self.began = event.at if self.began is None else min(self.began, event.at)
        if event.link is not None:
            self._take_link(line, event, event.link)
        if len(self.processes) > self.limits.processes:
            raise refuse(
                "too-many-processes",
                f"The log names more than {self.limits.processes:,} processes, the most that are "
                "read here.",
                line=line,
            )
        if len(self.links) + len(self.named) > self.limits.channels:
            raise refuse(
                "too-many-channels",
                f"The log has more than {self.limits.channels:,} channels, the most that are read "
                "here.",
                line=line,
            )

    def _take_link(self, line: int, event: LineEvent, link: Link) -> None:
        if link.ends is None:
            self.named.setdefault(link.id, _Ends(line)).take(event)
        else:
            self.processes.update(dict.fromkeys(link.ends))
            self.links[link] = link.ends
        if event.message is None and event.kind in (SEND, RECEIVE):
            self.is_paired = True
            self.pairing.message_id(event.kind, link, event.content)

    def channels(self, fifo: bool) -> tuple[Channel, ...]:
        """Return the channels with two known ends; the events of the others become misfits."""
        channels: dict[ChannelId, Channel] = {}
        for name, ends in self.named.items():
            if (problem := ends.problem) is not None:
                self.events -= ends.events
                reason = f"names the channel {quoted(name)}, {problem}"
                self.misfits.add(ends.first_line, reason, ends.events)
                continue
            channels[name] = Channel(name, ends.sources[0], ends.targets[0], fifo)
        for link, pair in self.links.items():
            if link.id in channels:
                raise refuse(
                    "header-invalid", f"Two channels of the log would be called {quoted(link.id)}."
                )
            channels[link.id] = Channel(link.id, *pair, fifo)
        return tuple(channels.values())

    def refusal(self, title: str) -> InputRefused:
        """Return the refusal of a log without any event."""
        if self.misfits.places:
            return self.misfits.refusal(f"No line of the log is an event of {quoted(title)}.")
        if self.left_out:
            return refuse(
                "unknown-format",
                f"All {self.left_out:,} lines of the log are left out: no event is in it.",
            )
        return refuse("unknown-format", "The file is empty: it holds no event.")

    def notes(self) -> Iterator[str]:
        silent = len(self.processes) - len(self.active)
        if silent:
            yield (
                f"{silent:,} of {len(self.processes):,} processes have no event in the log: what "
                "came there is not known."
            )
        if self.is_paired:
            yield from pairing_notes(self.pairing)


def pairing_notes(pairing: Pairing) -> Iterator[str]:
    """Yield what a reader of the recording must know about messages without ids."""
    yield (
        "Messages have no id in the log: a receive is taken to be of the earliest send of the same "
        "content on its channel that has not been received yet."
    )
    if pairing.under_way == 1:
        yield "1 send has no receive in the log: it stays in flight."
    elif pairing.under_way:
        yield f"{pairing.under_way:,} sends have no receive in the log: they stay in flight."
    if pairing.unsent:
        yield f"{times(pairing.unsent, 'receive')} without a send before it in the log."
    if pairing.equal:
        yield (
            f"{times(pairing.equal, 'message')} sent while one of the same content was under way: "
            "which of them arrived first is not known."
        )


@dataclass
class _Ends:
    """The processes that use a channel of which the log has only the name."""

    first_line: int
    events: int = 0
    sources: list[ProcessId] = field(default_factory=list)
    targets: list[ProcessId] = field(default_factory=list)

    def take(self, event: LineEvent) -> None:
        self.events += 1
        ends = self.sources if event.kind in OUTGOING else self.targets
        if len(ends) < 2 and event.process not in ends:
            ends.append(event.process)

    @property
    def problem(self) -> str | None:
        """Why this is no channel of two processes, as the end of a sentence; None if it is one."""
        if not self.sources or not self.targets:
            missing = "sends" if not self.sources else "receives"
            return f"on which nobody {missing} in the log"
        for verb, ends in (("send", self.sources), ("receive", self.targets)):
            if len(ends) > 1:
                return f"on which several {verb}: a channel joins two processes"
        return None


class _Rows:
    """The second reading of a log: it makes rows of columns.RAW."""

    def __init__(self, header: Header, began: int) -> None:
        self._processes = header.process_codes
        self._began = began
        self._pairing = Pairing()
        self._channels = header.channel_codes

    def row(self, line: int, event: LineEvent) -> Row | None:
        """Return the row of an event, or None if the ends of its channel are not known."""
        channel, message = NONE, event.message
        if event.link is not None:
            channel = self._channels.get(event.link.id, NONE)
            if channel == NONE:
                return None
            if message is None and event.kind in (SEND, RECEIVE):
                message = self._pairing.message_id(event.kind, channel, event.content)
        at = None
        if event.at is not None and event.at - self._began < LONGEST_SPAN:
            at = event.at - self._began
        return (
            line, self._processes[event.process], event.kind, None, at, channel, message,
            event.value, event.state, event.snapshot, None, event.label, event.extra,
        )  # fmt: skip

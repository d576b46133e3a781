"""JSON lines of any kind as a recording: a reader's ``tell`` says what event a line is.

There is no header: processes and channels are those that the events name, so the log is read twice.
A line that is no event does not stop the reading; it is counted, with its number and the reason.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, defect, quoted, refuse, times
from snapshots.domain.model.recording import MARKER_RECEIVE, MARKER_SEND, RECEIVE, SEND
from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import load
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import CHUNK_BYTES, Chunk, chunks
from snapshots.readers.logs.base import HEAD_BYTES
from snapshots.readers.logs.columns import BATCH_ROWS, NONE, raw_batch
from snapshots.readers.logs.pairing import Pairing

TIME_UNIT = "us"
NO_TIME_UNIT = "step"  # where no line tells a time
MOST_LISTED = 100  # lines that are no events, each with its reason
LONGEST_SPAN = 2**62  # us
OUTGOING = frozenset({SEND, MARKER_SEND})
INCOMING = frozenset({RECEIVE, MARKER_RECEIVE})


class Misfit(Exception):
    """Why a line is no event, as the rest of a sentence after its number."""


@dataclass(frozen=True, slots=True)
class Link:
    """A channel as one line tells of it: by its name, by both its ends, or by all of these."""

    name: str | None
    source: str | None = None
    target: str | None = None

    @property
    def id(self) -> str:
        if self.source is None:
            return self.name
        ends = f"{self.source}->{self.target}"
        return ends if self.name is None else f"{self.name}: {ends}"


@dataclass(frozen=True, slots=True)
class Told:
    """What one line says. at: us since anything. message: None where it is paired by ``content``.

    value, state: canonical JSON; extra: that of an object.
    """

    process: str
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


@dataclass
class Misfits:
    """Lines that are no events. places: the first, (line, reason)."""

    count: int = 0
    places: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, reason: str, count: int = 1) -> None:
        self.count += count
        if len(self.places) < MOST_LISTED:
            self.places.append((line, reason))


class ToldLinesReader:
    """A Reader (see base) of lines; what differs is ``tell``, the name, and what notes say.

    fifo: of all channels.
    """

    name: str
    title: str
    notes: tuple[str, ...] = ()
    fifo: bool = False
    key: ClassVar[str] = "lines"  # of what is said about the log, in the header

    def recognises(self, head: Head) -> str | None:
        """Return None: lines that only a person can interpret are read where that is asked for."""
        return None

    def tell(self, fields: dict) -> Told | None:
        """Return the event of a line, None for one that is left out. Raises: Misfit."""
        raise NotImplementedError

    def about(self) -> dict[str, object]:
        """More to be said about the log in the header."""
        return {}

    def glance(self, source: Path, limits: Limits) -> None:
        """See ``base.Glancing``: an event has to be among the first lines."""
        misfits = Misfits()
        for chunk in islice(chunks(source, limits), HEAD_BYTES // CHUNK_BYTES):
            for line, found in self._told_in(chunk):
                if isinstance(found, Told):
                    return
                if isinstance(found, Misfit):
                    misfits.add(line, str(found))
        raise refuse("unknown-format", _no_event_yet(self.title, misfits), **_first(misfits))

    def header(self, source: Path, limits: Limits) -> Header:
        scan = _Scan(limits)
        for line, found in self.told(source, limits):
            scan.take(line, found)
        channels = scan.resolved(self.fifo)
        if not scan.events:
            raise refuse("unknown-format", _no_event(self.title, scan), **_first(scan.misfits))
        about = {
            "events": scan.events,
            "left_out": scan.left_out,
            "misfits": scan.misfits.count,
            "misfit_lines": [list(place) for place in sorted(scan.misfits.places)],
            **self.about(),
        }
        if scan.began is not None:
            about["began_at_us"] = scan.began
        notes = [*self.notes, *scan.notes()]
        topology = Topology(tuple(Process(name) for name in in_order(scan.processes)), channels)
        unit = NO_TIME_UNIT if scan.began is None else TIME_UNIT
        return Header("", unit, topology, {self.key: about, "notes": notes})

    def batches(
        self, source: Path, header: Header, limits: Limits, defects: Defects
    ) -> Iterator[pa.RecordBatch]:
        about = header.extra[self.key]
        if about["misfits"]:
            line, reason = about["misfit_lines"][0]
            count = about["misfits"]
            defects.add(
                defect(
                    "skipped-text",
                    f"{times(count, 'line')} of the log {'is' if count == 1 else 'are'} no event "
                    f"and left out; the first {reason}.",
                    line=line,
                    count=count,
                )
            )
        rows = _Rows(header, about.get("began_at_us"))
        batch: list[tuple] = []
        for line, found in self.told(source, limits):
            if isinstance(found, Told) and (row := rows.row(line, found)) is not None:
                batch.append(row)
                if len(batch) == BATCH_ROWS:
                    yield raw_batch(batch)
                    batch = []
        yield raw_batch(batch)

    def told(self, source: Path, limits: Limits) -> Iterator[tuple[int, Told | Misfit | None]]:
        """Number and event of every line that is not blank; why it is none; None: left out."""
        for chunk in chunks(source, limits):
            yield from self._told_in(chunk)

    def _told_in(self, chunk: Chunk) -> Iterator[tuple[int, Told | Misfit | None]]:
        for line, text in enumerate(chunk.data.split(b"\n"), chunk.first_line):
            if text and not text.isspace():
                yield line, self._told(text, line)

    def _told(self, text: bytes, line: int) -> Told | Misfit | None:
        fields = load(text, line)
        if type(fields) is not dict:
            return Misfit(f"cannot be read: {fields.sentence.rstrip('.')}")
        try:
            return self.tell(fields)
        except Misfit as misfit:
            return misfit


def in_order(names: Iterable[str]) -> list[str]:
    """By number where they are numbers, the others behind them by name."""
    return sorted(
        names, key=lambda name: (not _is_number(name), len(name) * _is_number(name), name)
    )


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _first(misfits: Misfits) -> dict[str, int]:
    return {"line": misfits.places[0][0]} if misfits.places else {}


def _no_event_yet(title: str, misfits: Misfits) -> str:
    begin = f"Nothing in the first {HEAD_BYTES:,} bytes is an event of {quoted(title)}."
    if not misfits.places:
        return begin
    line, reason = misfits.places[0]
    return f"{begin} Line {line} {reason}."


def _no_event(title: str, scan: "_Scan") -> str:
    if scan.misfits.places:
        line, reason = scan.misfits.places[0]
        return f"No line of the log is an event of {quoted(title)}. Line {line} {reason}."
    if scan.left_out:
        return f"All {scan.left_out:,} lines of the log are left out: no event is in it."
    return "The file is empty: it holds no event."


class _Scan:
    """The first reading: what there is."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.events = self.left_out = 0
        self.misfits = Misfits()
        self.processes: dict[str, None] = {}
        self.active: set[str] = set()
        self.links: dict[Link, None] = {}
        self.named: dict[str, _Ends] = {}
        self.began: int | None = None
        self.pairing = Pairing()
        self.is_paired = False

    def take(self, line: int, found: Told | Misfit | None) -> None:
        if found is None:
            self.left_out += 1
        elif isinstance(found, Misfit):
            self.misfits.add(line, str(found))
        else:
            self.events += 1
            self._take(line, found)

    def _take(self, line: int, told: Told) -> None:
        self.processes[told.process] = None
        self.active.add(told.process)
        if told.at is not None:
            self.began = told.at if self.began is None else min(self.began, told.at)
        if told.link is not None:
            self._link(line, told, told.link)
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

    def _link(self, line: int, told: Told, link: Link) -> None:
        if link.source is not None:
            self.processes[link.source] = self.processes[link.target] = None
            self.links[link] = None
        else:
            self.named.setdefault(link.name, _Ends(line)).take(told)
        if told.message is None and told.kind in (SEND, RECEIVE):
            self.is_paired = True
            pair = self.pairing.send if told.kind == SEND else self.pairing.receive
            pair(link, told.content)

    def resolved(self, fifo: bool) -> tuple[Channel, ...]:
        """The channels; of those that have a name alone, the ones with two known ends."""
        found: dict[str, Channel] = {}
        for name, ends in self.named.items():
            if (problem := ends.problem) is not None:
                self.events -= ends.events
                reason = f"tells of the channel {quoted(name)}, {problem}"
                self.misfits.add(ends.first_line, reason, ends.events)
                continue
            found[name] = Channel(name, ends.sources[0], ends.targets[0], fifo)
        for link in self.links:
            if link.id in found:
                raise refuse(
                    "header-invalid", f"Two channels of the log would be called {quoted(link.id)}."
                )
            found[link.id] = Channel(link.id, link.source, link.target, fifo)
        return tuple(found.values())

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
    yield (
        "Messages have no id in the log: a receive is taken to be of the earliest send of the same "
        "content on its channel that has not been received yet."
    )
    if pairing.under_way:
        one = pairing.under_way == 1
        yield (
            f"{times(pairing.under_way, 'send')} {'has' if one else 'have'} no receive in the log: "
            f"{'it stays' if one else 'they stay'} in flight."
        )
    if pairing.unsent:
        yield f"{times(pairing.unsent, 'receive')} without a send before it in the log."
    if pairing.equal:
        yield (
            f"{times(pairing.equal, 'message')} sent while one of the same content was under way: "
            "which of them arrived first is not known."
        )


@dataclass
class _Ends:
    """Who uses a channel of which only the name is told."""

    first_line: int
    events: int = 0
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    def take(self, told: Told) -> None:
        self.events += 1
        ends = self.sources if told.kind in OUTGOING else self.targets
        if len(ends) < 2 and told.process not in ends:
            ends.append(told.process)

    @property
    def problem(self) -> str | None:
        if not self.sources or not self.targets:
            missing = "sends" if not self.sources else "receives"
            return f"on which nobody {missing} in the log"
        several = [
            word
            for word, ends in (("send", self.sources), ("receive", self.targets))
            if len(ends) > 1
        ]
        return f"on which several {several[0]}: it is no channel of two" if several else None


class _Rows:
    """The second reading: rows of columns.RAW."""

    def __init__(self, header: Header, began: int | None) -> None:
        self._processes = header.process_codes
        self._began = began
        self._pairing = Pairing()
        self._channels = header.channel_codes

    def row(self, line: int, told: Told) -> tuple | None:
        """None where the channel's ends are not known."""
        channel, message = NONE, told.message
        if told.link is not None:
            channel = self._channels.get(told.link.id, NONE)
            if channel == NONE:
                return None
            if message is None and told.kind in (SEND, RECEIVE):
                pair = self._pairing.send if told.kind == SEND else self._pairing.receive
                message = pair(channel, told.content)
        at = None
        if told.at is not None and told.at - self._began < LONGEST_SPAN:
            at = told.at - self._began
        return (
            line, self._processes[told.process], told.kind, None, at, channel, message, told.value,
            told.state, told.snapshot, None, told.label, told.extra,
        )  # fmt: skip

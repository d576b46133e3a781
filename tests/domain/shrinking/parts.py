"""Shrink recordings of tests, and judge what is left by brute force."""

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

from snapshots.domain.assembling.assembly import Header, assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import LoggedEvent, Recording
from snapshots.domain.model.topology import Topology
from snapshots.domain.shrinking.shrink import Shrunk, shrink
from snapshots.domain.shrinking.witness import Witness, identity, in_the_whole
from snapshots.store.whole import StoredWhole
from tests.store.folders import stored

PAIRS = {"send": "receive", "marker_send": "marker_receive"}
PAIRS |= {receive: send for send, receive in PAIRS.items()}


def shrunk(recording: Recording, snapshot: str, finding: dict, **shown) -> Shrunk:
    """Shrink a recording to one finding of a snapshot."""
    with stored(recording) as opened:
        [initiators] = (r.initiators for r in judge(recording) if r.snapshot == snapshot)
        whole = StoredWhole(opened.tables, snapshot, recording.name, initiators)
        return shrink(whole, Witness(finding, **shown))


def findings(recording: Recording, snapshot: str) -> list[dict]:
    """Return what is found about a snapshot, as JSON; none if there is no such snapshot."""
    reports = {report.snapshot: report for report in judge(recording)}
    return [as_json(item) for item in reports[snapshot].findings] if snapshot in reports else []


def found_in(part: Shrunk, events: list[LoggedEvent], header: Header) -> set[str]:
    """Return the identities of what is found in some events of a part."""
    indexes: dict[str, list[int]] = {}
    for event in events:
        indexes.setdefault(event.process, []).append(original(event)["index"])
    recording = assemble(header, events).recording
    return {identity(in_the_whole(item, indexes)) for item in findings(recording, part.snapshot)}


def original(event: LoggedEvent) -> dict:
    import json

    return json.loads(event.extra)["original"]


def without_each(part: Shrunk) -> Iterator[tuple[LoggedEvent, list[LoggedEvent], Header]]:
    """Yield each event of a part, the other events without its other end, and their header."""
    events = list(part.part.events)
    for event in events:
        gone = {id(event), *map(id, _other_end(events, event))}
        rest = [item for item in events if id(item) not in gone]
        yield event, rest, _header(part, rest)
        yield event, rest, part.part.header


def _other_end(events: list[LoggedEvent], event: LoggedEvent) -> list[LoggedEvent]:
    """Return the other end of a message or marker: the k-th of its id is that of the k-th."""
    if event.kind not in PAIRS:
        return []
    named = attrgetter("channel", "message", "snapshot")
    own = [item for item in events if named(item) == named(event)]
    ends = [item for item in own if item.kind == PAIRS[event.kind]]
    place = [item for item in own if item.kind == event.kind].index(event)
    return ends[place : place + 1]


def _header(part: Shrunk, events: list[LoggedEvent]) -> Header:
    """Return the header with the processes and channels of these events and of the witness."""
    header, witness = part.part.header, part.witness
    used = {event.channel for event in events} | set(witness.channels)
    channels = tuple(c for c in header.topology.channels if c.id in used)
    names = {event.process for event in events} | set(witness.processes)
    names |= {end for c in channels for end in (c.source, c.target)}
    processes = tuple(p for p in header.topology.processes if p.id in names)
    return replace(header, topology=Topology(processes, channels))

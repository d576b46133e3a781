"""Answer which global states a stored run can pass through, as StateGraphDetail in payloads."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from snapshots.domain.causality.global_states import Action, Computation, Parcel
from snapshots.domain.causality.state_graph_report import (
    MOST_DRAWN,
    MOST_PROCESSES,
    Recorded,
    StateGraphReport,
    of_derived,
    of_failures,
    of_long_run,
    of_many_processes,
    report,
)
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import (
    APPLICATION_KINDS,
    CRASH,
    RECEIVE,
    RESTORE,
    SEND,
    Message,
    MessageId,
    SnapshotId,
)
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.models import Snapshot
from snapshots.store.cut import StoredCut
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording

MOST_SCANNED = 100_000  # events of a recording whose kinds are looked at one by one


def state_graph(stored: StoredRecording, row: Snapshot | None) -> StateGraphReport:
    """Return the graph of the whole run, or of the part around a snapshot if that is too large.

    Args:
        row: the snapshot whose recorded state is looked for; None for none.
    """
    recorded = _recorded(row) if row else None
    snapshot = recorded.snapshot if recorded else None
    if is_derived(stored.manifest.header_extra):
        return of_derived(snapshot)
    topology = stored.scope(snapshot) if snapshot else stored.topology
    if len(topology.processes) > MOST_PROCESSES:
        return of_many_processes(snapshot, len(topology.processes))
    answer = _whole_run(stored, topology, recorded)
    if answer.part is None and recorded and recorded.positions:
        answer = _part(stored, topology, recorded, answer)
    return answer


def whole_run(stored: StoredRecording) -> Computation | None:
    """Return all events of the processes of a small run, or None.

    None stands for a derived recording, for failures, and for a run for which no graph is drawn
    because of its processes or events.
    """
    topology, lengths = stored.topology, stored.tables.events.length
    start = np.zeros_like(lengths)
    codes = list(range(len(topology.processes)))
    if (
        is_derived(stored.manifest.header_extra)
        or len(codes) > MOST_PROCESSES
        or int(lengths.sum()) > MOST_SCANNED
        or _has_kinds(stored, codes, start, lengths, {CRASH, RESTORE})
    ):
        return None
    places = [_places(stored, code, start, lengths, APPLICATION_KINDS) for code in codes]
    if sum(map(len, places)) >= MOST_DRAWN:
        return None
    return _computation(stored, topology, codes, start, places)


def _recorded(row: Snapshot) -> Recorded:
    positions: Mapping[str, int] = row.positions
    return Recorded(
        SnapshotId(row.snapshot),
        row.verdict,
        {ProcessId(process): position for process, position in positions.items()},
    )


def _whole_run(
    stored: StoredRecording, topology: Topology, recorded: Recorded | None
) -> StateGraphReport:
    lengths = stored.tables.events.length
    if int(lengths.sum()) > MOST_SCANNED:
        sends = stored.manifest.counts["messages"]
        return of_long_run(recorded.snapshot if recorded else None, sends)
    return _between(stored, topology, recorded, np.zeros_like(lengths), lengths)


def _part(
    stored: StoredRecording, topology: Topology, recorded: Recorded, whole: StateGraphReport
) -> StateGraphReport:
    """Return the graph of the part around a snapshot, or what was said of the whole run."""
    places = stored.snapshot_positions(recorded.snapshot)
    codes = np.flatnonzero(places != NONE)
    steps = stored.tables.events.values("step", codes, places[codes])
    start = stored.positions_at(step=int(steps.min()))
    end = stored.positions_at(step=int(steps.max()) + 1)
    if int((end - start).sum()) > MOST_SCANNED:
        return whole
    return _between(stored, topology, recorded, start, end, is_part=True)


def _between(
    stored: StoredRecording,
    topology: Topology,
    recorded: Recorded | None,
    start: Ints,
    end: Ints,
    *,
    is_part: bool = False,
) -> StateGraphReport:
    snapshot = recorded.snapshot if recorded else None
    codes = [stored.tables.process_code(process.id) for process in topology.processes]
    if _has_kinds(stored, codes, start, end, {CRASH, RESTORE}):
        return of_failures(snapshot)
    places = [_places(stored, code, start, end, APPLICATION_KINDS) for code in codes]
    events = sum(map(len, places))
    if events >= MOST_DRAWN:
        return of_long_run(snapshot, events, is_part=is_part)
    computation = _computation(stored, topology, codes, start, places)
    return report(computation, recorded, is_part=is_part)


def _has_kinds(
    stored: StoredRecording, codes: list[int], start: Ints, end: Ints, kinds: set[str]
) -> bool:
    return any(len(_places(stored, code, start, end, kinds)) for code in codes)


def _places(
    stored: StoredRecording,
    code: int,
    start: Ints,
    end: Ints,
    kinds: frozenset[str] | set[str],
) -> list[int]:
    """Return the indexes of the events of one process that are of these kinds."""
    own = stored.tables.events.run("kind", code, int(start[code]), int(end[code]))
    matches = np.flatnonzero(np.isin(own, stored.tables.kind_codes(kinds)))
    return (matches + int(start[code])).tolist()


def _computation(
    stored: StoredRecording,
    topology: Topology,
    codes: list[int],
    start: Ints,
    places: list[list[int]],
) -> Computation:
    cut = StoredCut(stored.tables, start)
    states = cut.states
    return Computation(
        tuple(process.id for process in topology.processes),
        topology.channels,
        tuple(states[code] for code in codes),
        {
            channel: tuple(map(_parcel, held))
            for channel, held in cut.all_contents().items()
            if held and channel in topology.channel_by_id
        },
        tuple(
            tuple(_action(stored, number, process.id, index) for index in places[number])
            for number, process in enumerate(topology.processes)
        ),
        tuple(int(start[code]) for code in codes),
    )


def _parcel(message: Message) -> Parcel:
    return Parcel(message.id, message.value, message.sent_index)


def _action(stored: StoredRecording, number: int, process: ProcessId, index: int) -> Action:
    event = stored.event(process, index)
    is_message = event["kind"] in (SEND, RECEIVE)
    return Action(
        number,
        index,
        event["step"],
        event["kind"],
        event["state"],
        event["label"],
        ChannelId(event["channel"]) if is_message and event["channel"] else None,
        _travelling(stored, event) if is_message else None,
    )


def _travelling(stored: StoredRecording, event: Mapping[str, Any]) -> Parcel | None:
    """Return the message that an event sends or receives; None if no send explains it."""
    flight = event["flight"]
    if flight is None:
        return None
    code = stored.tables.channel_code(flight["channel"])
    (message,) = stored.tables.read_messages(np.array([code]), np.array([flight["ordinal"]]))
    return Parcel(MessageId(message.id), message.value, message.sent_index)

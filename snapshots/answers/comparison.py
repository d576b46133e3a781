"""Compare two recordings, or two snapshots or cuts, and list the largest differences first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from snapshots.answers import replay
from snapshots.answers.compared_sides import (
    Side,
    judgements_of,
    names_of,
    outcome,
    positions_by_process,
    state_at,
    state_names,
    state_of,
)
from snapshots.domain.comparing.model import ORDER, Comparison, Difference, Spot
from snapshots.domain.comparing.runs import Run, RunComparison, compare_runs, fair_share
from snapshots.domain.comparing.states import Names, compare_states
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import ABOUT, is_derived
from snapshots.domain.model.recording import LoggedEvent, SnapshotId
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.replaying.non_interference import words
from snapshots.files.recordings import store
from snapshots.models import Recording
from snapshots.payloads.arrays import typed_array
from snapshots.store.cut import StoredCut
from snapshots.store.reader import StoredRecording, open_cached
from snapshots.store.sequences import read_events

MOST_EVENTS = 200_000  # of one recording that are aligned with those of the other
MOST_NOT_COMPARED = 200  # sentences in one answer
RECORDINGS, STATES = "recordings", "states"
CSV_HEAD = ("about", "measure", "size", "sentence", "snapshot", "process", "channel")

_BY_VALUE = (
    "The recordings are two, so messages are compared by their values and not by their ids, which "
    "number the messages of one run."
)
_BY_EVENT = (
    "Two events stand for each other if kind, channel, value, snapshot and label are the same. "
    "Times and the ids of messages are not compared, since no two runs share them."
)


@dataclass(frozen=True)
class Compared:
    """Two sides with their differences.

    Attributes:
        names: how sentences call the sides.
        differences: the differences, the largest first.
    """

    sides: tuple[Side, Side]
    names: Names
    comparison: Comparison
    differences: list[Difference]

    @property
    def is_of_states(self) -> bool:
        """Tell whether snapshots or cuts are compared, and not recordings."""
        return self.sides[0].is_state


def compare(sides: tuple[Side, Side]) -> Compared:
    """Compare two sides of one kind. Raises: Invalid, StoreError."""
    if not sides[0].is_state:
        names = names_of(sides)
        comparison = _runs(sides).comparison
    else:
        names = state_names(sides)
        is_one_recording = sides[0].recording.pk == sides[1].recording.pk
        left, right = (state_of(side, name) for side, name in zip(sides, names, strict=True))
        comparison = compare_states(left, right, by_id=is_one_recording)
    return Compared(sides, names, comparison, comparison.worst_first())


def as_payload(compared: Compared, offset: int, limit: int) -> dict[str, Any]:
    """Return a page of the differences as ComparisonAnswer in payloads/comparison.py."""
    comparison = compared.comparison
    left, right = (
        _side(side, name) for side, name in zip(compared.sides, compared.names, strict=True)
    )
    return {
        "kind": STATES if compared.is_of_states else RECORDINGS,
        "left": left,
        "right": right,
        "order": ORDER,
        "items": list(map(as_json, compared.differences[offset : offset + limit])),
        "total": len(compared.differences),
        "equal": comparison.equal,
        "not_compared": list(map(as_json, comparison.not_compared[:MOST_NOT_COMPARED])),
        "not_compared_total": len(comparison.not_compared),
        "notes": list(_notes(compared)),
    }


def _side(side: Side, name: str) -> dict[str, Any]:
    recording = side.recording
    return {
        "recording": recording.pk,
        "recording_name": recording.name,
        "name": name,
        "snapshot": side.snapshot.snapshot if side.snapshot else None,
        "positions": positions_by_process(side) if side.is_state else None,
        "outcome": outcome(side) if side.is_state else None,
        "time_unit": recording.time_unit,
        "extent": {
            "from": recording.began_at,
            "to": recording.ended_at,
            "steps": recording.event_count,
        },
    }


def _notes(compared: Compared) -> Iterator[str]:
    """Yield what holds for the whole comparison."""
    left, right = compared.sides
    if left.recording.pk != right.recording.pk:
        yield _BY_VALUE
    if not compared.is_of_states:
        yield _BY_EVENT
    for recording in dict.fromkeys((left.recording, right.recording)):
        if is_derived(_stored(recording).manifest.header_extra):
            yield f"“{recording.name}”: {ABOUT}"
    units = left.recording.time_unit, right.recording.time_unit
    if units[0] != units[1]:
        yield (
            f"The units of time differ ({units[0]} and {units[1]}), so the cursor goes by events "
            "and not by times."
        )


def csv_rows(compared: Compared) -> Iterator[list[object]]:
    """Yield all differences as rows of CSV_HEAD."""
    for item in compared.differences:
        yield [getattr(item, name) for name in CSV_HEAD]


def alignment(sides: tuple[Side, Side]) -> dict[str, Any]:
    """Return which events of two recordings stand for each other, as AlignmentPayload."""
    stored = [side.stored for side in sides]
    compared = _runs(sides)
    settled = [int(item.tables.events.length.sum()) for item in stored]
    pairs = [np.zeros((2, 0), np.int64)]
    for process, aligned in compared.alignments.items():
        steps = [
            item.tables.events.run("step", item.tables.process_code(process)) for item in stored
        ]
        for side, count in enumerate(compared.settled[process]):
            settled[side] = min([settled[side], *steps[side][count : count + 1].tolist()])
        pairs += [
            np.array(
                (
                    steps[0][stretch.left : stretch.end[0]],
                    steps[1][stretch.right : stretch.end[1]],
                )
            )
            for stretch in aligned.stretches
        ]
    joined = np.concatenate(pairs, axis=1)
    joined = joined[:, np.argsort(joined[0], kind="stable")]
    return {
        "count": joined.shape[1],
        "left": typed_array(joined[0]),
        "right": typed_array(joined[1]),
        "settled": settled,
    }


def positions_in_order(side: Side) -> list[int]:
    """Return the positions of a cut in the order of the processes. Raises: Invalid."""
    return replay.positions_of(side.stored, side.cut).tolist()


def last_inside(side: Side) -> dict[str, int] | None:
    """Return instant and step of the last event inside a snapshot or cut; None without one."""
    if not side.is_state:
        return None
    states = state_of(side, "").states.values()
    spots = [held.spot for held in states if held.spot is not None]
    if not spots:
        return None
    return {"at": max(spot.at for spot in spots), "step": max(spot.step for spot in spots)}


def _stored(recording: Recording) -> StoredRecording:
    return open_cached(store().folder(recording.store))


def _runs(sides: tuple[Side, Side]) -> RunComparison:
    left, right = (side.recording for side in sides)
    folders = store().folder(left.store), store().folder(right.store)
    with _COMPARING:
        return _compared_runs(folders, (left.pk, right.pk), names_of(sides))


_COMPARING = Lock()  # requests for the same comparison wait for the first, and get what it kept


@lru_cache(maxsize=4)
def _compared_runs(
    folders: tuple[Path, Path], keys: tuple[int, int], names: Names
) -> RunComparison:
    """Compare the recordings with these keys; a published folder never changes, so it is kept."""
    opened = [open_cached(folder) for folder in folders]
    most = min(fair_share(item.tables.events.length.tolist(), MOST_EVENTS) for item in opened)
    left, right = (
        _run(Recording.objects.get(pk=key), stored, name, most)
        for stored, key, name in zip(opened, keys, names, strict=True)
    )
    return compare_runs(left, right)


def _run(recording: Recording, stored: StoredRecording, name: str, most: int) -> Run:
    """Read one side, with the first ``most`` events of each process."""
    tables = stored.tables
    end = StoredCut(tables, tables.events.length)
    return Run(
        name,
        {
            process.id: events
            for process, events in zip(
                stored.topology.processes, read_events(tables, most), strict=True
            )
        },
        lambda process, index: _spot(stored, process, index),
        lambda process, index: _words(stored, process, index),
        {
            channel.id: sent
            for channel, sent in zip(stored.topology.channels, end.sent.tolist(), strict=True)
        },
        state_at(stored, end, f"the end of {name}", {}),
        {SnapshotId(row.snapshot): judgements_of(row) for row in recording.snapshots.all()},
    )


def _spot(stored: StoredRecording, process: ProcessId, index: int) -> Spot:
    fields = stored.event(process, index)
    return Spot(process, index, fields["at"], fields["step"])


def _words(stored: StoredRecording, process: ProcessId, index: int) -> str:
    """Return what an event does, as other pages call it."""
    fields: Mapping[str, Any] = stored.event(process, index)
    names = ("kind", "channel", "message", "value", "snapshot", "label")
    return words(LoggedEvent(fields["line"], process, **{name: fields[name] for name in names}))

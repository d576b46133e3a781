"""Read the two sides of a comparison: recordings, or snapshots and cuts of them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson

from snapshots import access, quantities
from snapshots.answers import replay
from snapshots.answers.outcomes import outcome_of
from snapshots.domain.comparing.model import Contents, Entry, GlobalState, Held, Judgement, Spot
from snapshots.domain.comparing.states import Names
from snapshots.domain.judging.answers import (
    CUT,
    FAILS,
    HOLDS,
    NOT_KNOWN,
    QUESTIONS,
    VERDICTS_OF,
    strays_sentence,
)
from snapshots.domain.model.derived import PROVES_NOTHING, is_derived, why_unknown
from snapshots.domain.model.listing import listed
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.domain.model.topology import ProcessId
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.problems import Invalid
from snapshots.store.cut import StoredCut
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel, SnapshotState

SIDES = ("left", "right")
PLACES = ("snapshot", "at", "step", "positions")
MOST_NAMED = 4  # processes in the name of a cut
LONGEST_NUMBER = 24  # characters


@dataclass(frozen=True)
class Side:
    """One of two things that are compared: a recording, or a snapshot or a cut of it.

    Attributes:
        snapshot: the snapshot; None for a recording or a cut.
        cut: the cut, as the question of ``replay.cut``; empty for a recording or a snapshot.
    """

    recording: Recording
    snapshot: Snapshot | None
    cut: Mapping[str, Any]

    @property
    def is_state(self) -> bool:
        """Tell whether the side is a snapshot or a cut, and no whole recording."""
        return self.snapshot is not None or bool(self.cut)

    @property
    def stored(self) -> StoredRecording:
        """Open the recording. Raises: StoreError."""
        return open_recording(self.recording)


def read_sides(user, values: Mapping[str, Any]) -> tuple[Side, Side]:
    """Return the two sides that the fields of a request name.

    Args:
        values: ``left`` and ``right`` are the numbers of recordings; ``left_snapshot``,
            ``left_at``, ``left_step`` or ``left_positions`` names a state of the left one, and
            likewise for the right one.

    Raises: NotFound, Conflict, Invalid.
    """
    left, right = (read_side(user, values, name) for name in SIDES)
    if left.is_state != right.is_state:
        whole = SIDES[left.is_state]
        raise Invalid(
            "A snapshot or a cut is compared with a snapshot or a cut. Name one of the "
            f"{whole} recording: {whole}_snapshot, {whole}_at, {whole}_step or {whole}_positions.",
            field=f"{whole}_snapshot",
        )
    return left, right


def read_side(user, values: Mapping[str, Any], name: str) -> Side:
    """Return the side with this name. Raises: NotFound, Conflict, Invalid."""
    recording = access.ready_recording(user, _number(values.get(name), name))
    given = {
        place: values[f"{name}_{place}"]
        for place in PLACES
        if values.get(f"{name}_{place}") not in (None, "")
    }
    if len(given) > 1:
        raise Invalid(
            f"Name one place of the {name} recording, not {listed(list(given))}.",
            field=f"{name}_{list(given)[1]}",
        )
    if "snapshot" in given:
        return Side(recording, access.snapshot(recording, given["snapshot"]), {})
    cut = {place: _place(value, place, name) for place, value in given.items()}
    return Side(recording, None, cut)


def _place(value: Any, place: str, name: str) -> Any:
    if place == "positions":
        return _positions(value, name)
    return _number(value, f"{name}_{place}")


def _number(value: Any, field: str) -> int:
    """Return a whole number of a query. Raises: Invalid."""
    text = str(value if value is not None else "").strip()
    if len(text) > LONGEST_NUMBER or not text.removeprefix("-").isdecimal() or not text.isascii():
        raise Invalid(f"{field} is a whole number.", field=field)
    return int(text)


def _positions(value: Any, name: str) -> Any:
    """Return positions that a query gives as JSON. Raises: Invalid."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        raise Invalid(
            f'{name}_positions is JSON: an object such as {{"A": 3}}, or a list with all '
            "processes.",
            field=f"{name}_positions",
        ) from None


def names_of(sides: tuple[Side, Side]) -> Names:
    """Return how sentences call the two recordings: by name, or by number if both have one name."""
    left, right = (side.recording for side in sides)
    if left.name != right.name:
        return f"“{left.name}”", f"“{right.name}”"
    return f"recording {left.pk}", f"recording {right.pk}"


def state_names(sides: tuple[Side, Side]) -> Names:
    """Return how sentences call two states: ``s1``, or ``s1 of “before”`` in two recordings."""
    left, right = map(state_name, sides)
    if sides[0].recording.pk == sides[1].recording.pk:
        return left, right
    recordings = names_of(sides)
    return f"{left} of {recordings[0]}", f"{right} of {recordings[1]}"


def state_name(side: Side) -> str:
    """Return how a snapshot or a cut is called within its recording. Raises: Invalid."""
    if side.snapshot is not None:
        return side.snapshot.snapshot
    if "at" in side.cut:
        return f"the cut at {quantities.instant(side.cut['at'], side.recording.time_unit)}"
    if "step" in side.cut:
        return f"the cut after {quantities.counted(side.cut['step'], 'event')}"
    positions = replay.positions_of(side.stored, side.cut).tolist()
    ids = [process.id for process in side.stored.topology.processes]
    named = [f"{id}: {position:,}" for id, position in zip(ids, positions, strict=True)]
    return f"the cut at {listed(named, MOST_NAMED)}"


def state_of(side: Side, name: str) -> GlobalState:
    """Return the states and channel contents of a snapshot or a cut. Raises: Invalid."""
    if side.snapshot is not None:
        return _of_snapshot(side.stored, side.snapshot, name)
    stored = side.stored
    stored_cut = StoredCut(stored.tables, replay.positions_of(stored, side.cut))
    return state_at(stored, stored_cut, name, {CUT: _of_cut(stored, stored_cut)})


def positions_by_process(side: Side) -> dict[str, int]:
    """Return the positions of a snapshot or a cut; a process that never recorded is absent."""
    if side.snapshot is not None:
        return dict(side.snapshot.positions)
    ids = [process.id for process in side.stored.topology.processes]
    positions = replay.positions_of(side.stored, side.cut).tolist()
    return dict(zip(ids, positions, strict=True))


def outcome(side: Side) -> str:
    """Return the word for a side's verdict: of a cut, consistent, orphan, or not known."""
    if side.snapshot is not None:
        return outcome_of(side.snapshot)
    stored = side.stored
    answer = _of_cut(stored, StoredCut(stored.tables, replay.positions_of(stored, side.cut))).answer
    return {HOLDS: "consistent", FAILS: "orphan"}.get(answer, "not known")


def state_at(
    stored: StoredRecording,
    stored_cut: StoredCut,
    name: str,
    judgements: Mapping[str, Judgement],
) -> GlobalState:
    """Return the states and channel contents at a cut through the log."""
    spots = _spots(stored, stored_cut.positions)
    ids = [process.id for process in stored.topology.processes]
    states = {
        process: Held(text, why="" if text is not None else "the log does not hold it", spot=spot)
        for process, text, spot in zip(ids, stored_cut.states, spots, strict=True)
    }
    contents, omitted = replay.contents_of(stored_cut)
    is_whole = not is_derived(stored.manifest.header_extra)
    by_id = stored.topology.channel_by_id
    channels = {
        channel: replace(
            _contents(messages, omitted.get(channel, 0), is_whole=is_whole),
            is_fifo=by_id[channel].fifo,
        )
        for channel, messages in contents.items()
    }
    return GlobalState(name, states, channels, judgements)


def _contents(messages: Iterable[Message], omitted: int, *, is_whole: bool) -> Contents:
    entries = tuple(Entry(message.id, message.value) for message in messages)
    if omitted:
        return Contents(
            None, f"it holds {len(entries) + omitted:,} messages, more than one answer lists"
        )
    if not entries and not is_whole:
        return Contents(None, "it is not known, because the recording is derived")
    return Contents(entries)


def _of_cut(stored: StoredRecording, stored_cut: StoredCut) -> Judgement:
    """Return whether a cut is consistent, as ``replay.cut`` answers it."""
    if stored_cut.consistent:
        if is_derived(stored.manifest.header_extra):
            return Judgement(NOT_KNOWN, PROVES_NOTHING)
        if stored_cut.stray_count:
            return Judgement(NOT_KNOWN, strays_sentence(stored_cut.stray_count))
        return Judgement(HOLDS, "No message is received inside it and sent outside.")
    first = replay.orphan(stored, stored_cut.orphans(1)[0]).sentence
    return _failing(first, int(stored_cut.orphan_counts.sum()))


def _failing(first: str, witnesses: int) -> Judgement:
    more = f" There are {witnesses - 1:,} more." if witnesses > 1 else ""
    return Judgement(FAILS, first + more, witnesses)


def _of_snapshot(stored: StoredRecording, row: Snapshot, name: str) -> GlobalState:
    """Return what a snapshot recorded; what it did not record is as the log recomputes it."""
    snapshot = stored.snapshot(SnapshotId(row.snapshot))
    unknown = _why_unknown(stored, row.snapshot)
    never = {process for process, state in snapshot.states.items() if state.position is None}
    spots = _spots(stored, _positions_of_states(stored, snapshot.states))
    spot_of = {
        process.id: spot for process, spot in zip(stored.topology.processes, spots, strict=True)
    }
    states = {
        process: _held(state, unknown, spot_of[process])
        for process, state in snapshot.states.items()
    }
    channels = {}
    for channel in snapshot.topology.channels:
        is_open = bool(never & {channel.source, channel.target})
        why = "one of its ends never recorded" if is_open else unknown
        contents = _recorded(snapshot.channels[channel.id], why)
        channels[channel.id] = replace(contents, is_fifo=channel.fifo)
    return GlobalState(name, states, channels, judgements_of(row))


def _why_unknown(stored: StoredRecording, snapshot: str) -> str:
    """Say why something is not known of a snapshot, as the end of a sentence."""
    extra = stored.manifest.header_extra
    if not is_derived(extra):
        return "the log does not hold it"
    return f"it is not known ({why_unknown(extra, snapshot).rstrip('.')})"


def _positions_of_states(
    stored: StoredRecording, states: Mapping[ProcessId, SnapshotState]
) -> Ints:
    """Return the position of every process: 0 for one that never recorded."""
    known = (states.get(process.id) for process in stored.topology.processes)
    return np.array([(state and state.position) or 0 for state in known], np.int64)


def _held(state: SnapshotState, unknown: str, spot: Spot | None) -> Held:
    if state.recorded is not None:
        return Held(state.recorded, "recorded", spot=spot)
    if state.recomputed is not None:
        return Held(state.recomputed, spot=spot)
    return Held(None, why="it never recorded" if state.position is None else unknown)


def _recorded(channel: SnapshotChannel, why: str) -> Contents:
    """Return what was recorded of a channel, else what the log recomputes."""
    if channel.recorded is not None:
        pairs = zip(channel.recorded, channel.sent, strict=True)
        return Contents(tuple(Entry(id, sent.value if sent else None) for id, sent in pairs))
    if channel.recomputed is not None:
        return Contents(tuple(Entry(item.id, item.value) for item in channel.recomputed))
    return Contents(None, why)


def _spots(stored: StoredRecording, positions: Ints) -> list[Spot | None]:
    """Return the last event of each process inside the cut; None where no event is inside."""
    begun = np.flatnonzero(positions)
    rows = stored.tables.events.pick(begun, positions[begun] - 1)
    spots: list[Spot | None] = [None] * len(positions)
    columns = (begun, positions[begun] - 1, rows.values("at"), rows.values("step"))
    for code, index, at, step in zip(*(column.tolist() for column in columns), strict=True):
        spots[code] = Spot(stored.topology.processes[code].id, index, at, step)
    return spots


def judgements_of(row: Snapshot) -> dict[str, Judgement]:
    """Return the four answers of a snapshot, each with its first witness if it does not hold."""
    if not row.answers:
        old = "It was judged by an older version; ingest the recording again."
        return dict.fromkeys(QUESTIONS, Judgement(NOT_KNOWN, old))
    return dict(_judgements(row))


def _judgements(row: Snapshot) -> Iterator[tuple[str, Judgement]]:
    counts = {item["verdict"]: item["count"] for item in row.verdict_counts}
    for item in row.answers:
        question, answer = item["question"], item["answer"]
        if answer != FAILS:
            yield question, Judgement(answer, item["sentence"])
            continue
        verdicts = VERDICTS_OF[question]
        shown = (finding for finding in row.verdicts if finding["verdict"] in verdicts)
        first = next(shown, item)["sentence"]
        yield question, _failing(first, sum(counts.get(verdict, 0) for verdict in verdicts))

"""Answer what a player shows next: key frames, and frames of what changes after them.

A frame goes from one place of an axis to another. Key frames, and frames with too many events to
list them, have the cut at their end as ``replay.cut`` answers it. All others have what changes.
The ends of frames lie on a grid of the axis, so that all who play a recording ask for the same
frames.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from snapshots.answers import replay
from snapshots.answers.excerpts import MOST_LISTED
from snapshots.domain.model.recording import SnapshotId
from snapshots.payloads.arrays import typed_array
from snapshots.payloads.frames import changes_payload, json_texts
from snapshots.payloads.outlines import MOST_OUTLINED
from snapshots.problems import Invalid, NotFound
from snapshots.store.changes import MOST_COUNTED, Changes, Happened
from snapshots.store.control import Control
from snapshots.store.cut import StoredCut
from snapshots.store.explaining import last_event, sentences
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording
from snapshots.store.spreading import Spreading
from snapshots.store.tables import AXES, ORDER, TIME

MOST_EVENTS = 1_000  # of a frame that lists them
MOST_TEXT = 200_000  # bytes of the states, and of the values, of a frame
MOST_SENTENCES = 4  # events of a frame, of 0.2 to 0.4 s, that have a sentence
MOST_MARKERS = 2_000  # listed in a key frame
MOST_NOTED = 4 * MOST_LISTED  # messages that a key frame lists
MOST_FRAMES = 12  # in one answer over HTTP
FRAME_SECONDS = 0.2  # the least that a frame takes to play; the most is twice as long
_EXPONENTS = -12, 60  # of the width of the grid

_ROWS = ("process_codes", "channel_codes")


@dataclass(frozen=True)
class Watched:
    """What a player shows.

    Attributes:
        axis: the axis on which it plays.
        snapshot: the id of the chosen snapshot, or None.
        rows: which processes and channels it lists: ``process_codes`` and ``channel_codes`` as a
            cut takes them.
    """

    axis: str
    snapshot: str | None
    rows: tuple[tuple[str, str], ...] = ()


def watched(stored: StoredRecording, question: Mapping[str, Any]) -> Watched:
    """Return what a question wants to be shown. Raises: Invalid, NotFound."""
    axis = question.get("axis") or (ORDER if question.get("step") is not None else TIME)
    if axis not in AXES:
        raise Invalid("axis must be time or order.", field="axis")
    snapshot = question.get("snapshot")
    if snapshot is not None and snapshot not in stored.tables.manifest.snapshots:
        raise NotFound(f"There is no snapshot “{str(snapshot)[:80]}” in this recording.")
    rows = tuple((name, question[name]) for name in _ROWS if question.get(name) is not None)
    return Watched(axis, snapshot, rows)


def place_of(question: Mapping[str, Any], axis: str) -> float:
    """Return the place on the axis that a question names. Raises: Invalid."""
    name = "step" if axis == ORDER and question.get("step") is not None else "at"
    place = replay.finite(question.get(name), name)
    if abs(place) > 2**53:
        raise Invalid(f"{name} is beyond every recording.", field=name)
    return float(place)


def end_of(stored: StoredRecording, axis: str) -> float:
    """Return the last place of the axis at which something happens."""
    extent = stored.manifest.extent
    return float(extent.to if axis == TIME else extent.steps)


def positions_up_to(stored: StoredRecording, axis: str, place: float) -> Ints:
    """Count the events of each process up to and at a place of the axis: int64[P]."""
    return stored.tables.positions_before(axis, math.floor(place) + 1)


def positions_after(stored: StoredRecording, axis: str, place: float, left: Ints | None) -> Ints:
    """Count the same for a player that has the positions ``left`` [P] already."""
    positions = positions_up_to(stored, axis, place)
    return positions if left is None else np.maximum(positions, left)


def width_of(rate: float) -> float:
    """Return the width of the grid for a rate of so many units of the axis in a second."""
    if not rate > 0:
        raise Invalid("rate must be above 0.", field="rate")
    low, high = _EXPONENTS
    return 2.0 ** min(max(math.ceil(math.log2(rate * FRAME_SECONDS)), low), high)


def edge_after(
    stored: StoredRecording, axis: str, place: float, width: float, *, skips: bool = False
) -> float:
    """Return where the frame after a place ends: at the next edge of the grid, or at the end.

    Args:
        width: that of the grid.
        skips: whether a frame without events goes on to the edge before the next event.
    """
    edge = (math.floor(place / width) + 1) * width
    if skips and (coming := _next_event(stored, axis, place)) is not None:
        edge = max(edge, (math.ceil(coming / width) - 1) * width)
    return min(edge, end_of(stored, axis))


def _next_event(stored: StoredRecording, axis: str, place: float) -> float | None:
    """Return where the next event after a place stands; None if there is none."""
    step = int(positions_up_to(stored, axis, place).sum())
    if step >= stored.manifest.extent.steps:
        return None
    if axis == ORDER:
        return step + 1.0
    at = StoredCut(stored.tables, stored.positions_at(step=step + 1)).at
    return None if at is None else float(at)


def stepped(stored: StoredRecording, axis: str, place: float, by: int) -> float:
    """Return the place of an event after a place (``by`` > 0), or before it."""
    happened = math.ceil(place) if by < 0 else math.floor(place) + 1
    step = int(stored.tables.positions_before(axis, happened).sum()) + (by if by > 0 else by + 1)
    step = min(max(step, 0), stored.manifest.extent.steps)
    if axis == ORDER:
        return float(step)
    at = StoredCut(stored.tables, stored.positions_at(step=step)).at
    return float(stored.manifest.extent.from_ if at is None else at)


def key_frame(stored: StoredRecording, what: Watched, place: float) -> dict[str, Any]:
    """Return all that is there at a place, as FramePayload. Raises: Invalid."""
    frame = _frame(stored, what, None, place, 0)
    return frame | _whole(stored, what, place)


def frame_after(
    stored: StoredRecording, what: Watched, place: float, to: float, left: Ints | None = None
) -> dict[str, Any]:
    """Return what changes after a place, up to and at another one. Raises: Invalid.

    Args:
        left: the positions that the player has, if they may differ from those at ``place`` now:
            int64[P].
    """
    left = positions_up_to(stored, what.axis, place) if left is None else left
    right = positions_after(stored, what.axis, to, left)
    total = int((right - left).sum())
    frame = _frame(stored, what, place, to, total)
    if total > MOST_EVENTS or len(stored.tables.all_channels) > MOST_OUTLINED:
        return frame | {"exact": False} | _whole(stored, what, to)
    changes = Changes(stored.tables, left, right, what.axis, MOST_TEXT)
    told = {"sentences": _sentences(stored, what, changes.happened)}
    return frame | told | changes_payload(changes, _spreading(stored, what), stored.control)


def _sentences(stored: StoredRecording, what: Watched, happened: Happened) -> list[str] | None:
    """Return the sentences of the events of a frame; None if nobody could read so many."""
    if len(happened.process) > MOST_SENTENCES:
        return None
    return sentences(stored, happened.process, happened.index, _chosen(what))


def _chosen(what: Watched) -> SnapshotId | None:
    return None if what.snapshot is None else SnapshotId(what.snapshot)


def _frame(
    stored: StoredRecording, what: Watched, place: float | None, to: float, total: int
) -> dict[str, Any]:
    return {
        "axis": what.axis,
        "from": place,
        "at": to,
        "ends": to >= end_of(stored, what.axis),
        "exact": True,
        "events_total": total,
    }


def _spreading(stored: StoredRecording, what: Watched) -> Spreading | None:
    return None if what.snapshot is None else stored.spreading(SnapshotId(what.snapshot))


def _whole(stored: StoredRecording, what: Watched, place: float) -> dict[str, Any]:
    """Return the cut at a place, the markers in it, and how far the chosen snapshot has come."""
    coordinate = {"at" if what.axis == TIME else "step": math.floor(place)}
    positions = positions_up_to(stored, what.axis, place)
    spreading = _spreading(stored, what)
    question = {**coordinate, "outline": True, "ordinals": True, **dict(what.rows)}
    return {
        "cut": replay.cut(stored, question),
        "markers": _markers(stored, positions),
        "kinds": list(stored.manifest.kinds),
        "snapshots": list(stored.manifest.snapshots),
        "sentence": "".join(
            sentences(stored, *last_event(stored, positions, what.axis), _chosen(what))
        ),
        "spread": None if spreading is None else _spread(stored, spreading, positions, what.axis),
        "said": _said(stored.control, positions),
    }


def _said(control: Control, positions: Ints) -> dict[str, Any]:
    rows = control.said_at(positions)
    return {
        "coordinator": typed_array(control.said.coordinator[rows]),
        "order": typed_array(rows),
        "words": [control.said.words[row] for row in rows.tolist()],
    }


def _markers(stored: StoredRecording, positions: Ints) -> dict[str, Any]:
    tables = stored.tables
    sent = tables.markers.sent(tables.all_channels, positions[tables.source])
    codes, ordinals = tables.markers.waiting(tables.all_channels, positions[tables.target], sent)
    total, codes, ordinals = len(codes), codes[:MOST_MARKERS], ordinals[:MOST_MARKERS]
    return {
        "channel": typed_array(codes),
        "ordinal": typed_array(ordinals),
        "snapshot": typed_array(tables.markers.table.values("snapshot", codes, ordinals)),
        "total": total,
    }


def _spread(
    stored: StoredRecording, spreading: Spreading, positions: Ints, axis: str
) -> dict[str, Any]:
    recorded, opened, locked, done = (
        test(positions)
        for test in (
            spreading.has_recorded, spreading.opened, spreading.locked, spreading.is_done
        )
    )  # fmt: skip
    progress = spreading.progress(recorded, opened & ~locked)
    first_place, last_place = spreading.bounds(axis)
    not_told, which, why = spreading.not_told
    codes, ordinals = spreading.noted(positions)
    noted, first, counts = np.unique(codes, return_index=True, return_counts=True)
    most = max(MOST_NOTED // max(len(noted), 1), 1)
    place = np.arange(len(codes)) - np.repeat(first, counts)
    listed = stored.tables.read_messages(codes[place < most], ordinals[place < most], MOST_TEXT)
    ends = np.cumsum(np.minimum(counts, most)).tolist()
    begins = [0, *ends[:-1]] if ends else []
    messages = [listed[begin:end] for begin, end in zip(begins, ends, strict=True)]
    return {
        "snapshot": spreading.snapshot,
        "phase": progress.phase(),
        "said": progress.said(),
        "begins": first_place,
        "completes": last_place,
        "processes": progress.processes,
        "channels": progress.channels,
        "recorded": typed_array(np.flatnonzero(recorded)),
        "opened": typed_array(np.flatnonzero(opened)),
        "locked": typed_array(np.flatnonzero(locked)),
        "done": typed_array(np.flatnonzero(done)),
        "not_told": typed_array(not_told),
        "not_told_why": typed_array(which),
        "why": why,
        "counts": _counts(spreading, positions),
        "noted": typed_array(noted),
        "noted_count": typed_array(counts),
        "noted_messages": [[message.id for message in each] for each in messages],
        "noted_values": [json_texts(message.value for message in each) for each in messages],
    }


def _counts(spreading: Spreading, positions: Ints) -> list[str]:
    """Say the counts n, n', m and m' of each channel; nothing of many channels."""
    tables = spreading.tables
    codes = tables.all_channels
    if len(codes) > MOST_COUNTED:
        return []
    return spreading.counts(codes, positions[tables.source], positions[tables.target])

"""What a session plays: a recording, or the restored run of one of its snapshots."""

from collections.abc import Mapping
from typing import Any

from snapshots.answers import frames, restored_frames
from snapshots.answers.frames import Watched
from snapshots.answers.replay import finite
from snapshots.answers.restored_frames import Restored
from snapshots.store.mapped import Ints
from snapshots.store.reader import StoredRecording

Played = Watched | Restored


def watched(stored: StoredRecording, question: Mapping[str, Any]) -> Played:
    """Return what a question wants to be shown. Raises: Conflict, Invalid, NotFound."""
    if question.get("restored") is not None:
        return restored_frames.watched(stored, question)
    return frames.watched(stored, question)


def end_of(stored: StoredRecording, what: Played) -> float:
    """Return the last place of the axis at which something happens."""
    if isinstance(what, Restored):
        return restored_frames.end_of(what)
    return frames.end_of(stored, what.axis)


def edge_after(
    stored: StoredRecording, what: Played, place: float, width: float, *, skips: bool
) -> float:
    """Return where the frame after a place ends."""
    if isinstance(what, Restored):
        return restored_frames.edge_after(what, place, width)
    return frames.edge_after(stored, what.axis, place, width, skips=skips)


def stepped(stored: StoredRecording, what: Played, place: float, by: int) -> float:
    """Return the place of an event after a place (``by`` > 0), or before it."""
    if isinstance(what, Restored):
        return min(max(place + by, 0.0), restored_frames.end_of(what))
    return frames.stepped(stored, what.axis, place, by)


def frame(
    stored: StoredRecording,
    what: Played,
    place: float | None,
    to: float,
    left: Ints | None = None,
) -> dict[str, Any]:
    """Return a frame from a place to another one; a key frame if ``place`` is None."""
    if isinstance(what, Restored):
        return restored_frames.frame(what, place, to)
    if place is None:
        return frames.key_frame(stored, what, to)
    return frames.frame_after(stored, what, place, to, left)


def some_frames(
    stored: StoredRecording, question: Mapping[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """Return the next frames of a player that asks for them one answer at a time.

    Args:
        question: has ``at`` or ``step``, and may have ``by`` for the place of another event after
            it, ``key`` for a key frame there first, ``snapshot``, ``restored``, ``rate``,
            ``idle``, ``count``, and the rows of a cut.

    Raises: Conflict, Invalid, NotFound.
    """
    what = watched(stored, question)
    place, end = frames.place_of(question, what.axis), end_of(stored, what)
    if question.get("by"):
        place = stepped(stored, what, place, question["by"])
    rate, count = question.get("rate"), question.get("count")
    width = frames.width_of(1.0 if rate is None else finite(rate, "rate"))
    skips = question.get("idle") is True
    found = [frame(stored, what, None, place)] if question.get("key") is True else []
    most = frames.MOST_FRAMES if count is None else min(count, frames.MOST_FRAMES)
    while place < end and len(found) < most:
        edge = edge_after(stored, what, place, width, skips=skips)
        found.append(frame(stored, what, place, edge))
        place = edge
    return {"frames": found}

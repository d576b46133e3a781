"""The payloads of frames: columns as typed arrays, texts as lists beside them."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, Any, NotRequired

import numpy as np
import orjson
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model.topology import JsonText
from snapshots.payloads.arrays import TypedArray, typed_array
from snapshots.payloads.cuts import CutAnswer
from snapshots.payloads.declaring import Payload, described, payload_of
from snapshots.payloads.restored import RestoredFrame
from snapshots.store import changes
from snapshots.store.control import Control
from snapshots.store.spreading import Spreading

_JSON = frozenset({"value", "state", "noted_value"})
_WIDE = frozenset({"x"})
_NULL = orjson.Fragment("null")

Happened = payload_of(changes.Happened, "FrameEvents")
Put = payload_of(changes.Put, "FrameMessagesPut")
Taken = payload_of(changes.Taken, "FrameTaken")
MarkersPut = payload_of(changes.MarkersPut, "FrameMarkersPut")
StatesSet = payload_of(changes.StatesSet, "FrameStates")
WatermarksSet = payload_of(changes.WatermarksSet, "FrameWatermarks")
SpreadOn = payload_of(changes.SpreadOn, "FrameSpread")
SaidOn = payload_of(changes.SaidOn, "FrameSaid")


@described
class MarkersHere(TypedDict):
    """The markers in the channels.

    Attributes:
        channel: the code of the channel of each marker.
        ordinal: its number on the channel.
        snapshot: the code of its snapshot.
        total: how many markers are in the channels; the first 2,000 are listed.
    """

    channel: TypedArray
    ordinal: TypedArray
    snapshot: TypedArray
    total: int


@described
class SaidHere(TypedDict):
    """What is said beside the lanes of coordinators, of each at most one thing.

    Attributes:
        coordinator: the codes of the coordinators.
        order: the number of what is said among all of the log; the greatest is the newest.
        words: how far the checkpoints of each have come.
    """

    coordinator: TypedArray
    order: TypedArray
    words: list[str]


@described
class SpreadHere(TypedDict):
    """How far the chosen snapshot has come.

    Attributes:
        snapshot: its id.
        phase: ``not begun``, ``spreading`` or ``complete``.
        said: how far it has come, as a sentence.
        begins: the place on the axis where the first process records; null if none does.
        completes: the place where it is complete; null if it never is.
        processes: how many processes belong to it.
        channels: how many channels are noted in it; 0 if the log does not tell.
        recorded: the codes of the processes that have recorded.
        opened: the codes of the channels that have been noted, locked or not.
        locked: the codes of those that are locked.
        done: the codes of the processes that have recorded, and of which all channels are locked.
        not_told: the codes of the channels of which the log does not tell what is noted.
        not_told_why: the place in ``why`` of the reason for each of them.
        why: the reasons, as sentences.
        counts: the counts n, n', m and m' of each channel, as a sentence, in the order of the
            codes; empty in a recording of more than 200 channels.
        noted: the codes of the channels with noted messages.
        noted_count: how many messages are noted of each of them.
        noted_messages: the ids of the first messages noted of each.
        noted_values: their values.
    """

    snapshot: str
    phase: str
    said: str
    begins: int | None
    completes: int | None
    processes: int
    channels: int
    recorded: TypedArray
    opened: TypedArray
    locked: TypedArray
    done: TypedArray
    not_told: TypedArray
    not_told_why: TypedArray
    why: list[str]
    counts: list[str]
    noted: TypedArray
    noted_count: TypedArray
    noted_messages: list[list[str]]
    noted_values: list[list[Any]]


_Begins = TypedDict("_Begins", {"from": float | None})


@described
class FramePayload(_Begins):
    """What changes on the axis after ``from``, up to and at ``at``; or all that is there at ``at``.

    Attributes:
        axis: ``time`` or ``order``.
        from: where the frame begins; null for a key frame.
        at: where it ends.
        ends: whether the recording ends here.
        exact: false if the frame has too many events to list them.
        events_total: how many events the frame has, listed or not.
        cut: of a key frame, and of one that is not exact, the cut at ``at``, with its outline.
        markers: of the same frames, the markers in the channels.
        kinds: of the same frames, the kinds of events in the order of their codes.
        snapshots: of the same frames, the snapshots in the order of their codes.
        sentence: of the same frames, what happens at the last event up to there; empty before any.
        sentences: of all others, what happens at each event; null if there are more than four.
        spread: of the same frames, how far the chosen snapshot has come; of all others what it
            does in the frame; null if none is chosen.
        said: of the same frames, what is said of checkpoints beside the lanes of coordinators; of
            all others, what is said from its events on.
        restored: of a restored run, which has none of the other fields from ``cut`` on, what both
            sides show at ``at``.
        events: the events, by step.
        put: the messages that enter a channel.
        taken: the messages that leave a channel.
        markers_put: the markers that enter a channel.
        markers_taken: the markers that leave a channel.
        states: the processes that get another state.
        watermarks: the processes that get another watermark.
        strays: the places of the receives that no send in the log explains.
    """

    axis: str
    at: float
    ends: bool
    exact: bool
    events_total: int
    cut: NotRequired[CutAnswer]
    markers: NotRequired[MarkersHere]
    kinds: NotRequired[list[str]]
    snapshots: NotRequired[list[str]]
    sentence: NotRequired[str]
    sentences: NotRequired[list[str] | None]
    spread: NotRequired[Any]
    said: NotRequired[Any]
    restored: NotRequired[RestoredFrame]
    events: NotRequired[Annotated[dict[str, Any], Payload(Happened)]]
    put: NotRequired[Annotated[dict[str, Any], Payload(Put)]]
    taken: NotRequired[Annotated[dict[str, Any], Payload(Taken)]]
    markers_put: NotRequired[Annotated[dict[str, Any], Payload(MarkersPut)]]
    markers_taken: NotRequired[Annotated[dict[str, Any], Payload(Taken)]]
    states: NotRequired[Annotated[dict[str, Any], Payload(StatesSet)]]
    watermarks: NotRequired[Annotated[dict[str, Any], Payload(WatermarksSet)]]
    strays: NotRequired[TypedArray]


@described
class FramesPayload(TypedDict):
    """Frames that follow each other.

    Attributes:
        frames: the frames, of which each begins where the one before ends.
    """

    frames: list[FramePayload]


def columns(table: Any) -> dict[str, Any]:
    """Return the columns of a table of changes."""
    return {field.name: _column(field.name, getattr(table, field.name)) for field in fields(table)}


def _column(name: str, column: Any) -> Any:
    if name in _JSON:
        return json_texts(column)
    if isinstance(column, list):
        return column
    return typed_array(np.asarray(column, np.float64) if name in _WIDE else column)


def json_texts(texts: Iterable[JsonText | None]) -> list[orjson.Fragment]:
    """Return JSON texts as they are, with null for None."""
    return [_NULL if text is None else orjson.Fragment(text) for text in texts]


def changes_payload(
    found: changes.Changes, spreading: Spreading | None, control: Control
) -> dict[str, Any]:
    """Return what changes in an exact frame."""
    return {
        "events": columns(found.happened),
        "put": columns(found.put),
        "taken": columns(found.taken),
        "markers_put": columns(found.markers_put),
        "markers_taken": columns(found.markers_taken),
        "states": columns(found.states),
        "watermarks": columns(found.watermarks),
        "strays": typed_array(found.strays),
        "spread": None if spreading is None else columns(found.spread(spreading)),
        "said": columns(found.said(control)),
    }

"""Write places as text, and read them: ``event:B:2`` or ``message:A-%3EB:m1``.

A text is the kind of the place and its parts, joined by colons. In ids every character is
percent-encoded as UTF-8, apart from letters, digits and ``-._~``. Each place has exactly one text,
so that equal places are equal texts. Such a text fits into an address and into JSON.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from urllib.parse import quote, unquote

from snapshots.domain.reviewing.places import (
    AXES,
    TIME,
    ChannelPlace,
    CheckpointPlace,
    CutPlace,
    EventPlace,
    MessagePlace,
    MomentPlace,
    Place,
    ProcessPlace,
    SnapshotChannelPlace,
    SnapshotPlace,
    StatePlace,
    SubtaskPlace,
)

LONGEST = 2**20  # characters; a cut of 20,000 processes fits
LARGEST = 2**62
_SHOWN = 60  # characters of a text in a refusal
_WHOLE = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


class NotAPlace(ValueError):
    """A text that names no place; the message says what is wrong and what is expected."""


def write_place(place: Place) -> str:
    """Return the text of a place. Raises: NotAPlace if an id holds half of a surrogate pair."""
    if isinstance(place, CutPlace):
        return ":".join(["cut", *(f"{_quoted(name)}={n}" for name, n in place.positions)])
    parts = (str(part) if isinstance(part, int) else _quoted(part) for part in astuple(place))
    return ":".join([_KIND_OF[type(place)], *parts])


def read_place(text: str) -> Place:
    """Return the place that a text names. Raises: NotAPlace."""
    if len(text) > LONGEST:
        raise NotAPlace(f"A place has at most {LONGEST:,} characters, not {len(text):,}.")
    kind, *parts = text.split(":")
    if kind == "cut":
        place: Place = _cut(parts)
    elif kind in _READERS:
        form, read = _READERS[kind]
        if len(parts) != form.count(":"):
            raise NotAPlace(f"“{_shortened(text)}” is no place of this kind: write it as {form}.")
        place = read(parts)
    else:
        kinds = ", ".join([*_READERS, "cut"])
        raise NotAPlace(f"“{_shortened(kind)}” is no kind of place. The kinds are {kinds}.")
    return place


def kind_of(place: Place) -> str:
    """Return the first word of a place's text, such as ``event``."""
    return _KIND_OF[type(place)]


def _cut(parts: Iterable[str]) -> CutPlace:
    pairs = [_position(part) for part in parts]
    names = [name for name, _ in pairs]
    if names != sorted(set(names)):
        raise NotAPlace("The processes of a cut are named once each, in the order of their ids.")
    return CutPlace(tuple(pairs))


def _position(part: str) -> tuple[str, int]:
    name, equals, count = part.partition("=")
    if not equals:
        raise NotAPlace(f"“{_shortened(part)}” is no position: write it as PROCESS=COUNT.")
    return _unquoted(name), _whole(count, 1)


def _moment(parts: list[str]) -> MomentPlace:
    axis, value = parts
    if axis not in AXES:
        raise NotAPlace(f"“{_shortened(axis)}” is no axis: write time or order.")
    return MomentPlace(axis, _whole(value, -LARGEST if axis == TIME else 0))


def _event(parts: list[str]) -> EventPlace:
    return EventPlace(_unquoted(parts[0]), _whole(parts[1], 0))


def _checkpoint(parts: list[str]) -> CheckpointPlace:
    return CheckpointPlace(_unquoted(parts[0]), _whole(parts[1], 0))


def _subtask(parts: list[str]) -> SubtaskPlace:
    return SubtaskPlace(_unquoted(parts[0]), _whole(parts[1], 0), _unquoted(parts[2]))


_READERS: Mapping[str, tuple[str, Callable[[list[str]], Place]]] = {
    "moment": ("moment:AXIS:NUMBER", _moment),
    "process": ("process:ID", lambda parts: ProcessPlace(*map(_unquoted, parts))),
    "event": ("event:PROCESS:INDEX", _event),
    "channel": ("channel:ID", lambda parts: ChannelPlace(*map(_unquoted, parts))),
    "message": ("message:CHANNEL:ID", lambda parts: MessagePlace(*map(_unquoted, parts))),
    "snapshot": ("snapshot:ID", lambda parts: SnapshotPlace(*map(_unquoted, parts))),
    "snapshot-channel": (
        "snapshot-channel:SNAPSHOT:CHANNEL",
        lambda parts: SnapshotChannelPlace(*map(_unquoted, parts)),
    ),
    "checkpoint": ("checkpoint:NAME:PIPELINE", _checkpoint),
    "subtask": ("subtask:CHECKPOINT:PIPELINE:SUBTASK", _subtask),
    "state": ("state:CHECKPOINT:OPERATOR:STATE:KEY", lambda p: StatePlace(*map(_unquoted, p))),
}
_KIND_OF: Mapping[type, str] = {
    MomentPlace: "moment",
    ProcessPlace: "process",
    EventPlace: "event",
    ChannelPlace: "channel",
    MessagePlace: "message",
    CutPlace: "cut",
    SnapshotPlace: "snapshot",
    SnapshotChannelPlace: "snapshot-channel",
    CheckpointPlace: "checkpoint",
    SubtaskPlace: "subtask",
    StatePlace: "state",
}
KINDS = tuple(_KIND_OF.values())


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise NotAPlace(f"The id {text[:_SHOWN]!r} is no Unicode text.") from None


def _unquoted(part: str) -> str:
    try:
        text = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise NotAPlace(f"“{_shortened(part)}” is no percent-encoded UTF-8.") from None
    if _quoted(text) != part:
        written = _shortened(_quoted(text))
        raise NotAPlace(f"“{_shortened(part)}” is percent-encoded otherwise, as “{written}”.")
    return text


def _whole(text: str, least: int) -> int:
    if len(text) > 20 or not _WHOLE.fullmatch(text) or not least <= int(text) <= LARGEST:
        raise NotAPlace(
            f"“{_shortened(text)}” is no whole number from {least} to 2^62 without leading zeros."
        )
    return int(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

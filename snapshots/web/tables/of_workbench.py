"""Declare the tables of the workbench: all events and messages, and what a cut holds."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from snapshots.answers import replay
from snapshots.files.recordings import open_recording
from snapshots.problems import Invalid
from snapshots.store.listing import all_events, all_messages
from snapshots.store.reader import StoredRecording
from snapshots.web.json import dumps
from snapshots.web.tables.model import (
    Context,
    Table,
    text,
    truth,
    unit_of_recording,
    value,
    whole,
)

WHY_NOT_KNOWN = (
    "Between checkpoints it is not known what lies in the channels: the engine keeps it only at a "
    "checkpoint."
)
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def _stored(context: Context) -> StoredRecording | None:
    recording = context["recording"]
    return open_recording(recording) if recording.is_ready else None


def _events(context: Context) -> Iterator[dict[str, Any]] | None:
    stored = _stored(context)
    return all_events(stored.tables) if stored else None


def _messages(context: Context) -> Iterator[dict[str, Any]] | None:
    stored = _stored(context)
    return all_messages(stored.tables) if stored else None


EVENTS = Table(
    "events",
    "all events",
    _events,
    (
        text("process"),
        whole("index"),
        text("kind"),
        whole("at", unit=unit_of_recording),
        whole("step"),
        text("channel"),
        text("snapshot"),
        value("state"),
        text("label"),
    ),
    about_log=True,
    more_if_derived=(value("inferred"),),
)
MESSAGES = Table(
    "messages",
    "all messages",
    _messages,
    (
        text("channel"),
        text("source"),
        text("target"),
        text("message"),
        value("value"),
        whole("sent_index"),
        whole("sent_at", unit=unit_of_recording),
        whole("received_index"),
        whole("received_at", unit=unit_of_recording),
        truth("arrived"),
    ),
    about_log=True,
    more_if_derived=(value("sent_inferred"), value("received_inferred")),
)


def _cut(context: Context) -> tuple[StoredRecording, Mapping[str, Any]] | None:
    """Return the answer about the cut that the address names by ``at``, ``step`` or ``cut``.

    Raises: Invalid.
    """
    query = context["request"].GET
    names = [name for name in ("at", "step", "cut") if query.get(name)]
    stored = _stored(context)
    if stored is None or not names:
        return None
    if len(names) > 1:
        raise Invalid("Name a cut by one of at, step and cut.", field=names[1])
    [name] = names
    if name == "cut":
        question: dict[str, Any] = {"positions": _positions(query[name])}
    else:
        question = {name: _number(query[name], name)}
    return stored, orjson.loads(dumps(replay.cut(stored, question)))


def _number(typed: str, name: str) -> int:
    if not _NUMBER.fullmatch(typed):
        raise Invalid(f"{name} is a whole number of at most 18 digits.", field=name)
    return int(typed)


def _positions(typed: str) -> list[int]:
    """Return the positions of a link, in the order of the processes: numbers to the base 36."""
    parts = typed.split(".")
    if not all(part.isascii() and part.isalnum() and len(part) <= 12 for part in parts):
        raise Invalid("cut has a position for each process, such as 4.1a.", field="cut")
    return [int(part, 36) for part in parts]


def _states_of_cut(context: Context) -> Iterator[dict[str, Any]] | None:
    chosen = _cut(context)
    if chosen is None:
        return None
    _, answer = chosen
    return (
        {
            "process": process,
            "position": position,
            "state": answer["states"].get(process),
            "watermark": answer["watermarks"].get(process),
        }
        for process, position in answer["positions"].items()
    )


def _contents_of_cut(context: Context) -> Iterator[dict[str, Any]] | None:
    """Yield each channel with its messages, which are None where they are not known."""
    chosen = _cut(context)
    if chosen is None:
        return None
    stored, answer = chosen
    return (
        {
            "channel": channel.id,
            "messages": _contents(answer, channel.id),
            "why_not_known": None if channel.id in answer["channels"] else WHY_NOT_KNOWN,
            "left_out": answer["omitted"].get(channel.id, 0),
        }
        for channel in stored.topology.channels
    )


def _messages_left_out(context: Context) -> int:
    """Return how many messages of the cut are in no row."""
    chosen = _cut(context)
    return sum(chosen[1]["omitted"].values()) if chosen else 0


def _contents(answer: Mapping[str, Any], channel: str) -> list[dict[str, Any]] | None:
    if channel not in answer["channels"]:
        return None
    pairs = zip(answer["messages"][channel], answer["channels"][channel], strict=True)
    return [{"message": message, "value": value} for message, value in pairs]


STATES_OF_CUT = Table(
    "cut-states",
    "the state of every process at a cut",
    _states_of_cut,
    (text("process"), whole("position"), value("state"), text("watermark")),
    about_log=True,
)
CONTENTS_OF_CUT = Table(
    "cut-channels",
    "the messages in every channel at a cut",
    _contents_of_cut,
    (text("channel"), value("messages"), text("why_not_known"), whole("left_out")),
    left_out=_messages_left_out,
    about_log=True,
)
OF_WORKBENCH = (EVENTS, MESSAGES, STATES_OF_CUT, CONTENTS_OF_CUT)

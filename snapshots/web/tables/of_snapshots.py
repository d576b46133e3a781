"""Declare the tables of the snapshots of a recording."""

import json
from collections.abc import Iterator
from typing import Any

from snapshots.store.channel_counts import channel_counts
from snapshots.web.tables.model import (
    Column,
    Context,
    Table,
    text,
    truth,
    unit_of_recording,
    value,
    whole,
)

_AT_ONCE = 500  # channels that are counted


def _answer_columns(context: Context) -> list[Column]:
    parts = (("", "word"), ("_why", "sentence"), ("_not_compared", "not_compared"))
    answers = [
        text(f"{question}{suffix}", f"answers.{place}.{field}")
        for place, question in enumerate(context["questions"])
        for suffix, field in parts
    ]
    return [
        text("snapshot"),
        text("outcome"),
        text("verdict"),
        *answers,
        whole("began_at", unit=unit_of_recording),
        whole("duration", unit=unit_of_recording),
    ]


SNAPSHOTS = Table("snapshots", "all snapshots", "all_rows", _answer_columns, about_log=True)
WITNESSES = Table(
    "witnesses",
    "the witnesses",
    "witnesses",
    (
        text("verdict"),
        text("sentence"),
        value("names", lambda row: {word: noun for word, noun, _ in row.nouns}),
        value("path"),
    ),
)


def _states(context: Context) -> Iterator[dict[str, Any]] | None:
    if "stored_snapshot" not in context:
        return None
    initiators = set(context["snapshot"]["initiators"])
    return (
        {"process": process, "state": state, "is_initiator": process in initiators}
        for process, state in context["stored_snapshot"].states.items()
    )


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


STATES = Table(
    "states",
    "the state of every process",
    _states,
    (
        text("process"),
        truth("is_initiator"),
        whole("recorded_at", "state.recorded_at", unit_of_recording),
        whole("events_before", "state.position"),
        value("recorded", lambda row: _parsed(row["state"].recorded)),
        value("recomputed", lambda row: _parsed(row["state"].recomputed)),
    ),
    about_log=True,
)


def _contents(context: Context) -> Iterator[dict[str, Any]] | None:
    if "stored_snapshot" not in context:
        return None
    channels = context["stored_snapshot"].channels.items()
    return ({"channel": channel, "contents": contents} for channel, contents in channels)


def _recorded(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    contents = row["contents"]
    if contents.recorded is None:
        return None
    return [
        {"message": name, "value": None if sent is None else _parsed(sent.value)}
        for name, sent in zip(contents.recorded, contents.sent, strict=True)
    ]


def _recomputed(row: dict[str, Any]) -> list[dict[str, Any]] | None:
    contents = row["contents"]
    if contents.recomputed is None:
        return None
    return [{"message": item.id, "value": _parsed(item.value)} for item in contents.recomputed]


CONTENTS = Table(
    "channels",
    "the messages in every channel",
    _contents,
    (text("channel"), value("recorded", _recorded), value("recomputed", _recomputed)),
    about_log=True,
)


def _counts(context: Context) -> Iterator[Any] | None:
    if "stored_snapshot" not in context:
        return None
    snapshot, tables = context["stored_snapshot"], context["stored"].tables
    channels = list(snapshot.channels)
    return (
        row
        for begin in range(0, len(channels), _AT_ONCE)
        for row in channel_counts(tables, snapshot, channels[begin : begin + _AT_ONCE])
    )


COUNTS = Table(
    "counts",
    "the counts of every channel",
    _counts,
    (
        text("channel"),
        whole("n"),
        whole("n_of_channel"),
        whole("m"),
        whole("m_of_channel"),
        truth("holds"),
        text("sentence"),
    ),
    about_log=True,
)
KNOWLEDGE = Table(
    "knowledge",
    "when each process knew the whole state",
    "knowledge.all_rows",
    (
        text("process"),
        whole("knew_all_at", "whole.at", unit_of_recording),
        whole("pieces", lambda row: len(row["pieces"])),
        value("never_got", "missing"),
    ),
    about_log=True,
)
RESTORE_DIFFERENCES = Table(
    "restore-differences",
    "the differences of the restored run",
    lambda context: ((context.get("job") or {}).get("result") or {}).get("differences"),
    (
        text("sentence"),
        value("expected"),
        value("found"),
        text("process", "event.process"),
        whole("index", "event.index"),
    ),
)
OF_SNAPSHOT = (WITNESSES, STATES, CONTENTS, COUNTS, KNOWLEDGE, RESTORE_DIFFERENCES)

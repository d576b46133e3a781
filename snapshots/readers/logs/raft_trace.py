"""Reads traces that etcd's raft library writes for its TLA+ specification (build tag with_tla).

A line is one JSON object with an ``event``: the node, what happened, the node's state after it, and
the message of a send or a receive. Messages have no id. Lines of the same logger that are no trace
are left out. Source: etcd-io/raft, state_trace.go and the README of its folder tla.
"""

import re
from datetime import datetime

from snapshots.domain.model.recording import INTERNAL, RECEIVE, SEND
from snapshots.domain.model.topology import ProcessId
from snapshots.readers.formats.fields import Unfit, given_name_problem, json_text
from snapshots.readers.formats.head import Head
from snapshots.readers.logs.json_events import JsonEventsReader, LineEvent, Link, Misfit

TAG = "trace"
_SENDS = re.compile(r"Send[A-Z]")
_RECEIVES = re.compile(r"Receive[A-Z]")
_STATE = ("role", "log", "conf")


class RaftTraceReader(JsonEventsReader):
    """Reads the traces as JSON Lines, plain or compressed."""

    name = "raft-trace"
    title = "etcd raft trace"
    key = "raft"
    notes = (
        "The network between the nodes may lose, repeat and reorder messages: channels keep no "
        "order.",
    )

    def recognises(self, head: Head) -> str | None:
        if head.fields is None or not _is_trace(head.fields):
            return None
        return f"{self.title}, by the event on its first line"

    def event_of(self, fields: dict) -> LineEvent | None:
        event = fields.get("event")
        if fields.get("tag", TAG) != TAG or event is None:
            return None
        if not isinstance(event, dict):
            raise Misfit("has an event that is not an object")
        kind, node = event.get("name"), event.get("nid")
        if not isinstance(kind, str) or not kind:
            raise Misfit("does not name what happened (event.name)")
        if (problem := given_name_problem(node)) is not None:
            raise Misfit(f"does not name its node (event.nid {problem[1]})")
        try:
            return _line_event(fields, event, kind, event["nid"])
        except Unfit as unfit:
            raise Misfit(unfit.problem[1]) from None


def _is_trace(fields: dict) -> bool:
    event = fields.get("event")
    return (
        fields.get("tag", TAG) == TAG
        and isinstance(event, dict)
        and isinstance(event.get("nid"), str)
        and isinstance(event.get("name"), str)
        and isinstance(event.get("state"), dict)
    )


def _line_event(fields: dict, event: dict, name: str, node: ProcessId) -> LineEvent:
    kind = SEND if _SENDS.match(name) else RECEIVE if _RECEIVES.match(name) else INTERNAL
    link, value = None, None
    if kind != INTERNAL:
        link, value = _message(event.get("msg"), kind, node)
    variables = event.get("state")
    state = dict(variables) if isinstance(variables, dict) else {}
    state |= {part: event[part] for part in _STATE if part in event}
    used = {"name", "nid", "state", *_STATE} | ({"msg"} if kind != INTERNAL else set())
    extra = {key: item for key, item in fields.items() if key not in ("event", "tag")}
    extra |= {key: item for key, item in event.items() if key not in used}
    return LineEvent(
        node,
        kind,
        at=_microseconds(fields.get("ts")),
        link=link,
        content=value or "",
        value=value,
        state=json_text(state) if state else None,
        label=name[:500],
        extra=json_text(extra) if extra else None,
    )


def _message(message: object, kind: str, node: str) -> tuple[Link, str]:
    """Return a message's channel, and the rest of the message as canonical JSON. Raises: Misfit."""
    if not isinstance(message, dict):
        raise Misfit("has no message (event.msg)")
    ends = message.get("from"), message.get("to")
    for end, name in zip(ends, ("from", "to"), strict=True):
        if (problem := given_name_problem(end)) is not None:
            raise Misfit(f"does not name an end of its message (event.msg.{name} {problem[1]})")
    if ends[0 if kind == SEND else 1] != node:
        word = "sends a message of" if kind == SEND else "receives a message to"
        raise Misfit(f"{word} another node")
    content = {part: item for part, item in message.items() if part not in ("from", "to")}
    return Link(None, (message["from"], message["to"])), json_text(content)


def _microseconds(ts: object) -> int | None:
    """Return zap's time stamp in microseconds: it is a number of seconds since 1970, or a date."""
    if isinstance(ts, int | float) and not isinstance(ts, bool) and abs(ts) < 2**40:
        return round(ts * 1_000_000)
    if isinstance(ts, str) and len(ts) < 50:
        try:
            date = datetime.fromisoformat(ts)
        except ValueError:
            return None
        return None if date.tzinfo is None else round(date.timestamp() * 1_000_000)
    return None

"""Traces of etcd's raft library, as it writes them for its TLA+ specification (build tag with_tla).

One JSON object a line, with an ``event``: the node, what happened, its state after it, and the
message of a send or a receive. Messages have no id. Lines of the same logger that are no trace are
left out. Source: etcd-io/raft, state_trace.go and the README of its folder tla.
"""

import re
from datetime import datetime

from snapshots.domain.model.recording import INTERNAL, RECEIVE, SEND
from snapshots.readers.formats.fields import Unfit, given_name_problem, json_text
from snapshots.readers.formats.head import Head
from snapshots.readers.logs.json_events import Link, Misfit, Told, ToldLinesReader

TAG = "trace"
_SENDS = re.compile(r"Send[A-Z]")
_RECEIVES = re.compile(r"Receive[A-Z]")
_STATE = ("role", "log", "conf")


class RaftTraceReader(ToldLinesReader):
    """JSON Lines, plain or compressed."""

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

    def tell(self, fields: dict) -> Told | None:
        event = fields.get("event")
        if fields.get("tag", TAG) != TAG or event is None:
            return None
        if not isinstance(event, dict):
            raise Misfit("has an event that is no object")
        kind, node = event.get("name"), event.get("nid")
        if not isinstance(kind, str) or not kind:
            raise Misfit("does not name what happened (event.name)")
        if (problem := given_name_problem(node)) is not None:
            raise Misfit(f"does not name its node (event.nid {problem[1]})")
        try:
            return _told(fields, event, kind, node)
        except Unfit as unfit:
            raise Misfit(f"{unfit.problem[1]}") from None


def _is_trace(fields: dict) -> bool:
    """Return whether a line is one of such a trace."""
    event = fields.get("event")
    return (
        fields.get("tag", TAG) == TAG
        and isinstance(event, dict)
        and isinstance(event.get("nid"), str)
        and isinstance(event.get("name"), str)
        and isinstance(event.get("state"), dict)
    )


def _told(fields: dict, event: dict, name: str, node: str) -> Told:
    kind = SEND if _SENDS.match(name) else RECEIVE if _RECEIVES.match(name) else INTERNAL
    link, value = None, None
    if kind != INTERNAL:
        link, value = _message(event.get("msg"), kind, node)
    known = event.get("state")
    state = dict(known) if isinstance(known, dict) else {}
    state |= {part: event[part] for part in _STATE if part in event}
    used = {"name", "nid", "state", *_STATE} | ({"msg"} if kind != INTERNAL else set())
    extra = {part: item for part, item in fields.items() if part not in ("event", "tag")}
    extra |= {part: item for part, item in event.items() if part not in used}
    return Told(
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
    """The channel, and all but its ends as canonical JSON."""
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
    return Link(None, *ends), json_text(content)


def _microseconds(ts: object) -> int | None:
    """Of zap's two kinds of time stamps: seconds since 1970, or a date."""
    if type(ts) in (int, float) and abs(ts) < 2**40:
        return round(ts * 1_000_000)
    if isinstance(ts, str) and len(ts) < 50:
        try:
            found = datetime.fromisoformat(ts)
        except ValueError:
            return None
        return None if found.tzinfo is None else round(found.timestamp() * 1_000_000)
    return None

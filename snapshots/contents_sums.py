"""What a checkpoint's numbers add up to: in each state, and in the channels between vertices.

Money in accounts and money under way; and an expression over both says whether it is all there.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from snapshots import sandbox
from snapshots.domain.expressions import ExpressionError
from snapshots.domain.properties.answers import Answer
from snapshots.domain.properties.global_state import GlobalState
from snapshots.domain.recording import Message
from snapshots.problems import Refused
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel

Number = int | float
Sums = dict[str, Any]


def sums(found: dict[str, Any], stored: StoredRecording) -> Sums:
    """{"states": {operator: {state: sum}}, "in_flight": {edge: [sum of each field]}}.

    Of the states whose values are all numbers, and of the records of each edge between vertices
    that are known: the sum of field k, null where a record has no number there.
    """
    states: dict[str, dict[str, Number]] = {}
    for operator in found["operators"]:
        own = {
            state["name"]: state["sum"] for state in operator["states"] if state["sum"] is not None
        }
        if own:
            states[operator["name"] or operator["id"]] = own
    return {"states": states, "in_flight": _in_flight(found, stored)}


def _in_flight(found: dict[str, Any], stored: StoredRecording) -> dict[str, list[Number | None]]:
    try:
        channels = stored.snapshot(found.get("snapshot") or str(found["id"])).channels
    except KeyError:
        return {}
    by_edge: dict[str, list[Message]] = {}
    for channel in stored.topology.channels:
        held = channels.get(channel.id)
        if held is not None and held.recorded:
            edge = f"{_vertex(channel.source)} -> {_vertex(channel.target)}"
            by_edge.setdefault(edge, []).extend(_messages(held))
    told = {edge: _by_field(messages) for edge, messages in by_edge.items()}
    return {edge: fields for edge, fields in told.items() if any(n is not None for n in fields)}


def _vertex(process: str) -> str:
    """``map`` of ``map[1]``."""
    return process.rpartition("[")[0] or process


def _messages(held: SnapshotChannel) -> Iterable[Message]:
    return (held.sent[name] for name in held.recorded if name in held.sent)


def _by_field(messages: list[Message]) -> list[Number | None]:
    totals: list[Number | None] | None = None
    for message in messages:
        value = None if message.value is None else orjson.loads(message.value)
        fields = value if isinstance(value, list) else [value]
        numbers = [field if _is_number(field) else None for field in fields]
        if totals is None:
            totals = numbers
        elif len(numbers) != len(totals):
            return []
        else:
            totals = [
                None if None in pair else sum(pair) for pair in zip(totals, numbers, strict=True)
            ]
    return totals or []


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check(text: str, found: Sums, name: str) -> Answer:
    """Whether an expression holds of the sums: ``processes`` are those of the states by operator,
    ``channels`` those in flight by edge. Raises: Refused."""
    state = GlobalState(
        name,
        found["states"],
        {edge: tuple(fields) for edge, fields in found["in_flight"].items()},
        {},
    )
    try:
        return sandbox.strip(text, [state])[0]
    except ExpressionError as error:
        raise Refused.of_expression(error) from None

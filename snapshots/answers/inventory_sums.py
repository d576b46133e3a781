"""Add up a checkpoint's numbers, in each state and in the channels between vertices.

So one can see money in accounts and money in flight, and check with an expression that all of it is
there.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.inventory.model import FAILED, IN_PROGRESS
from snapshots.domain.inventory.sums import Number, Path, leaves, plus, why_not
from snapshots.domain.model.recording import Message, SnapshotId
from snapshots.domain.properties.answers import Answer
from snapshots.domain.properties.global_state import GlobalState
from snapshots.problems import Refused
from snapshots.sandbox import evaluation
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel

Sums = dict[str, Any]
NO_STATE = {
    FAILED: "It failed, so it has no state.",
    IN_PROGRESS: "It was still in progress, so it has no state yet.",
}


def sums(held: dict[str, Any], stored: StoredRecording) -> Sums:
    """Return the sums of a checkpoint.

    Members of the result:
        states: {operator: {state: sum}}; for values that are objects, the sums of their fields. An
            operator that shares its name is named by its id.
        in_flight: {edge: [sum]}, with a sum for each field of the records on an edge between known
            vertices; null if some record has no number there.
        rows: the same sums as a list, each with the expression that means it.
        left_out: what is not additive, with the reason.
    """
    states: dict[str, dict[str, Any]] = {}
    rows, left_out = [], []
    names = operator_names(held)
    for operator in held["operators"]:
        name = names[operator["id"]]
        for state in operator["states"]:
            for path, total in _totals(state):
                row = {"where": name, "what": f"state {'.'.join(path)}", "sum": total}
                reason = why_not(state["kind"], state["entries"], path, total)
                if reason is not None:
                    left_out.append(row | {"why": reason})
                    continue
                rows.append(row | {"expression": _expression("processes", name, *path)})
                _put(states.setdefault(name, {}), path, total)
    flying = _in_flight(held, stored)
    for edge, fields in flying.items():
        for number, amount in enumerate(fields):
            if amount is not None:
                content = f"in flight, field {number} of its records"
                expression = f"{_expression('channels', edge)}[{number}]"
                rows.append(
                    {"where": edge, "what": content, "sum": amount, "expression": expression}
                )
    return {"states": states, "in_flight": flying, "rows": rows, "left_out": left_out}


def operator_names(held: dict[str, Any]) -> dict[str, str]:
    """Return the name of each operator by its id: the id itself where several share a name."""
    names = {operator["id"]: operator["name"] or operator["id"] for operator in held["operators"]}
    counts = Counter(names.values())
    return {id_: name if counts[name] == 1 else id_ for id_, name in names.items()}


def _totals(state: dict[str, Any]) -> Iterator[tuple[Path, Number]]:
    """Yield each sum in a state with its path from the operator; nothing if the state is empty."""
    own = (state["name"] or "",)
    if not state["entries"]:
        return
    if state["sum"] is not None:
        yield own, state["sum"]
    for path, total in leaves(state.get("sums") or {}):
        yield (*own, *path), total


def _expression(variable: str, *path: str) -> str:
    return variable + "".join(f"[{json.dumps(name, ensure_ascii=False)}]" for name in path)


def _put(into: dict[str, Any], path: Path, total: Number) -> None:
    for name in path[:-1]:
        into = into.setdefault(name, {})
    into[path[-1]] = total


def _in_flight(
    checkpoint: dict[str, Any], stored: StoredRecording
) -> dict[str, list[Number | None]]:
    try:
        name = SnapshotId(checkpoint.get("snapshot") or str(checkpoint["id"]))
        channels = stored.snapshot(name).channels
    except KeyError:
        return {}
    by_edge: dict[str, list[Message]] = {}
    for channel in stored.topology.channels:
        held = channels.get(channel.id)
        if held is not None and held.recorded:
            edge = f"{_vertex(channel.source)} -> {_vertex(channel.target)}"
            by_edge.setdefault(edge, []).extend(_messages(held))
    sums_of = {edge: _by_field(messages) for edge, messages in by_edge.items()}
    return {edge: fields for edge, fields in sums_of.items() if any(n is not None for n in fields)}


def _vertex(process: str) -> str:
    """Return the vertex of a process: ``map`` for ``map[1]``."""
    return process.rpartition("[")[0] or process


def _messages(held: SnapshotChannel) -> Iterable[Message]:
    return (message for message in held.sent if message is not None)


def _by_field(messages: list[Message]) -> list[Number | None]:
    """Add up the fields of some records; empty if they do not all have as many fields."""
    totals: list[Number | None] | None = None
    for message in messages:
        value = None if message.value is None else orjson.loads(message.value)
        fields = value if isinstance(value, list) else [value]
        totals = [0] * len(fields) if totals is None else totals
        if len(fields) != len(totals):
            return []
        totals = [plus(*pair) for pair in zip(totals, fields, strict=True)]
    names = ("",)  # no file has the names of these fields
    return [
        None if total is None or why_not("", len(messages), names, total) else total
        for total in totals or []
    ]


def why_not_known(held: dict[str, Any]) -> str | None:
    """Return why no state of a checkpoint is known; None if some is."""
    if held["status"] in NO_STATE and not held["operators"]:
        return held["problem"] or NO_STATE[held["status"]]
    reason: str | None = held["problem"] or held.get("why_state_unknown")
    return reason


def global_state(held: dict[str, Any], totals: Sums) -> GlobalState:
    """Return the sums of a checkpoint as a state on which an expression is evaluated.

    ``processes`` are the states by operator, ``channels`` the sums in flight by edge. An operator
    whose files are missing or damaged is not known, nor is an edge whose records have no sums.
    """
    states = totals["states"] | dict.fromkeys(_partly_read(held))
    channels: dict[str, tuple[Number | None, ...] | None] = {
        edge: tuple(fields) for edge, fields in totals["in_flight"].items()
    }
    for edge in _edges(held):
        channels.setdefault(edge, None)
    return GlobalState(str(held["id"]), states, channels, {}, is_derived=True)


def _partly_read(held: dict[str, Any]) -> Iterator[str]:
    """Yield the operators whose state is not whole in the upload."""
    names = operator_names(held)
    for operator in held["operators"]:
        is_listed = bool(operator["states"] or not held["missing"])
        if not is_listed or not all(state["complete"] for state in operator["states"]):
            yield names[operator["id"]]


def _edges(held: dict[str, Any]) -> Iterator[str]:
    """Yield the edges that hold something in flight, and one name for those that may."""
    for channel in held["channels"]:
        if channel["source"] is not None and channel["target"] is not None:
            yield f"{_vertex(channel['source'])} -> {_vertex(channel['target'])}"
        else:
            yield channel["id"]
    if held["why_unknown"]:
        yield "the channels that are not listed"


def check(text: str, held: dict[str, Any], totals: Sums) -> Answer:
    """Check an expression over the sums of a checkpoint. Raises: Refused."""
    try:
        return evaluation.strip(text, [global_state(held, totals)], must_decide=False)[0]
    except ExpressionError as error:
        raise Refused.of_expression(error) from None

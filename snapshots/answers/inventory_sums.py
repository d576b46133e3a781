"""What a checkpoint's numbers add up to: in each state, and in the channels between vertices.

Money in accounts and money under way; and an expression over both says whether it is all there.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from snapshots.domain.conditions.expressions import ExpressionError
from snapshots.domain.inventory.sums import Number, Path, leaves, plus, why_not
from snapshots.domain.model.recording import Message
from snapshots.domain.properties.answers import Answer
from snapshots.domain.properties.global_state import GlobalState
from snapshots.problems import Refused
from snapshots.sandbox import evaluation
from snapshots.store.reader import StoredRecording
from snapshots.store.stored_snapshot import SnapshotChannel

Sums = dict[str, Any]


def sums(found: dict[str, Any], stored: StoredRecording) -> Sums:
    """``{"states": {operator: {state: sum}}, "in_flight": {edge: [sum]}, "rows", "left_out"}``.

    states: of values that are numbers their sum, of objects an object of the sums of their fields.
    in_flight: of the records of each edge between vertices that are known the sum of each field,
    null where a record has no number there. rows: the same as a list, with the expression that
    stands for each; left_out: what is not additive, with the reason.
    """
    states: dict[str, dict[str, Any]] = {}
    rows, left_out = [], []
    for operator in found["operators"]:
        name = operator["name"] or operator["id"]
        for state in operator["states"]:
            for path, total in _totals(state):
                row = {"where": name, "what": f"state {'.'.join(path)}", "sum": total}
                why = why_not(state["kind"], state["entries"], path, total)
                if why is not None:
                    left_out.append(row | {"why": why})
                    continue
                rows.append(row | {"expression": _expression("processes", name, *path)})
                _put(states.setdefault(name, {}), path, total)
    flying = _in_flight(found, stored)
    for edge, fields in flying.items():
        for place, total in enumerate(fields):
            what = f"in flight, field {place} of its records"
            expression = f"{_expression('channels', edge)}[{place}]"
            row = {"where": edge, "what": what, "sum": total, "expression": expression}
            rows += [row] if total is not None else []
    return {"states": states, "in_flight": flying, "rows": rows, "left_out": left_out}


def _totals(state: dict[str, Any]) -> Iterator[tuple[Path, Number]]:
    """What a state adds up to: its path from the operator, and the sum. Nothing of an empty one."""
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
    """Empty where records have not all as many fields."""
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
        return evaluation.strip(text, [state], must_decide=False)[0]
    except ExpressionError as error:
        raise Refused.of_expression(error) from None

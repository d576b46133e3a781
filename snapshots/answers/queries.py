"""Answer what the operators of a query hold, in the words of SQL, and which keys weigh most."""

from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from snapshots.answers import inventory
from snapshots.domain.inventory.held import (
    Held,
    WindowClock,
    clock_sentence,
    growing,
    sentences,
)
from snapshots.store.inventory.reading import StoredInventory

MOST_KEYS = 3  # of each operator, by each measure
_WITH_ELEMENTS = {"map", "list"}  # kinds of states whose values are elements of a key
_HELD, _CLOCK = TypeAdapter(Held), TypeAdapter(WindowClock)
_Weights = dict[str, dict[str, Any]]  # by state


def queries(opened: StoredInventory, number: int) -> dict[str, Any]:
    """Return the operators of queries in a checkpoint; none if it has none, or does not tell.

    Raises: NotFound.
    """
    weights = opened.weights(number) or {}
    operators = [
        _operator(operator, weights.get(operator["id"], {}))
        for operator in inventory.checkpoint(opened, number)["operators"]
        if operator.get("sql") is not None
    ]
    return {"operators": operators, "growing": list(growing(_all_held(operators)))}


def _all_held(operators: list[dict[str, Any]]) -> Iterator[tuple[str, str, Held]]:
    for operator in operators:
        for state in operator["states"]:
            name = operator["name"] or operator["id"]
            yield name, state["name"], _held(state)


def _held(state: dict[str, Any]) -> Held:
    return _HELD.validate_python(state["held"])


def _operator(operator: dict[str, Any], weights: _Weights) -> dict[str, Any]:
    held = [state for state in operator["states"] if state.get("held") is not None]
    clock = operator.get("window_clock")
    return {
        "id": operator["id"],
        "name": operator["name"],
        "does": operator["sql"],
        "clock": None if clock is None else clock_sentence(_CLOCK.validate_python(clock)),
        "states": [
            {
                "name": state["name"],
                "held": state["held"],
                "columns": state.get("columns"),
                "sentences": list(sentences(_held(state))),
            }
            for state in held
        ],
        "heavy": list(_heaviest(held, weights)),
    }


def _heaviest(states: list[dict[str, Any]], weights: _Weights) -> Iterator[dict[str, Any]]:
    """Yield the heaviest keys by bytes, then those by elements that are not among them."""
    seen = set()
    for measure, unit in (("by_bytes", "bytes"), ("by_elements", "elements")):
        keys = [
            (_with_elements(key, state["kind"]), state["name"])
            for state in states
            for key in weights.get(state["name"], {}).get(measure, ())
        ]
        keys.sort(key=lambda pair: -(pair[0][unit] or 0))
        for key, name in keys[:MOST_KEYS]:
            identity = (name, key["key"], key["head"], key["key_group"])
            if key[unit] and identity not in seen:
                seen.add(identity)
                yield {"state": name, **key, "share": _share(key["bytes"], weights[name])}


def _with_elements(key: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a key whose elements are known only where its value is a collection."""
    return key if kind in _WITH_ELEMENTS else key | {"elements": None}


def _share(size: int, weights: dict[str, Any]) -> float | None:
    """Return how much of a state's entries a key has, between 0 and 1; None if they are empty."""
    total: int = sum(place[2] for place in weights["places"])
    return size / total if total else None

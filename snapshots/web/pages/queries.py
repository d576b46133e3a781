"""Show on the page of a checkpoint what the operators of a query hold."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from snapshots.answers.queries import queries
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.pages import entry_text

_LONGEST_KEY = 120  # characters

Writer = Callable[[Mapping[str, Any]], dict[str, Any]]


def shown(opened: StoredInventory, pk: int, number: int) -> dict[str, Any]:
    """Return what each operator of a query holds, by its id, and which states only grow."""
    answer = queries(opened, number)
    address = f"/recordings/{pk}/contents/{number}"
    return {
        "by_operator": {
            operator["id"]: operator
            | {"heavy": [_key(key, operator, address) for key in operator["heavy"]]}
            for operator in answer["operators"]
        },
        "growing": answer["growing"],
    }


def writer(checkpoint: dict[str, Any], operator: str, state: str) -> Writer:
    """Return the function that writes the entries of a state as text, on every page alike."""
    owner = next((one for one in checkpoint["operators"] if one["id"] == operator), None)
    states = () if owner is None else owner["states"]
    own = next((one for one in states if one["name"] == state), None)
    if owner is None or own is None:
        return entry_text.shown
    names = entry_text.Names.of(own.get("columns"))
    clock = owner.get("window_clock")
    return partial(entry_text.shown, kind=own["kind"], names=names, clock=clock)


def _key(key: dict[str, Any], operator: dict[str, Any], address: str) -> dict[str, Any]:
    text = key["key"]
    query = {"operator": operator["id"], "state": key["state"]}
    if text is None:
        return key | {"text": f"not decoded {key['head']}", "address": _link(address, query)}
    if len(text) == key["characters"]:
        query["q"] = text
        [columns] = (one["columns"] for one in operator["states"] if one["name"] == key["state"])
        text = entry_text.of_json(text, entry_text.Names.of(columns).key)
    short = text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}…"
    return key | {"text": short, "address": _link(address, query)}


def _link(address: str, query: dict[str, str]) -> str:
    return f"{address}?{urlencode(query)}#entries"

"""Show on the page of a checkpoint what the operators of a query hold."""

from typing import Any
from urllib.parse import urlencode

from snapshots.answers.queries import queries
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.pages import entry_text

_LONGEST_KEY = 120  # characters


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


def window_clock(checkpoint: dict[str, Any], operator: str) -> dict[str, Any] | None:
    """Return by which clock the windows of an operator end; None if it has none in a query."""
    return next(
        (one.get("window_clock") for one in checkpoint["operators"] if one["id"] == operator), None
    )


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

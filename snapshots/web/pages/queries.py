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
            | {"heavy": [_key(key, operator["id"], address) for key in operator["heavy"]]}
            for operator in answer["operators"]
        },
        "growing": answer["growing"],
    }


def _key(key: dict[str, Any], operator: str, address: str) -> dict[str, Any]:
    text = key["key"]
    query = {"operator": operator, "state": key["state"]}
    if text is None:
        return key | {"text": f"not decoded {key['head']}", "address": _link(address, query)}
    if len(text) == key["characters"]:
        query["q"] = text
        text = entry_text.of_json(text)
    short = text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}…"
    return key | {"text": short, "address": _link(address, query)}


def _link(address: str, query: dict[str, str]) -> str:
    return f"{address}?{urlencode(query)}#entries"

"""The page that compares two checkpoints of an upload: what was added, removed and changed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import inventory, inventory_difference
from snapshots.domain.inventory.model import COORDINATOR, TIMERS
from snapshots.domain.inventory.series import SAME
from snapshots.problems import NotFound
from snapshots.store.inventory.differences import CHANGED, DIFFERENCES, Wanted
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.pages import queries
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

MOST_SUBTASKS = 100  # of an operator
MOST_KEY_GROUPS = 100  # of an operator
MOST_FILES = 300
MOST_CHANNELS = 300
ROWS = 50  # keys on a page
ROWS_OF_FILE = 20_000  # keys that are compared at once for a file


@page
@require_safe
def of_checkpoints(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Compare a checkpoint with ``?since=NUMBER``, by default with the one before it.

    The older of the two always comes first.
    """
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    inventory.checkpoint(opened, number)
    checkpoints = opened.upload["checkpoints"]
    since = _since(request.GET.get("since", ""), opened, number)
    older, newer = inventory_difference.older_first(checkpoints, since, number)
    change = inventory_difference.difference(opened, older, newer)
    shared = [file for file in change["files"] if file["needed"] == "both"]
    context = {
        "recording": recording,
        "number": number,
        "since": since,
        "older": older,
        "newer": newer,
        "checkpoint": checkpoints[newer],
        "other": checkpoints[older],
        "others": [
            {"number": other, "id": item["id"], "kind": item["kind"]}
            for other, item in enumerate(checkpoints)
            if other != number
        ],
        "change": change,
        "operators": [
            _operator(item, _keys_address(pk, number, since)) for item in change["operators"]
        ],
        "channels": change["in_channels"][:MOST_CHANNELS],
        "channels_hidden": max(0, len(change["in_channels"]) - MOST_CHANNELS),
        "shared": shared[:MOST_FILES],
        "all_shared": shared or None,
        "shared_hidden": max(0, len(shared) - MOST_FILES),
    }
    return show(request, "snapshots/inventory/difference.html", context)


@page
@require_safe
def of_keys(request: HttpRequest, pk: int, number: int) -> HttpResponseBase:
    """Show the keys of ``?operator=&state=`` that differ since ``?since=NUMBER``, page by page.

    ``?change=`` chooses what happened to them, ``?q=`` a text in key, namespace or value.
    """
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    held = inventory.checkpoint(opened, number)
    checkpoints = opened.upload["checkpoints"]
    since = _since(request.GET.get("since", ""), opened, number)
    operator, state = request.GET.get("operator", ""), request.GET.get("state", "")
    q, page_number = request.GET.get("q", "").strip(), _page_number(request.GET.get("page", "1"))
    wanted = Wanted(request.GET.get("change") or None, (page_number - 1) * ROWS, ROWS, q)
    if wanted.kind not in (*DIFFERENCES, None):
        raise NotFound("There is no such kind of difference.")
    if wanted.kind is None:
        counts = inventory_difference.compare(opened, since, number, operator, state)["counts"]
        wanted = replace(wanted, kind=next((kind for kind in DIFFERENCES if counts[kind]), CHANGED))
    found = inventory_difference.keys(opened, since, number, operator, state, wanted)
    owner = [item for item in held["operators"] if item["id"] == operator]
    write = queries.writer(held, operator, state)
    context = {
        "recording": recording,
        "number": number,
        "since": since,
        "older": checkpoints[found["before"]],
        "newer": checkpoints[found["after"]],
        "operator": operator,
        "operator_name": owner[0]["name"] or operator if owner else operator,
        "state": state,
        "q": q,
        "change": wanted.kind,
        "kinds": [
            {"name": name, "count": count, "address": _with(request, change=name, page=1)}
            for name, count in found["counts"].items()
        ],
        "notes": found["notes"],
        "rows": [_key(item, write) for item in found["items"]],
        "all_keys": _all_keys(opened, (since, number, operator, state), wanted),
        "has_namespace": any(_either(item)["namespace"] is not None for item in found["items"]),
        "total": found["total"],
        "page": Paginator(range(found["total"]), ROWS).get_page(page_number),
    }
    return show(request, "snapshots/inventory/difference_keys.html", context)


def _all_keys(
    opened: StoredInventory, place: tuple[int, int, str, str], wanted: Wanted
) -> Iterator[dict[str, Any]]:
    """Yield the keys of all pages, and compare them only when they are wanted."""
    offset, total = 0, 1
    while offset < total:
        part = replace(wanted, offset=offset, limit=ROWS_OF_FILE)
        page = inventory_difference.keys(opened, *place, part)
        total = page["total"]
        yield from page["items"]
        offset += ROWS_OF_FILE


def _either(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of the newer checkpoint, or that of the older if the newer lacks it."""
    entry: dict[str, Any] = item["after"] or item["before"]
    return entry


def _key(item: Mapping[str, Any], write: queries.Writer) -> dict[str, Any]:
    sides = {side: item[side] and write(item[side]) for side in ("before", "after")}
    return {"entry": _either(sides), **sides}


def _with(request: HttpRequest, **changes: object) -> str:
    """Return the query of this page with other values."""
    query = request.GET.copy()
    for name, value in changes.items():
        query[name] = str(value)
    return f"?{query.urlencode()}"


def _page_number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1


def _since(typed: str, opened: StoredInventory, number: int) -> int:
    """Return the other checkpoint: the typed one, else the one before, else the first other one."""
    checkpoints = opened.upload["checkpoints"]
    if not typed:
        earlier = inventory_difference.previous(opened, number)
        later = (other for other in range(len(checkpoints)) if other != number)
        return next(later, number) if earlier is None else earlier
    if not typed.isdecimal() or len(typed) > 9 or int(typed) >= len(checkpoints):
        raise NotFound("There is no such checkpoint in the upload.")
    return int(typed)


def _keys_address(pk: int, number: int, since: int) -> str:
    return f"/recordings/{pk}/contents/{number}/difference/keys?since={since}"


def _operator(item: dict[str, Any], keys_address: str) -> dict[str, Any]:
    """Leave out timers that are empty in both checkpoints, and count what is not shown."""
    states = [
        state | {"address": f"{keys_address}&{_state_query(item, state)}"}
        for state in item["states"]
        if state["kind"] != TIMERS or state["entries"]["before"] or state["entries"]["after"]
    ]
    subtasks = [
        {"name": "coordinator" if index == COORDINATOR else index, "bytes": pair}
        for index, pair in item["subtasks"]
    ]
    return item | {
        "is_same": item["change"] == SAME,
        "states": states,
        "subtasks": subtasks[:MOST_SUBTASKS],
        "subtasks_hidden": max(0, len(subtasks) - MOST_SUBTASKS),
        "key_groups": item["key_groups"][:MOST_KEY_GROUPS],
        "key_groups_hidden": max(0, len(item["key_groups"]) - MOST_KEY_GROUPS),
    }


def _state_query(operator: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    return urlencode({"operator": operator["operator"], "state": state["name"] or ""})

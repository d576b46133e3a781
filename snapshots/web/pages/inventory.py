"""What an upload of an engine's files holds: the list of checkpoints, and one of them."""

from typing import Any
from urllib.parse import urlencode

import orjson
from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers import inventory, inventory_sums
from snapshots.domain.inventory.model import TIMERS
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Invalid, NotFound, Refused
from snapshots.store.inventory.reading import StoredInventory
from snapshots.web.pages import batches, links
from snapshots.web.pages.rendering import page

WORDS = {"unknown": "cannot be told", "same": "the same"}  # where people say it otherwise
ROWS = 50
MOST_FILES = 500
MOST_CHANNELS = 300
LONGEST_SHOWN = 300  # characters of a key or value


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponse:
    """All checkpoints of the upload, and every file of it."""
    recording = access.recording(request.user, pk)
    upload = inventory.opened(recording).upload
    items = [
        {**item, "number": number, "address": _address(pk, number)}
        for number, item in enumerate(upload["checkpoints"])
    ]
    files = upload["files"]
    context = {
        "recording": recording,
        "upload": upload,
        "workbench_link": links.to_workbench(pk, t="0"),
        "has_times": _has_times(recording, upload),
        "checkpoints": Paginator(items, 100).get_page(request.GET.get("page")),
        "largest": max((item["bytes"] or 0 for item in items), default=0) or 1,
        "unread": [file for file in files if file["reason"]],
        "files": files[:MOST_FILES],
        "files_total": len(files),
        "files_hidden": max(0, len(files) - MOST_FILES),
        "files_bytes": sum(file["bytes"] for file in files),
        "archived": access.engine_jobs(request.user)
        .filter(pk__in=recording.engine_jobs.values("pk"))
        .annotate(others=Count("uploads") - 1),
    }
    return render(request, "snapshots/inventory/list.html", context)


@page
@require_safe
def of_checkpoint(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """One checkpoint; ``operator`` and ``state``, or ``channel``, open what they name."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    found = inventory.checkpoint(opened, number)
    last = len(opened.upload["checkpoints"]) - 1
    context = {
        "recording": recording,
        "engine": opened.upload["engine"],
        "number": number,
        "checkpoint": found | {"channels": found["channels"][:MOST_CHANNELS]},
        "operators": [_operator(item, pk, number) for item in found["operators"]],
        "channels_total": len(found["channels"]),
        "channels_hidden": max(0, len(found["channels"]) - MOST_CHANNELS),
        "in_flight": sum(item["bytes"] for item in found["channels"]),
        "previous": _address(pk, number - 1) if number else "",
        "next": _address(pk, number + 1) if number < last else "",
        "others": [
            {"number": place, "id": item["id"], "kind": item["kind"]}
            for place, item in enumerate(opened.upload["checkpoints"])
            if place != number and item["job"] == found["job"]
        ],
        **_state(request, opened, number),
        **_channel(request, opened, number),
        **_sums(request, recording, found),
        **_links(recording, found),
    }
    return render(request, "snapshots/inventory/checkpoint.html", context)


def _has_times(recording: Recording, upload: dict[str, Any]) -> bool:
    """Whether there is something to be said of where the time went."""
    if recording.format == batches.SPARK:
        return batches.has_times(upload)
    return open_recording(recording).is_dataflow


def _sums(request: HttpRequest, recording: Recording, found: dict[str, Any]) -> dict[str, Any]:
    """What states and channels add up to; with ``?check=`` whether an expression holds of it."""
    added = inventory_sums.sums(found, open_recording(recording))
    told: dict[str, Any] = {"sums": added, "check": request.GET.get("check", "").strip()}
    if told["check"]:
        try:
            told["checked"] = inventory_sums.check(told["check"], added, str(found["id"]))
        except Refused as refused:
            told["check_refused"] = refused.detail
    return told


def _address(pk: int, number: int, **opened: object) -> str:
    query = urlencode(opened)
    return f"/recordings/{pk}/contents/{number}{'?' if query else ''}{query}"


def _links(recording: Recording, found: dict[str, Any]) -> dict[str, str]:
    name = found.get("snapshot") or str(found["id"])
    return {"workbench_link": links.to_workbench(recording.pk, snapshot=name)}


def _operator(item: dict[str, Any], pk: int, number: int) -> dict[str, Any]:
    """With the share of each subtask in its largest, and where its states are opened."""
    most = max((subtask["bytes"] or 0 for subtask in item["subtasks"]), default=0) or 1
    kept = [state for state in item["states"] if state["entries"] or state["kind"] != TIMERS]
    states = [
        state
        | {
            "address": _address(pk, number, operator=item["id"], state=state["name"] or "")
            + "#entries"
        }
        for state in kept
    ]
    return item | {
        "largest": most,
        "has_key_groups": any(subtask["key_groups"] for subtask in item["subtasks"]),
        "has_parts": any(subtask["parts"] for subtask in item["subtasks"]),
        "states": states,
        "empty_timers": len(item["states"]) - len(kept),
    }


def _state(request: HttpRequest, opened: StoredInventory, number: int) -> dict[str, Any]:
    """A page of the entries of the chosen state, and how it differs from another checkpoint's."""
    operator, state = request.GET.get("operator"), request.GET.get("state")
    if operator is None or state is None:
        return {}
    typed, place = request.GET.get("q", ""), _number(request.GET.get("page", "1"))
    first = inventory.entries(
        opened, number, operator, state, containing=typed, offset=(place - 1) * ROWS, limit=ROWS
    )
    listed = [_shown(row) for row in first["items"]]
    pages = Paginator(range(first["total"]), ROWS)
    chosen = {
        "operator": operator,
        "state": state,
        "q": typed,
        "rows": listed,
        "page": pages.get_page(place),
        "total": first["total"],
        "has_namespace": any(row["namespace"] for row in listed),
        "has_key_group": any(row["key_group"] is not None for row in listed),
    }
    with_number = request.GET.get("with", "")
    if with_number.isdecimal():
        chosen["with"] = int(with_number)
        found = inventory.compare(opened, int(with_number), number, operator, state)
        other = inventory.checkpoint(opened, int(with_number))
        chosen |= {"with_kind": other["kind"], "with_id": other["id"]}
        chosen["comparison"] = _compared(found)
    return {"chosen": chosen}


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    """With a sentence, and how many that differ are not listed."""
    told = [
        f"{quantities.thousands(count)} {WORDS.get(kind, kind)}"
        for kind, count in found["counts"].items()
        if count
    ]
    differing = sum(count for kind, count in found["counts"].items() if kind != "same")
    return {
        "sentence": f"{', '.join(told) or 'no key in either'}.",
        "hidden": differing - len(found["examples"]),
        "notes": found.get("notes", []),
        "examples": [
            {
                "word": WORDS.get(item["kind"], item["kind"]),
                "before": item["before"] and _shown(item["before"]),
                "after": item["after"] and _shown(item["after"]),
            }
            for item in found["examples"]
        ],
    }


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """An entry with its JSON as people read it; long texts are cut, and say so."""
    return row | {name: _text(row[name]) for name in ("namespace", "key", "value")}


def _text(part: orjson.Fragment | None) -> str | None:
    if part is None:
        return None
    text = orjson.dumps(part).decode()
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[:LONGEST_SHOWN]}… ({len(text):,} characters)"


def _channel(request: HttpRequest, opened: StoredInventory, number: int) -> dict[str, Any]:
    wanted = request.GET.get("channel", "")
    if not wanted:
        return {}
    if not wanted.isdecimal() or len(wanted) > 9:
        raise NotFound("There is no such channel.")
    typed, place = request.GET.get("type", "").strip(), _number(request.GET.get("elements", "1"))
    refused = inferred = ""
    asked = {"offset": (place - 1) * ROWS, "limit": ROWS}
    try:
        found = inventory.channel(opened, number, int(wanted), type_name=typed, **asked)
    except Invalid as invalid:
        refused = invalid.detail
        found = inventory.channel(opened, number, int(wanted), **asked)
    likely = found["described"] or found["suggested"]
    if not typed and len(likely) == 1:
        [inferred] = likely
        found = inventory.channel(opened, number, int(wanted), type_name=inferred, **asked)
    return {
        "channel": found | {"items": [_element(item) for item in found["items"]]},
        "typed": typed or inferred,
        "inferred": inferred,
        "type_refused": refused,
        "elements": _page(found["total"] or 0, place),
    }


def _element(item: dict[str, Any]) -> dict[str, Any]:
    value = item["value"]
    return item | {"value": None if value is None else orjson.dumps(value, default=str).decode()}


def _page(total: int, place: int) -> Page:
    return Paginator(range(total), ROWS).get_page(place)


def _number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1

"""The pages of the inventory of an engine's upload: the list of checkpoints, and one of them."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers import inventory, inventory_difference, inventory_sums
from snapshots.answers.restore_check import known_answers
from snapshots.domain.inventory.batches import NEWER_FIRST
from snapshots.domain.inventory.model import TIMERS, WHOLE, sum_of_known
from snapshots.domain.reviewing.place_text import write_place
from snapshots.domain.reviewing.places import CheckpointPlace
from snapshots.files.recordings import open_recording
from snapshots.models import Recording
from snapshots.problems import Invalid, NotFound, Refused
from snapshots.store.inventory.reading import StoredInventory, as_checkpoint, states_of
from snapshots.web.pages import batches, links, queries
from snapshots.web.pages.rendering import page
from snapshots.web.pages.restore_check import worded
from snapshots.web.pages.reviews import notes_at
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest

WORDS = {"same": "the same"}  # of kinds of differences, for people
ROWS = 50
ROWS_OF_FILE = 20_000  # that are read at once for a file
MOST_FILES = 500
MOST_CHANNELS = 300


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show all checkpoints of the upload, and all its files."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    upload, answers = opened.upload, known_answers(opened)
    items = [
        {
            **item,
            "number": number,
            "address": _address(pk, number),
            "all_there": worded(answers[number]) if number in answers else {},
        }
        for number, item in enumerate(upload["checkpoints"])
    ]
    files = upload["files"]
    context = {
        "recording": recording,
        "upload": upload,
        "answers": answers,
        "leaves_out": any(note.endswith(NEWER_FIRST) for note in upload["notes"]),
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
    return show(request, "snapshots/inventory/list.html", context)


@page
@require_safe
def of_checkpoint(request: SignedInRequest, pk: int, number: int) -> HttpResponseBase:
    """Show one checkpoint; ``operator`` with ``state``, or ``channel``, opens what it names."""
    recording = access.recording(request.user, pk)
    opened = inventory.opened(recording)
    checkpoint = inventory.checkpoint(opened, number)
    last = len(opened.upload["checkpoints"]) - 1
    held = queries.shown(opened, pk, number)
    context = {
        "recording": recording,
        "engine": opened.upload["engine"],
        "number": number,
        "checkpoint": checkpoint | {"channels": checkpoint["channels"][:MOST_CHANNELS]},
        "operators": [
            _operator(item, pk, number) | {"query": held["by_operator"].get(item["id"])}
            for item in checkpoint["operators"]
        ],
        "growing": held["growing"],
        "all_channels": checkpoint["channels"],
        "channels_total": len(checkpoint["channels"]),
        "channels_hidden": max(0, len(checkpoint["channels"]) - MOST_CHANNELS),
        "in_flight": as_checkpoint(checkpoint).in_flight,
        "previous": _address(pk, number - 1) if number else "",
        "next": _address(pk, number + 1) if number < last else "",
        "others": [
            {"number": other, "id": item["id"], "kind": item["kind"]}
            for other, item in enumerate(opened.upload["checkpoints"])
            if other != number and item["job"] == checkpoint["job"]
        ],
        **_state(request, opened, number),
        **_channel(request, opened, number),
        **_sums(request, recording, checkpoint),
        "halves": any(item["part"] != WHOLE for item in checkpoint["channels"]),
        "lacking": sum_of_known(file["bytes"] for file in checkpoint["missing"]),
        "workbench_link": _workbench_link(recording, checkpoint),
        **notes_at(request, recording, write_place(CheckpointPlace(_name(checkpoint)))),
    }
    return show(request, "snapshots/inventory/checkpoint.html", context)


def _name(checkpoint: dict[str, Any]) -> str:
    """Return the name of a checkpoint in the recording."""
    return checkpoint.get("snapshot") or str(checkpoint["id"])


def _workbench_link(recording: Recording, checkpoint: dict[str, Any]) -> str:
    """Return the address of the checkpoint's snapshot; empty if the recording does not have it."""
    snapshot = _name(checkpoint)
    if not recording.snapshots.filter(snapshot=snapshot).exists():
        return ""
    return links.to_workbench(recording.pk, snapshot=snapshot)


def _has_times(recording: Recording, upload: dict[str, Any]) -> bool:
    """Return whether there is a page that shows where the time went."""
    if recording.format == batches.SPARK:
        return batches.has_times(upload)
    return open_recording(recording).is_dataflow


def _sums(request: HttpRequest, recording: Recording, checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Return the sums of states and channels, and with ``?check=`` whether an expression holds."""
    sums = inventory_sums.sums(checkpoint, open_recording(recording))
    context: dict[str, Any] = {"sums": sums, "check": request.GET.get("check", "").strip()}
    if context["check"]:
        try:
            context["checked"] = inventory_sums.check(context["check"], checkpoint, sums)
        except Refused as refused:
            context["check_refused"] = refused.detail
    return context


def _address(pk: int, number: int, **query: object) -> str:
    return f"/recordings/{pk}/contents/{number}{'?' if query else ''}{urlencode(query)}"


def _operator(item: dict[str, Any], pk: int, number: int) -> dict[str, Any]:
    """Add the size of the largest subtask, and the addresses at which the states open."""
    most = max((subtask["bytes"] or 0 for subtask in item["subtasks"]), default=0) or 1
    kept = [state for state in item["states"] if state["entries"] or state["kind"] != TIMERS]
    addresses = [
        _address(pk, number, operator=item["id"], state=state["name"] or "") for state in kept
    ]
    return item | {
        "largest": most,
        "has_key_groups": any(subtask["key_groups"] for subtask in item["subtasks"]),
        "has_parts": any(subtask["parts"] for subtask in item["subtasks"]),
        "states": [
            state | {"address": f"{address}#entries"}
            for state, address in zip(kept, addresses, strict=True)
        ],
        "empty_timers": len(item["states"]) - len(kept),
    }


def _state(request: HttpRequest, opened: StoredInventory, number: int) -> dict[str, Any]:
    """Return a page of the chosen state's entries, and its difference from another checkpoint."""
    operator, state = request.GET.get("operator"), request.GET.get("state")
    if operator is None or state is None:
        return {}
    q, page_number = request.GET.get("q", ""), _page_number(request.GET.get("page", "1"))
    offset = (page_number - 1) * ROWS
    entries = inventory.entries(
        opened, number, operator, state, containing=q, offset=offset, limit=ROWS
    )
    held = inventory.checkpoint(opened, number)
    own = next(item for item in states_of(held, operator) if item["name"] == state)
    write = queries.writer(held, operator, state)
    rows = [write(row) for row in entries["items"]]
    chosen: dict[str, Any] = {
        "operator": operator,
        "state": state,
        "q": q,
        "rows": rows,
        "columns": own.get("columns"),
        "all_entries": _all_entries(opened, (number, operator, state), q),
        "page": _page(entries["total"], page_number),
        "total": entries["total"],
        "has_namespace": any(row["namespace"] for row in rows),
        "has_key_group": any(row["key_group"] is not None for row in rows),
        "with": inventory_difference.previous(opened, number),
    }
    if request.GET.get("with", "").isdecimal():
        chosen |= _comparison(opened, number, int(request.GET["with"]), (operator, state), write)
    return {"chosen": chosen}


def _all_entries(
    opened: StoredInventory, place: tuple[int, str, str], q: str
) -> Iterator[dict[str, Any]]:
    """Yield the entries of all pages, and read them only when they are wanted."""
    offset, total = 0, 1
    while offset < total:
        page = inventory.entries(opened, *place, containing=q, offset=offset, limit=ROWS_OF_FILE)
        total = page["total"]
        yield from page["items"]
        offset += ROWS_OF_FILE


def _comparison(
    opened: StoredInventory, number: int, other: int, of: tuple[str, str], write: queries.Writer
) -> dict[str, Any]:
    """Return how a state of an operator changed from the older to the newer of two checkpoints."""
    operator, state = of
    comparison = inventory_difference.compare(opened, other, number, operator, state)
    listed = opened.upload["checkpoints"]
    query = {"since": other, "operator": operator, "state": state}
    return {
        "with": other,
        "older": listed[comparison["before"]],
        "newer": listed[comparison["after"]],
        "comparison": _compared(comparison, write),
        "all_examples": comparison["examples"],
        "keys_address": f"?{urlencode(query)}",
    }


def _compared(comparison: dict[str, Any], write: queries.Writer) -> dict[str, Any]:
    """Return a comparison with its counts in words, and how many differences are not listed."""
    counts = comparison["counts"]
    words = [
        f"{quantities.thousands(count)} {WORDS.get(kind, kind)}"
        for kind, count in counts.items()
        if count
    ]
    differing = sum(count for kind, count in counts.items() if kind != "same")
    return {
        "sentence": f"{', '.join(words) or 'no key in either'}.",
        "hidden": differing - len(comparison["examples"]),
        "notes": comparison["notes"],
        "examples": [
            {
                "word": WORDS.get(item["kind"], item["kind"]),
                "before": item["before"] and write(item["before"]),
                "after": item["after"] and write(item["after"]),
            }
            for item in comparison["examples"]
        ],
    }


def _channel(request: HttpRequest, opened: StoredInventory, number: int) -> dict[str, Any]:
    text = request.GET.get("channel", "")
    if not text:
        return {}
    if not text.isdecimal() or len(text) > 9:
        raise NotFound("There is no such channel.")
    page_number = _page_number(request.GET.get("elements", "1"))

    def channel_as(type_name: str) -> dict[str, Any]:
        offset = (page_number - 1) * ROWS
        return inventory.channel(
            opened, number, int(text), type_name=type_name, offset=offset, limit=ROWS
        )

    typed, inferred, refused = request.GET.get("type", "").strip(), "", ""
    try:
        channel = channel_as(typed)
    except Invalid as invalid:
        refused = invalid.detail
        channel = channel_as("")
    likely = channel["described"] or channel["suggested"]
    if not typed and len(likely) == 1:
        [inferred] = likely
        channel = channel_as(inferred)
    return {
        "channel": channel
        | {
            "items": [_element(item) for item in channel["items"]],
            "all_elements": _all_elements(opened, (number, int(text)), typed or inferred),
        },
        "typed": typed or inferred,
        "inferred": inferred,
        "type_refused": refused,
        "elements": _page(channel["total"] or 0, page_number),
    }


def _all_elements(
    opened: StoredInventory, place: tuple[int, int], type_name: str
) -> Iterator[dict[str, Any]]:
    """Yield the elements of all pages, and read them only when they are wanted."""
    offset, total = 0, 1
    while offset < total:
        page = inventory.channel(
            opened, *place, type_name=type_name, offset=offset, limit=ROWS_OF_FILE
        )
        total = page["total"] or 0
        yield from page["items"]
        offset += ROWS_OF_FILE


def _element(item: dict[str, Any]) -> dict[str, Any]:
    value = item["value"]
    return item | {"value": None if value is None else orjson.dumps(value, default=str).decode()}


def _page(total: int, number: int) -> Page:
    return Paginator(range(total), ROWS).get_page(number)


def _page_number(text: str) -> int:
    return max(1, int(text)) if text.isdecimal() and len(text) < 9 else 1

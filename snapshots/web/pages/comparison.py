"""Two recordings, snapshots or cuts side by side, and the pages on which the second is chosen."""

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from snapshots import access
from snapshots.answers import comparison
from snapshots.answers.compared_sides import SIDES, Side, read_side, read_sides, state_name
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.domain.comparing.model import AMOUNT, EVENTS, PARTS, Difference, Spot
from snapshots.domain.model.derived import is_derived
from snapshots.models import Recording, Snapshot
from snapshots.quantities import counted, thousands
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.tables.sending import show

ROWS = 100
MOST_CHOICES = 200
MOST_NOT_COMPARED = 50
_UNITS = {EVENTS: "event", PARTS: "part"}
_ABOUT = {"answer": "verdict", "contents": "channel"}


@page
@require_safe
def two(request: HttpRequest) -> HttpResponseBase:
    """Show the two sides that the address names, or what there is to choose for the second one.

    The fields are those of ``read_sides``: ``?left=4&left_snapshot=s1&right=5&right_snapshot=s1``.
    """
    values = request.GET.dict()
    for name in SIDES:
        if not values.get(name):
            return _choose_recording(request, values, name)
    left, right = (read_side(request.user, values, name) for name in SIDES)
    if left.is_state != right.is_state:
        name = SIDES[left.is_state]
        return _choose_state(request, values, name, (left, right)[left.is_state].recording)
    return _compared(request, values)


def _compared(request: HttpRequest, values: Mapping[str, str]) -> HttpResponseBase:
    compared = comparison.compare(read_sides(request.user, values))
    answer = comparison.as_payload(compared, 0, 0)
    rows = Paginator(compared.differences, ROWS).get_page(values.get("page"))
    shown_rows = [_row(compared, item) for item in rows]
    named = {name: value for name, value in values.items() if _is_of_side(name)}
    context = {
        "answer": answer,
        "sides": [
            _head(side, answer[name]) for name, side in zip(SIDES, compared.sides, strict=True)
        ],
        "page": rows,
        "rows": shown_rows,
        "all_rows": compared.differences,
        "equal": [_equal(about, count) for about, count in answer["equal"].items()],
        "not_compared": answer["not_compared"][:MOST_NOT_COMPARED],
        "not_compared_hidden": max(0, answer["not_compared_total"] - MOST_NOT_COMPARED),
        "swapped": _address(_swapped(named)),
        "api": f"/api/compare?{urlencode(named)}",
        "csv": f"/api/compare.csv?{urlencode(named)}",
        "data": _data(compared, answer, named),
        "shown": [row["shown"] for row in shown_rows],
    }
    return show(request, "snapshots/compare/two.html", context)


def _is_of_side(name: str) -> bool:
    return name in SIDES or name.startswith(tuple(f"{side}_" for side in SIDES))


def _swapped(named: Mapping[str, str]) -> dict[str, str]:
    other = {SIDES[0]: SIDES[1], SIDES[1]: SIDES[0]}
    parts = {name: name.partition("_") for name in named}
    return {other[side] + mark + place: named[name] for name, (side, mark, place) in parts.items()}


def _address(values: Mapping[str, Any]) -> str:
    return f"{reverse('compare-two')}?{urlencode(values)}"


def _head(side: Side, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands above a side's diagram."""
    word = answer["outcome"]
    return {
        "recording": side.recording,
        "state": state_name(side) if side.is_state else "",
        "address": _side_link(side),
        "outcome": word,
        "colour": colour_of(word) if word else "",
    }


def _side_link(side: Side) -> str:
    recording = side.recording.pk
    if side.snapshot is not None:
        return links.to_snapshot(recording, side.snapshot.snapshot)
    if "positions" in side.cut:
        return links.to_workbench(recording, cut=links.cut(comparison.positions_in_order(side)))
    return links.to_workbench(recording, t=str(side.cut["at"]) if "at" in side.cut else "")


def _row(compared: comparison.Compared, item: Difference) -> dict[str, Any]:
    """Return a difference as a row, with what the diagrams show when it is chosen."""
    sides = compared.sides
    spots = (item.left_spot, item.right_spot)
    return {
        "about": _ABOUT.get(item.about, item.about),
        "sentence": item.sentence,
        "size": _size(item),
        "places": [
            {"recording": side.recording, "address": _place_link(side, item, spot)}
            for side, spot in zip(sides, spots, strict=True)
        ],
        "snapshots": _snapshots_link(sides, item),
        "shown": {
            "process": item.process,
            "channel": item.channel,
            "spots": [spot and {"at": spot.at, "step": spot.step} for spot in spots],
        },
    }


def _size(item: Difference) -> str:
    if item.measure == AMOUNT:
        return thousands(item.size)
    return counted(int(item.size), _UNITS[item.measure]) if item.measure in _UNITS else ""


def _place_link(side: Side, item: Difference, spot: Spot | None) -> str:
    """Return the address in the workbench at which a difference shows."""
    view: dict[str, str] = {}
    if spot is not None:
        view["event"] = links.event({"process": spot.process, "index": spot.index})
    elif item.process or item.channel:
        name = "process" if item.process else "channel"
        view[name] = item.process or item.channel or ""
    snapshot = side.snapshot.snapshot if side.snapshot else item.snapshot or ""
    return links.to_workbench(side.recording.pk, snapshot=snapshot, **view)


def _snapshots_link(sides: tuple[Side, Side], item: Difference) -> str:
    """Return where two snapshots of one name are compared, if the difference is about them."""
    if item.snapshot is None or item.about != "answer":
        return ""
    values = zip(SIDES, sides, strict=True)
    named = {name: str(side.recording.pk) for name, side in values}
    return _address(named | {f"{name}_snapshot": item.snapshot for name in SIDES})


def _equal(about: str, count: int) -> str:
    nouns = {
        "answer": ("answer", "answers"),
        "contents": ("channel", "channels"),
        "state": ("state", "states"),
        "events": ("process with all its events", "processes with all their events"),
    }
    return counted(count, *nouns[about])


def _data(
    compared: comparison.Compared, answer: Mapping[str, Any], named: Mapping[str, str]
) -> dict[str, Any]:
    """Return what the diagrams begin with."""
    return {
        "kind": answer["kind"],
        "alignment": f"/api/compare/alignment?{urlencode({name: named[name] for name in SIDES})}",
        "sides": [
            {
                "recording": side.recording.pk,
                "name": side.recording.name,
                "unit": side.recording.time_unit,
                "extent": answer[name]["extent"],
                "positions": answer[name]["positions"],
                "snapshot": answer[name]["snapshot"],
                "start": comparison.last_inside(side),
                "is_derived": is_derived(side.stored.manifest.header_extra),
            }
            for name, side in zip(SIDES, compared.sides, strict=True)
        ],
    }


def _choose_recording(
    request: HttpRequest, values: Mapping[str, str], name: str
) -> HttpResponseBase:
    """Show the recordings that can be one side, and the snapshots of the other side's recording."""
    other = SIDES[1 - SIDES.index(name)]
    side = read_side(request.user, values, other) if values.get(other) else None
    kept = {key: value for key, value in values.items() if key.partition("_")[0] == other}
    query = values.get("q", "").strip()
    rows = access.recordings(request.user).filter(status=Recording.Status.READY)
    rows = rows.filter(name__icontains=query) if query else rows
    rows = rows.exclude(pk=side.recording.pk) if side is not None and side.is_state else rows
    shown = list(rows[:MOST_CHOICES])
    context = {
        "name": name,
        "other": side and _described(side),
        "kept": kept,
        "q": query,
        "has_recordings": True,
        "recordings": [{"row": row, "address": _address(kept | {name: row.pk})} for row in shown],
        "hidden": max(0, rows.count() - len(shown)),
    }
    if side is not None and side.is_state:
        own = side.snapshot.snapshot if side.snapshot else None
        pair = kept | {name: str(side.recording.pk)}
        context |= _states(pair, name, side.recording, without=own)
    return render(request, "snapshots/compare/choose.html", context)


def _choose_state(
    request: HttpRequest, values: Mapping[str, str], name: str, recording: Recording
) -> HttpResponseBase:
    """Show the snapshots of a recording, one of which is to be compared, and ask for a cut."""
    kept = {key: value for key, value in values.items() if _is_of_side(key)}
    context: dict[str, Any] = {"name": name, "other": None, **_states(kept, name, recording)}
    return render(request, "snapshots/compare/choose.html", context)


def _states(
    kept: Mapping[str, str], name: str, recording: Recording, *, without: str | None = None
) -> dict[str, Any]:
    """Return what a recording offers as one side, except the snapshot ``without``."""
    rows = recording.snapshots.select_related("recording")[:MOST_CHOICES]
    return {
        "of": recording,
        "kept_state": kept,
        "snapshots": [
            _choice(row, _address({**kept, f"{name}_snapshot": row.snapshot}))
            for row in rows
            if row.snapshot != without
        ],
        "snapshots_hidden": max(0, recording.snapshot_count - MOST_CHOICES),
        "at_field": f"{name}_at",
        "step_field": f"{name}_step",
    }


def _choice(row: Snapshot, address: str) -> dict[str, Any]:
    word = outcome_of(row)
    return {"name": row.snapshot, "address": address, "word": word, "colour": colour_of(word)}


def _described(side: Side) -> str:
    recording = f"“{side.recording.name}”"
    return f"{state_name(side)} of {recording}" if side.is_state else recording

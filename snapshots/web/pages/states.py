"""The page with the graph of global states of a small recording."""

from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots import access, quantities
from snapshots.answers.global_states import state_graph
from snapshots.answers.occurring import offered, tried
from snapshots.answers.outcomes import colour_of, outcome_of
from snapshots.domain.causality.global_states import StateGraph
from snapshots.domain.model.as_json import as_json
from snapshots.files.recordings import open_recording
from snapshots.models import Recording, Snapshot
from snapshots.problems import Invalid
from snapshots.web.pages import links
from snapshots.web.pages.rendering import page
from snapshots.web.pages.state_picture import (
    channel_words,
    message_words,
    picture,
    state_words,
)
from snapshots.web.tables.sending import show

MOST_ROWS = 200


@page
@require_safe
def of_recording(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Show the graph, with the state that ``?snapshot=`` recorded and details of ``?state=``."""
    recording = access.shown_recording(request.user, pk)
    snapshot = request.GET.get("snapshot")
    row = access.snapshot(recording, snapshot) if snapshot is not None else None
    context = _context(request, recording, row)
    return show(request, "snapshots/states/states.html", context)


def _context(request: HttpRequest, recording: Recording, row: Snapshot | None) -> dict[str, Any]:
    stored = open_recording(recording)
    report = state_graph(stored, row)
    graph: dict[str, Any] = as_json(report)
    names: list[str] = [process.id for process in stored.topology.processes]
    context: dict[str, Any] = {
        "recording": recording,
        "graph": graph,
        "snapshot": row.snapshot if row else "",
        "outcome": outcome_of(row) if row else "",
        "colour": colour_of(outcome_of(row)) if row else "",
        "snapshots": list(recording.snapshots.values_list("snapshot", flat=True)[:MOST_ROWS]),
        "snapshot_link": links.to_snapshot(recording.pk, row.snapshot) if row else "",
        "proof_link": links.to_proof(recording.pk, row.snapshot) if row else "",
    }
    if not graph["states"]:
        return context
    can_fold = graph["distinct"] is not None and graph["distinct"] < graph["total"]
    is_folded = can_fold and request.GET.get("fold") == "1"
    query = {"snapshot": row.snapshot} if row else {}
    rows = _rows(graph)
    chosen = _chosen(request, graph, is_folded=is_folded)
    return {
        **context,
        "query": urlencode(query | ({"fold": "1"} if is_folded else {})),
        "query_of_other": urlencode(query | ({} if is_folded else {"fold": "1"})),
        "can_fold": can_fold,
        "is_folded": is_folded,
        "picture": picture(graph, is_folded=is_folded),
        "chosen": _details(recording, names, graph, chosen),
        **_trying(request, report.graph, chosen),
        "rows": rows[:MOST_ROWS],
        "all_states": rows,
        "rows_hidden": max(len(graph["states"]) - MOST_ROWS, 0),
    }


def _trying(request: HttpRequest, graph: StateGraph | None, number: int) -> dict[str, Any]:
    """Return the events to try in the chosen state, and what came of ``?try=``."""
    if graph is None:
        return {}
    address = request.GET.get("try", "")
    context: dict[str, Any] = {"offered": offered(graph), "tried_address": address}
    if not address:
        return context
    tried_event = tried(graph, number, address)
    found = tried_event.found
    if found.processes is not None and found.channels is not None:
        processes = zip(graph.computation.processes, found.processes, strict=True)
        context["tried_processes"] = [(name, _value(text)) for name, text in processes]
        context["tried_channels"] = [
            (name, ", ".join(_value(parcel.value) or parcel.id for parcel in held))
            for name, held in found.channels.items()
        ]
    return {**context, "tried": tried_event}


def _value(text: str | None) -> str:
    return "" if text is None else quantities.value(orjson.loads(text))


def _chosen(request: HttpRequest, graph: dict[str, Any], *, is_folded: bool) -> int:
    """Return the number of the state to describe: by default the recorded one, else the first."""
    given = request.GET.get("state")
    number = graph["recorded"] or 0
    if given is not None:
        if not (given.isascii() and given.isdigit() and int(given[:9]) < len(graph["states"])):
            raise Invalid(
                f"The graph has the states 0 to {len(graph['states']) - 1:,}.", field="state"
            )
        number = int(given)
    return graph["states"][number]["same_as"] if is_folded else number


def _details(
    recording: Recording, names: list[str], graph: dict[str, Any], number: int
) -> dict[str, Any]:
    state = graph["states"][number]
    positions = [state["positions"].get(name, 0) for name in names]
    return {
        "number": number,
        "level": state["level"],
        "processes": list(state["processes"].items()),
        "channels": [
            (channel, [(message_words(item), item["message"]) for item in held])
            for channel, held in state["channels"].items()
        ],
        "same_as": None if state["same_as"] == number else state["same_as"],
        "is_recorded": number == graph["recorded"],
        "on_run": number in graph["run"],
        "on_reordered": number in (graph["reordered"] or ()),
        "before": [(e["event"], e["source"]) for e in graph["edges"] if e["target"] == number],
        "after": [(e["event"], e["target"]) for e in graph["edges"] if e["source"] == number],
        "workbench_link": links.to_workbench(recording.pk, cut=links.cut(positions)),
    }


def _rows(graph: dict[str, Any]) -> list[dict[str, Any]]:
    paths = {"the run": set(graph["run"]), "Theorem 1": set(graph["reordered"] or ())}
    return [
        {
            "number": state["number"],
            "level": state["level"],
            "processes": state_words(state),
            "channels": channel_words(state),
            "same_as": state["same_as"],
            "is_recorded": state["number"] == graph["recorded"],
            "paths": ", ".join(name for name, on in paths.items() if state["number"] in on),
        }
        for state in graph["states"]
    ]

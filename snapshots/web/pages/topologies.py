"""The pages of topologies: list them, draw one, read one from text, simulate it."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from snapshots import access
from snapshots.domain.dataflow_logs.dataflow import FORWARD, HASH, TWO_PHASE, Dataflow, Edge, Vertex
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import times
from snapshots.models import Recording, Topology
from snapshots.payloads.topologies import topology_detail
from snapshots.problems import NotJson, Problem, Refused
from snapshots.services.simulations import request_simulation
from snapshots.services.topologies import delete_topology, save_topology
from snapshots.simulating import topology_documents
from snapshots.web.drawings import dataflow as drawings
from snapshots.web.json import read
from snapshots.web.pages import simulation_form
from snapshots.web.pages.listing import Column, Listing
from snapshots.web.pages.rendering import ask_to_delete, page, wants_list_alone
from snapshots.web.tables.sending import show

COLUMNS = [
    Column("Name", "name"),
    Column("Processes"),
    Column("Channels"),
    Column("Last changed, UTC", "updated_at", is_number=True),
]
EMPTY = {"name": "", "processes": [], "channels": [], "layout": {}}
FIRST_DATAFLOW = Dataflow(
    (
        Vertex("source", "source", 2),
        Vertex("count", "operator", 2, function="count"),
        Vertex("sink", "sink", 2, sink=TWO_PHASE),
    ),
    (Edge("source", "count", HASH), Edge("count", "sink", FORWARD)),
)

"""The dataflow with which the editor of a new one begins, and which can be simulated."""
LISTS = ("processes", "channels")
LISTS_OF_DATAFLOWS = ("vertices", "edges")
RECENT_RECORDINGS = 10


@page
@require_safe
def topology_list(request: HttpRequest) -> HttpResponseBase:
    rows = access.topologies(request.user)
    listing = Listing(request, rows, COLUMNS, search=["name"], sort="-updated_at", by_team=True)
    context = {"listing": listing, "topologies": listing.page}
    name = "rows" if wants_list_alone(request) else "topologies"
    return show(request, f"snapshots/topology/{name}.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponseBase:
    if request.method == "POST":
        return _submitted(request, None)
    return _editor(request, None, _blank(request))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def topology(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.topology(request.user, pk)
    if request.method == "POST":
        return _submitted(request, row)
    return _editor(request, row, _document_of(row))


@page
@require_POST
def draw(request: HttpRequest) -> HttpResponseBase:
    """Draw a dataflow while it is edited; the form's field ``draft`` is what the editor holds."""
    try:
        document = read(request.POST.get("draft", ""))
    except NotJson:
        raise Refused("The dataflow came damaged. Reload the page.", code="not-json") from None
    draft = drawings.read(document)
    drawing = drawings.drawing(
        draft,
        unfolds=document.get("unfolds") is True,
        down=document.get("down") is True,
        selected=str(document.get("selected", "")),
    )
    context = {"drawing": drawing, "subtasks": drawings.subtask_names(draft)}
    return render(request, "snapshots/topology/drawing.html", context)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponseBase:
    row = access.own_topology(request.user, pk)
    if request.method != "POST":
        consequence = "Recordings that were simulated on it stay, because they hold a copy of it."
        return ask_to_delete(request, row.name, consequence, reverse("topology", args=[row.pk]))
    delete_topology(row, request.user)
    messages.success(request, f"“{row.name}” is deleted.")
    return redirect("topologies")


def _submitted(request: HttpRequest, row: Topology | None) -> HttpResponseBase:
    """Handle the form: read a text, save, or save and simulate."""
    if request.POST.get("action") == "read":
        return _read(request, row)
    document: Any = _blank(request)
    try:
        document = _document(request)
        if request.POST.get("action") == "simulate":
            document |= {"name": document["name"].strip() or _default_name(row, document)}
        owner = access.holder(request.user, request.POST.get("team"))
        saved = _saved(request.user, owner, row, document)
        if request.POST.get("action") != "simulate":
            messages.success(request, f"“{saved.name}” is saved.")
            return redirect("topology", saved.pk)
        row = saved
        parameters = _form_of(document).parameters(request.POST)
        job = request_simulation(owner, saved, parameters, request.user)
    except Problem as problem:
        return _editor(request, row, document, problem=problem, unsaved=True)
    return redirect("recording", job.recording_id)


def _default_name(row: Topology | None, document: dict[str, Any]) -> str:
    """Return the name of a topology that is simulated before it was given one."""
    if row is not None:
        return row.name
    if _is_dataflow(document):
        vertices = document["dataflow"].get("vertices", [])
        return f"Dataflow of {times(len(vertices), 'vertex', 'vertices')}"
    return f"Topology of {times(len(document.get('processes', [])), 'process', 'processes')}"


def _document(request: HttpRequest) -> dict[str, Any]:
    """Return the document that the editor sent, with the name that was typed. Raises: Refused."""
    try:
        document = read(request.POST.get("document", ""))
    except NotJson:
        raise Refused("The topology came damaged. Reload the page.", code="not-json") from None
    if not _is_whole(document):
        raise Refused("The topology came damaged. Reload the page.", code="wrong-type")
    return document | {"name": request.POST.get("name", "")}


def _is_whole(document: Any) -> bool:
    """Return whether the editors can show a document, which may still be wrong."""
    if not isinstance(document, dict):
        return False
    outer = document["dataflow"] if _is_dataflow(document) else document
    parts = LISTS_OF_DATAFLOWS if _is_dataflow(document) else LISTS
    return isinstance(outer, dict) and all(isinstance(outer.get(p, []), list) for p in parts)


def _blank(request: HttpRequest) -> dict[str, Any]:
    if request.GET.get("kind") != "dataflow":
        return EMPTY
    return {"name": "", "dataflow": as_json(FIRST_DATAFLOW)}


def _is_dataflow(document: dict[str, Any]) -> bool:
    return document.get("dataflow") is not None


def _form_of(document: dict[str, Any]) -> simulation_form.Form:
    if _is_dataflow(document):
        return simulation_form.OF_DATAFLOWS
    return simulation_form.OF_WORKLOADS


def _saved(user, owner, row: Topology | None, document: dict[str, Any]) -> Topology:
    """Save a document unless nothing changed.

    What the person may see and not change is copied for ``owner``.
    """
    if row is not None:
        checked = topology_documents.checked(document)
        if checked.pop("name") == row.name and _same(checked, row.definition):
            return row
    is_copied = row is not None and not access.may_change(user, row)
    return save_topology(owner, document, topology=None if is_copied else row)


def _same(checked: dict[str, Any], definition: dict[str, Any]) -> bool:
    """Return whether two definitions are the same, the places of the drawing included."""
    return all(checked[part] == definition.get(part, {}) for part in checked)


def _read(request: HttpRequest, row: Topology | None) -> HttpResponseBase:
    """Show what a text or file holds, without saving it."""
    file = request.FILES.get("file")
    try:
        text, name = _text(request, file)
        document = topology_documents.read(text, name)
    except Problem as problem:
        return _editor(request, row, _kept(request), problem=problem, unsaved=True, in_text=True)
    return _editor(request, row, _edited(document), unsaved=True, was_read=True)


def _text(request: HttpRequest, file) -> tuple[str, str]:
    """Return the text that was uploaded or pasted, and a name for it. Raises: Refused."""
    typed = request.POST.get("name", "").strip()
    if file is None:
        return request.POST.get("text", ""), typed or "imported topology"
    content = file.read(topology_documents.MAX_TEXT_BYTES + 1)
    try:
        return content.decode(), typed or file.name.rsplit(".", 1)[0][:200]
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        sentence = f"Line {line}: not UTF-8. Is this a text file?"
        raise Refused(sentence, code="not-utf8", line=line) from None


def _kept(request: HttpRequest) -> dict[str, Any]:
    """Return what the editor held when a text could not be read."""
    try:
        return _document(request)
    except Refused:
        return _blank(request)


def _document_of(row: Topology) -> dict[str, Any]:
    return _edited(topology_detail(row))


def _edited(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the editors hold, without what follows from a dataflow."""
    parts = ("name", "dataflow") if "dataflow" in document else ("name", *EMPTY)
    return {part: document[part] for part in parts}


def _editor(
    request: HttpRequest,
    row: Topology | None,
    document: dict[str, Any],
    *,
    problem: Problem | None = None,
    unsaved: bool = False,
    in_text: bool = False,
    was_read: bool = False,
) -> HttpResponseBase:
    refusal = problem.as_json() if problem else None
    context = {
        "topology": row,
        "document": document,
        "data": {"document": document, "refusal": refusal, "unsaved": unsaved},
        "refusal": refusal,
        "in_text": in_text,
        "was_read": was_read,
        "text": request.POST.get("text", "") if in_text else "",
        "form": _form_of(document).fields(request.POST, document, refusal),
        "recordings": _recordings(request, row),
    }
    if _is_dataflow(document):
        draft = drawings.of_document(document["dataflow"])
        context |= {"drawing": drawings.drawing(draft), "subtasks": drawings.subtask_names(draft)}
    status = problem.status if problem else 200
    template = "dataflow" if _is_dataflow(document) else "topology"
    return show(request, f"snapshots/topology/{template}.html", context, status=status)


def _recordings(request: HttpRequest, row: Topology | None):
    if row is None:
        return Recording.objects.none()
    return access.recordings(request.user).filter(topology=row)[:RECENT_RECORDINGS]

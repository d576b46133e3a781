"""Do what a button on the page of a review says: ``up 12`` moves row 12 up."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages

from snapshots import access
from snapshots.problems import Invalid, Problem
from snapshots.quantities import counted
from snapshots.reviews import incidents, timeline
from snapshots.reviews.models import Review
from webapp.accounts.auth import SignedInRequest

HEAD_FIELDS = ("title", "summary", "severity", "status", *incidents.TIMES)
EDIT, SAVE = "edit", "save"


def act(request: SignedInRequest, review: Review) -> str:
    """Do the action of a form, and return the anchor of the page to which to go back.

    Raises: Invalid, Conflict, NeedsRole, NotFound.
    """
    name, _, number = request.POST.get("action", "").partition(" ")
    action = ACTIONS.get(name)
    if action is None:
        raise Invalid("Press one of the buttons on the page of the review.", field="action")
    return action(request, review, whole(number))


def whole(text: str) -> int:
    """Return a number from a form; -1, which no row has, if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def typed(request: SignedInRequest, refusal: Problem) -> dict[str, Any]:
    """Return what was typed into a form that is shown again; empty if there is none.

    The form is sent again with the revision that it had, unless the refusal shows a newer one.
    """
    name, _, number = request.POST.get("action", "").partition(" ")
    newer = refusal.members.get("newer", {})
    seen = refusal.members.get("revision", request.POST.get("revision", ""))
    if name == EDIT:
        times = [(field, request.POST.get(field, "")) for field in incidents.TIMES]
        head = {"typed_head": request.POST, "seen_head": seen, "newer_head": newer}
        return {**head, "times": times}
    if name == SAVE:
        row = {"typed_row": request.POST, "seen_row": seen, "newer_row": newer}
        return {**row, "edit": number, "edit_refusal": refusal.detail}
    return {"typed_words": request.POST} if name in ("words", "group") else {}


def _edit(request: SignedInRequest, review: Review, _: int) -> str:
    fields = {name: request.POST[name] for name in HEAD_FIELDS if name in request.POST}
    incidents.change(request.user, review, fields, whole(request.POST.get("revision", "")))
    return ""


def _set_person(request: SignedInRequest, review: Review, _: int) -> str:
    address, part = request.POST.get("address", ""), request.POST.get("part", "")
    incidents.set_person(request.user, review, address, part)
    return "#people"


def _remove_person(request: SignedInRequest, review: Review, pk: int) -> str:
    incidents.remove_person(request.user, review, pk)
    return "#people"


def _add_exhibit(request: SignedInRequest, review: Review, pk: int) -> str:
    kind, _, number = request.POST.get("subject", "").partition(":")
    if kind not in ("recording", "archive"):
        raise Invalid("Choose a recording or an archived job.", field="subject")
    fetch: Callable[..., Any] = access.recording if kind == "recording" else access.engine_job
    incidents.add_exhibit(request.user, review, fetch(request.user, whole(number)))
    return "#exhibits"


def _remove_exhibit(request: SignedInRequest, review: Review, pk: int) -> str:
    incidents.remove_exhibit(request.user, review, pk)
    return "#exhibits"


def _add(request: SignedInRequest, review: Review, pk: int) -> str:
    return f"#row-{timeline.add_entry(request.user, review, pk).pk}"


def _add_all(request: SignedInRequest, review: Review, _: int) -> str:
    number = timeline.add_all(request.user, review)
    messages.success(request, f"{counted(number, 'note')} added to the timeline.")
    return "#timeline"


def _words(request: SignedInRequest, review: Review, _: int) -> str:
    fields = {name: request.POST.get(name, "") for name in ("text", "kind", "clock")}
    return f"#row-{timeline.add_words(request.user, review, fields).pk}"


def _group(request: SignedInRequest, review: Review, _: int) -> str:
    fields = {"text": request.POST.get("text", ""), "is_group": True}
    return f"#row-{timeline.add_words(request.user, review, fields).pk}"


def _step(direction: str) -> Callable[[SignedInRequest, Review, int], str]:
    def move(request: SignedInRequest, review: Review, pk: int) -> str:
        return f"#row-{timeline.step(request.user, review, pk, direction).pk}"

    return move


def _hiding(*, is_hidden: bool) -> Callable[[SignedInRequest, Review, int], str]:
    def hide(request: SignedInRequest, review: Review, pk: int) -> str:
        timeline.change(request.user, review, pk, {"is_hidden": is_hidden})
        return "#timeline" if is_hidden else f"#row-{pk}"

    return hide


def _remove(request: SignedInRequest, review: Review, pk: int) -> str:
    timeline.remove(request.user, review, pk)
    return "#timeline"


def _save(request: SignedInRequest, review: Review, pk: int) -> str:
    """Save the form of a row. An empty text or time shows again what the entry says."""
    fields: dict[str, Any] = {
        name: request.POST[name] for name in ("text", "kind", "clock") if name in request.POST
    }
    if "at" in request.POST:
        fields["at"] = _instant(request.POST["at"])
    if "group" in request.POST:
        group = whole(request.POST["group"]) if request.POST["group"] else None
        if group != timeline.row(review, pk).group_id:
            fields["group"] = group
    timeline.change(request.user, review, pk, fields, whole(request.POST.get("revision", "")))
    return f"#row-{pk}"


def _instant(text: str) -> int | None:
    digits = text.strip().replace(",", "")
    if not digits:
        return None
    try:
        return int(digits)
    except ValueError:
        raise Invalid("The time in the system must be a whole number.", field="at") from None


ACTIONS: dict[str, Callable[[SignedInRequest, Review, int], str]] = {
    EDIT: _edit,
    "set-person": _set_person,
    "remove-person": _remove_person,
    "add-exhibit": _add_exhibit,
    "remove-exhibit": _remove_exhibit,
    "add": _add,
    "add-all": _add_all,
    "words": _words,
    "group": _group,
    "up": _step(timeline.UP),
    "down": _step(timeline.DOWN),
    "hide": _hiding(is_hidden=True),
    "show": _hiding(is_hidden=False),
    "remove": _remove,
    SAVE: _save,
}

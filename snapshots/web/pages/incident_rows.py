"""Arrange the rows of a timeline for its page: the first of them, groups with their members."""

from collections import defaultdict
from typing import Any

from django.core.paginator import Paginator

from snapshots import access
from snapshots.quantities import counted
from snapshots.reviews import timeline as curating
from snapshots.reviews.models import Review
from snapshots.web import incidents as shown
from webapp.accounts.auth import SignedInRequest

SHOWN = 100  # rows of a page, until the person asks for all


def timeline(request: SignedInRequest, review: Review) -> dict[str, Any]:
    """Return the context of a timeline.

    ``?rows=all`` shows all rows, and ``?hidden=1`` hidden ones too.
    """
    keys = _in_order(review)
    with_hidden = request.GET.get("hidden") == "1"
    kept = [pk for pk, is_hidden in keys if with_hidden or not is_hidden]
    chosen = kept if request.GET.get("rows") == "all" else kept[:SHOWN]
    rows = curating.rows(review).filter(pk__in=chosen)
    items = {item["id"]: item for item in shown.rows_of(request.user, list(rows))}
    nested = _nested([items[pk] for pk in chosen if pk in items])
    sizes = _sizes(review)
    for entry in nested:
        shown_members = len(entry["members"])
        entry["size"] = _size_in_words(shown_members, *sizes[entry["item"]["id"]], with_hidden)
    return {
        "rows": nested,
        "rows_total": len(keys),
        "rows_next": kept[len(chosen)] if len(kept) > len(chosen) else None,
        "rows_left": len(kept) - len(chosen),
        "rows_hidden": sum(is_hidden for _, is_hidden in keys),
        "with_hidden": with_hidden,
        "all_rows": request.GET.get("rows") == "all",
        **_edited(request, review),
    }


def shown_to_visitor(visitor: access.Visitor, review: Review, number: str | None) -> dict[str, Any]:
    """Return the context of a page of the rows that are not hidden, without who wrote them and
    what only members open. A group is never divided.
    """
    tops = set(review.rows.filter(group=None).values_list("pk", flat=True))
    blocks: list[list[int]] = []
    for pk in (pk for pk, is_hidden in _in_order(review) if not is_hidden):
        if pk in tops:
            blocks.append([])
        blocks[-1].append(pk)
    page = Paginator(blocks, SHOWN).get_page(number)
    kept = [pk for block in page for pk in block]
    rows = list(curating.rows(review).filter(pk__in=kept))
    items = {item["id"]: item for item in shown.rows_of(visitor, rows)}
    return {"rows": _nested([items[pk] for pk in kept if pk in items]), "page": page}


def single(request: SignedInRequest, review: Review) -> dict[str, Any]:
    """Return the context of the one row that ``?row=`` names. Raises: NotFound."""
    number = request.GET.get("row", "")
    pk = int(number) if number.isascii() and number.isdigit() and len(number) < 19 else -1
    [item] = shown.rows_of(request.user, [curating.row(review, pk)])
    total, hidden = _sizes(review)[pk]
    size = _size_in_words(total, total, hidden, with_hidden=True)
    return {"item": item, "size": size, **_edited(request, review)}


def _edited(request: SignedInRequest, review: Review) -> dict[str, Any]:
    """Return the row whose form is open, and the groups that the form offers."""
    number = request.GET.get("edit", "")
    groups = review.rows.filter(is_group=True).order_by("position") if number else ()
    return {"edit": number, "groups": groups}


def _in_order(review: Review) -> list[tuple[int, bool]]:
    """Return the key of each row, and whether it or its group is hidden, as they are shown."""
    rows = review.rows.order_by("position", "pk").values_list("pk", "group_id", "is_hidden")
    members: dict[int | None, list[tuple[int, bool]]] = defaultdict(list)
    for pk, group, is_hidden in rows:
        members[group].append((pk, is_hidden))
    ordered = []
    for pk, is_hidden in members[None]:
        ordered.append((pk, is_hidden))
        ordered += [(member, is_hidden or hides) for member, hides in members.get(pk, ())]
    return ordered


def _sizes(review: Review) -> dict[int, tuple[int, int]]:
    """Return of each group how many rows it has, and how many of them are hidden themselves."""
    sizes: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    members = review.rows.filter(group__isnull=False).values_list("group_id", "is_hidden")
    for group, is_hidden in members:
        total, hidden = sizes[group]
        sizes[group] = (total + 1, hidden + is_hidden)
    return sizes


def _size_in_words(shown: int, total: int, hidden: int, with_hidden: bool) -> str:
    """Say how many rows a group has, and how many of them are not shown."""
    if shown < total - (0 if with_hidden else hidden):
        return f"{shown:,} of {counted(total, 'row')} shown"
    is_left_out = hidden and not with_hidden
    return counted(total, "row") + (f", {hidden:,} hidden" if is_left_out else "")


def _nested(items: list[Any]) -> list[dict[str, Any]]:
    """Put the members of groups into their groups, whose order the list has."""
    top: list[dict[str, Any]] = []
    by_group: dict[int, list[Any]] = {}
    for item in items:
        if item["group"] is None:
            by_group[item["id"]] = []
            top.append({"item": item, "members": by_group[item["id"]]})
        elif item["group"] in by_group:
            by_group[item["group"]].append(item)
    return top

"""Curate the timeline of a review: add, change, move, group, hide and remove its rows.

Raises: problems.Problem for a wrong request. Each function locks the review, so that changes by two
people are made one after the other. Rows are changed one by one, so that changes of different rows,
and a move and a new text of the same row, are both kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from snapshots import access
from snapshots.payloads.dates import optional_date
from snapshots.problems import Conflict, Invalid, NotFound
from snapshots.reviews.entries import LARGEST, checked_kind, checked_text
from snapshots.reviews.incidents import instant_of_day
from snapshots.reviews.log import offered
from snapshots.reviews.models import Entry, Review, TimelineRow
from snapshots.reviews.revising import (
    ROW,
    TIMELINE,
    Saved,
    locked,
    name_of,
    note_change,
    require_seen,
)

MOST_ROWS = 5_000  # of one review
GAP = 2**20  # between the positions of two neighbours, so that a row fits between them
EPOCH = "epoch ms"  # the unit of the times of an archived job
CONTENT = ("text", "kind", "at", "clock")  # fields that two people must not overwrite
UP, DOWN = "up", "down"


def rows(review: Review) -> QuerySet[TimelineRow]:
    """Return the rows of a timeline in their order, those of groups among them."""
    joined = review.rows.select_related(
        *("entry__author", "entry__resolved_by", "added_by", "changed_by"),
        *("entry__recording", "entry__engine_job", "group"),
    )
    return joined.order_by("position", "pk")


def hidden(review: Review) -> int:
    """Return how many rows are not shown, because they or their groups are hidden."""
    return review.rows.filter(Q(is_hidden=True) | Q(group__is_hidden=True)).count()


def row(review: Review, pk: int) -> TimelineRow:
    """Return a row of a timeline. Raises: NotFound if it is not in it, or no longer."""
    found = rows(review).filter(pk=pk).first() if abs(pk) <= LARGEST else None
    if found is None:
        raise NotFound(f"The timeline of review {review.pk} has no row {pk}, or no longer.")
    return found


def text_of(row: TimelineRow) -> str:
    """Return the text that a row shows: its own, or that of its entry."""
    return row.original_text if row.text is None else row.text


def kind_of(row: TimelineRow) -> str:
    """Return the kind that a row shows; empty if it has none."""
    return row.kind or row.original_kind


def at_of(row: TimelineRow) -> int | None:
    """Return the time in the system that a row shows, in its unit; None if it is not known."""
    return row.original_at if row.at is None else row.at


# --- adding ---------------------------------------------------------------------------------------


@transaction.atomic
def add_entry(user: User, review: Review, pk: object, before: object = None) -> TimelineRow:
    """Add an entry of an exhibit; one that is there already is returned as it is.

    Args:
        user: the person, who is an editor, or the author with the right to comment.
        review: a review that the person may see.
        pk: the number of the entry.
        before: the number of the row before which it goes; None for the end.

    Raises: Invalid, Conflict, NeedsRole; NotFound if no exhibit that the person sees has it.
    """
    access.require_contributor(user, review, user.pk)
    review = locked(review)
    number = _whole(pk, "entry")
    there = review.rows.filter(entry=number).first() if abs(number) <= LARGEST else None
    if there is not None:
        return row(review, there.pk)
    entry = _offered(user, review, number)
    access.require_contributor(user, review, entry.author_id)
    made = _of_entry(review, entry, user)
    _require_room(review, 1)
    _put(made, *_place(review, {"before": before}, made))
    return _added(review, user, made)


def _offered(user: User, review: Review, number: int) -> Entry:
    entry = offered(user, review).filter(pk=number).first() if abs(number) <= LARGEST else None
    if entry is None:
        raise NotFound(f"No exhibit of this review that you can open has an entry {number}.")
    return entry


@transaction.atomic
def add_all(user: User, review: Review) -> int:
    """Add all entries that are not in the timeline, in the order of time; return their number.

    An editor adds those of everybody, a commenter their own. Raises: Conflict, NeedsRole.
    """
    access.require_contributor(user, review, user.pk)
    review = locked(review)
    chosen = offered(user, review)
    if not access.may_edit(user, review):
        chosen = chosen.filter(author=user)
    _require_room(review, chosen.count())  # before the texts are read
    made = [_of_entry(review, entry, user) for entry in chosen.prefetch_related(None)]
    last = _last_position(_siblings(review, None))
    for number, each in enumerate(made, start=1):
        each.position = last + number * GAP
    TimelineRow.objects.bulk_create(made)
    if made:
        review.revision += 1
        note_change(review, user, TIMELINE)
    return len(made)


def _of_entry(review: Review, entry: Entry, user: User) -> TimelineRow:
    """Return an unsaved row with a copy of what the entry says."""
    return TimelineRow(
        review=review,
        entry=entry,
        added_by=user,
        sentence=entry.sentence,
        original_text=entry.text,
        original_kind=entry.kind,
        original_at=entry.at,
        unit=EPOCH if entry.recording is None else entry.recording.time_unit,
    )


@transaction.atomic
def add_words(user: User, review: Review, fields: Mapping[str, Any]) -> TimelineRow:
    """Add a row of own words, or a group with a name.

    Args:
        user: an editor of the review.
        review: a review that the person may see.
        fields: has ``text``, and optionally ``kind``, ``clock``, ``is_group``, ``group`` and
            ``before``.

    Raises: Invalid, Conflict, NeedsRole.
    """
    access.require_curator(user, review)
    review = locked(review)
    is_group = _flag(fields.get("is_group") or False, "is_group")
    made = TimelineRow(
        review=review,
        added_by=user,
        is_group=is_group,
        text=checked_text(fields.get("text")),
        kind=_kind(fields.get("kind")),
        clock=instant_of_day("clock", fields.get("clock")),
    )
    _require_room(review, 1)
    _put(made, *_place(review, fields, made))
    return _added(review, user, made)


def _added(review: Review, user: User, made: TimelineRow) -> TimelineRow:
    review.revision += 1
    _note_content(made, review, user)
    made.save()
    note_change(review, user, TIMELINE)
    return made


def _require_room(review: Review, more: int) -> None:
    """Refuse more rows than a timeline holds. Raises: Conflict."""
    there = review.rows.count()
    if there + more > MOST_ROWS:
        raise Conflict(
            f"A timeline has at most {MOST_ROWS:,} rows. This one has {there:,}, and "
            f"{more:,} more do not fit."
        )


# --- changing -------------------------------------------------------------------------------------


@transaction.atomic
def change(
    user: User, review: Review, pk: int, fields: Mapping[str, Any], seen: object = None
) -> TimelineRow:
    """Change a row; what is absent stays.

    Args:
        user: an editor of the review.
        review: a review that the person may see.
        pk: the number of the row.
        fields: has CONTENT, where None returns to what the entry says, ``is_hidden``, ``group``
            and ``before``.
        seen: the revision of the review that the person read; needed for CONTENT.

    Raises: Invalid, NeedsRole, NotFound; Conflict if the content was changed since.
    """
    access.require_curator(user, review)
    review = locked(review)
    now = row(review, pk)
    before, shown = {name: getattr(now, name) for name in CONTENT}, _content(now)
    _set_content(now, fields)
    edited = [name for name, value in before.items() if getattr(now, name) != value]
    if edited:
        saved = Saved("this row", name_of(now.changed_by), now.changed_at)
        newer = {name: shown[name] for name in edited}
        require_seen(user, seen, review, now.changed_in, saved, newer)
    if "is_hidden" in fields:
        now.is_hidden = _flag(fields["is_hidden"], "is_hidden")
    group = now.group_id
    if "group" in fields or "before" in fields:
        _put(now, *_place(review, fields, now))
    review.revision += 1
    if edited:
        _note_content(now, review, user)
    now.save()
    counts_change = now.group_id != group or "is_hidden" in fields
    if now.is_group or counts_change:
        note_change(review, user, TIMELINE)
    else:
        note_change(review, user, ROW, now)
    return now


def _content(row: TimelineRow) -> dict[str, Any]:
    """Return the CONTENT that a row shows, as the API has it."""
    return {
        "text": text_of(row),
        "kind": kind_of(row),
        "at": at_of(row),
        "clock": optional_date(row.clock),
    }


def _note_content(row: TimelineRow, review: Review, user: User) -> None:
    """Note in a row that its content is new in this revision of its review; it is not saved."""
    row.changed_in, row.changed_by, row.changed_at = review.revision, user, timezone.now()


def _set_content(row: TimelineRow, fields: Mapping[str, Any]) -> None:
    if "text" in fields:
        is_back = row.is_of_an_entry and fields["text"] in (None, "")
        text = None if is_back else checked_text(fields["text"])
        row.text = None if row.is_of_an_entry and text == row.original_text else text
    if "kind" in fields:
        kind = _kind(fields["kind"])
        row.kind = None if kind == row.original_kind else kind
    if "at" in fields:
        at = _instant(row, fields["at"])
        row.at = None if at == row.original_at else at
    if "clock" in fields:
        row.clock = instant_of_day("clock", fields["clock"])


def _instant(row: TimelineRow, value: object) -> int | None:
    if value is None:
        return None
    if not row.is_of_an_entry:
        raise Invalid("A row of own words has a time of day alone: give its clock.", field="at")
    number = _whole(value, "at")
    if abs(number) > LARGEST:
        raise Invalid("at is too large.", field="at")
    return number


def _kind(value: object) -> str | None:
    return None if value in (None, "") else checked_kind(value)


def _flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{field} must be true or false.", field=field)
    return value


def _whole(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{field} must be a whole number.", field=field)
    return value


@transaction.atomic
def step(user: User, review: Review, pk: int, direction: str) -> TimelineRow:
    """Move a row by one place, ``up`` or ``down``, among those beside it; at the end it stays.

    Raises: Invalid, NeedsRole, NotFound.
    """
    if direction not in (UP, DOWN):
        raise Invalid("The direction must be up or down.", field="direction")
    review = locked(review)
    now = row(review, pk)
    beside = list(_siblings(review, now.group_id).values_list("pk", flat=True))
    place = beside.index(pk) + (-1 if direction == UP else 2)
    if place < 0 or place > len(beside):
        place = beside.index(pk) + (0 if direction == UP else 1)
    before = beside[place] if place < len(beside) else None
    return change(user, review, pk, {"before": before, "group": now.group_id})


@transaction.atomic
def remove(user: User, review: Review, pk: int) -> None:
    """Take a row out of a timeline; its entry stays, and is offered again.

    The rows of a group that is removed take its place. Raises: NeedsRole, NotFound.
    """
    access.require_curator(user, review)
    review = locked(review)
    gone = row(review, pk)
    members = list(gone.members.order_by("position", "pk"))
    if members:
        _dissolve(review, gone, members)
    gone.delete()
    review.revision += 1
    note_change(review, user, TIMELINE)


def _dissolve(review: Review, group: TimelineRow, members: Sequence[TimelineRow]) -> None:
    """Put the members of a group where the group is."""
    order = list(_siblings(review, None))
    at = next(number for number, each in enumerate(order) if each.pk == group.pk)
    for member in members:
        member.group = None
    _renumber([*order[:at], *members, *order[at:]])


# --- order ----------------------------------------------------------------------------------------


def _siblings(review: Review, group_id: int | None) -> QuerySet[TimelineRow]:
    return review.rows.filter(group_id=group_id).order_by("position", "pk")


def _last_position(siblings: QuerySet[TimelineRow]) -> int:
    last = siblings.last()
    return 0 if last is None else last.position


def _place(
    review: Review, fields: Mapping[str, Any], moved: TimelineRow
) -> tuple[TimelineRow | None, TimelineRow | None]:
    """Return the group into which a row goes, and the row before which it goes there.

    ``before`` also names the group; without it, the row goes to the end of ``group``.

    Raises: Invalid; Conflict if such a row is gone.
    """
    before = _neighbour(review, fields.get("before"), "before")
    group = moved.group
    if before is not None:
        group = before.group
    elif "group" in fields:
        group = _neighbour(review, fields["group"], "group")
    if group is not None and not group.is_group:
        raise Invalid(f"Row {group.pk} is no group.", field="group")
    if group is not None and moved.is_group:
        raise Invalid("A group cannot lie in a group.", field="group")
    return group, before


def _neighbour(review: Review, pk: object, field: str) -> TimelineRow | None:
    if pk is None:
        return None
    number = _whole(pk, field)
    neighbour = review.rows.filter(pk=number).first() if abs(number) <= LARGEST else None
    if neighbour is None:
        raise Conflict(
            f"Row {number} is no longer in the timeline: somebody has removed it.", field=field
        )
    return neighbour


def _put(moved: TimelineRow, group: TimelineRow | None, before: TimelineRow | None) -> None:
    """Give a row its group and a position before another row, or at the end; it is not saved."""
    moved.group = group
    beside = _siblings(moved.review, None if group is None else group.pk).exclude(pk=moved.pk)
    if before is None or before.pk == moved.pk:
        if before is None:
            moved.position = _last_position(beside) + GAP
        return
    previous = _last_position(beside.filter(position__lt=before.position))
    if before.position - previous < 2:
        _renumber(beside)
        before.refresh_from_db()
        previous = before.position - GAP
    moved.position = (previous + before.position) // 2


def _renumber(order: Iterable[TimelineRow]) -> None:
    """Give rows positions with gaps in this order, and save them."""
    changed = list(order)
    for number, each in enumerate(changed, start=1):
        each.position = number * GAP
    TimelineRow.objects.bulk_update(changed, ["position", "group"])

"""Build what API and pages say of reviews, their timelines and follow-ups, for one person."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from snapshots import access, quantities
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.domain.reviewing.places import CheckpointPlace
from snapshots.payloads.dates import date, optional_date, optional_day, optional_instant
from snapshots.payloads.teams import team_of
from snapshots.reviews import dating, due, incident_payloads, timeline
from snapshots.reviews.models import Entry, Exhibit, Review, TimelineRow
from snapshots.reviews.resolving import archived_number, resolve_in_list
from snapshots.web.entries import Reader
from snapshots.web.pages import links
from webapp.markdown import to_html

SPANS = {"to-detect": "detected_at", "to-mitigate": "mitigated_at", "to-end": "ended_at"}
DELETED = "It has been deleted."
NOT_OPEN = "You cannot open it: it belongs to somebody else, or was moved."
ENTRY_DELETED = "The note or its recording has been deleted; this is what it said."
ENTRY_CHANGED = "The note was changed since; this is an earlier version of it."
ENTRY_NOT_OPEN = "You cannot open the recording of this note; this is what the note said."


class Visible:
    """The recordings and archived jobs that a person sees among those of rows."""

    def __init__(self, user, rows: Iterable[Any]) -> None:
        """Ask for all rows at once; each has ``recording_id`` and ``engine_job_id``."""
        recordings = {row.recording_id for row in rows} - {None}
        jobs = {row.engine_job_id for row in rows} - {None}
        self._recordings = _keys(access.recordings(user), recordings)
        self._jobs = _keys(access.engine_jobs(user), jobs)

    def has(self, row) -> bool:
        """Tell whether the person sees what a row is about."""
        return row.recording_id in self._recordings or row.engine_job_id in self._jobs


def _keys(visible, keys: set[int]) -> set[int]:
    rows = visible.prefetch_related(None).filter(pk__in=keys)
    return set(rows.values_list("pk", flat=True)) if keys else set()


def item(review: Review) -> incident_payloads.ReviewItem:
    """Return a review as lists show it."""
    return {
        "id": review.pk,
        "title": review.title,
        "severity": review.severity,
        "status": review.status,
        "began_at": optional_date(review.began_at),
        "detected_at": optional_date(review.detected_at),
        "mitigated_at": optional_date(review.mitigated_at),
        "ended_at": optional_date(review.ended_at),
        "team": team_of(review),
        "opened_by": _name(review.opened_by),
        "created_at": date(review.created_at),
        "changed_at": date(review.changed_at),
        "revision": review.revision,
    }


def detail(user, review: Review) -> incident_payloads.ReviewDetail:
    """Return a review with its people and exhibits."""
    exhibits = list(review.exhibits.all())
    visible = Visible(user, exhibits)
    return {
        **item(review),
        "summary": review.summary,
        "summary_html": to_html(review.summary),
        "spans": [_span(review, name, end) for name, end in SPANS.items()],
        "people": [_person(row) for row in review.participants.select_related("person")],
        "exhibits": [_exhibit(row, visible) for row in exhibits],
        "rows": review.rows.count(),
        "hidden": timeline.hidden(review),
        "may": {
            "contribute": access.may_comment(user, review),
            "edit": access.may_edit(user, review),
            "delete": access.leads(user, review),
        },
    }


def _name(person: User | None) -> str | None:
    return None if person is None else person.get_username()


def _span(review: Review, name: str, end: str) -> incident_payloads.ReviewSpan:
    began, ended = review.began_at, getattr(review, end)
    if began is None or ended is None:
        return {"name": name, "seconds": None, "words": "not known"}
    seconds = (ended - began).total_seconds()
    return {"name": name, "seconds": seconds, "words": quantities.duration(seconds, "s")}


def _person(row) -> incident_payloads.ReviewPerson:
    return {"id": row.pk, "email": row.person.get_username(), "part": row.part}


def _exhibit(row: Exhibit, visible: Visible) -> incident_payloads.ReviewExhibit:
    is_deleted = row.recording_id is None and row.engine_job_id is None
    can_open = visible.has(row)
    reason = DELETED if is_deleted else NOT_OPEN
    return {
        "id": row.pk,
        "name": row.name,
        "recording": row.recording_id if can_open else None,
        "archived_job": row.engine_job_id if can_open else None,
        "place": row.place if can_open else "",
        "address": _address_of(row) if can_open else None,
        "reason": "" if can_open else reason,
        "added_at": date(row.added_at),
    }


def _address_of(row: Exhibit) -> str:
    """Return the page of an exhibit, whose place may be gone by now; the page then says so."""
    job = row.engine_job_id
    try:
        place = read_place(row.place) if row.place else None
    except NotAPlace:  # a text of a later version of Cutline
        place = None
    if job is not None:
        if not isinstance(place, CheckpointPlace):
            return reverse("archived-job", args=[job])
        number = archived_number(place.checkpoint)
        return reverse("archived-checkpoint", args=[job, place.pipeline, number])
    recording = row.recording_id
    assert recording is not None  # an exhibit that can be opened has one of the two
    if isinstance(place, CheckpointPlace):
        return links.to_checkpoint(recording, place.checkpoint)
    if place is not None:
        return links.to_snapshot(recording, row.place.partition(":")[2])
    return reverse("recording", args=[recording])


def rows_of(
    user, rows: Sequence[TimelineRow], *, with_html: bool = True
) -> list[incident_payloads.ReviewRow]:
    """Return rows of a timeline; the rights are asked for all rows at once."""
    visible = Visible(user, [row.entry for row in rows if row.entry is not None])
    return [_row(row, visible, with_html) for row in rows]


def _row(row: TimelineRow, visible: Visible, with_html: bool) -> incident_payloads.ReviewRow:
    entry = row.entry if row.entry is not None and visible.has(row.entry) else None
    text, at = timeline.text_of(row), timeline.at_of(row)
    fields: Any = {
        "id": row.pk,
        "group": row.group_id,
        "is_group": row.is_group,
        "is_hidden": row.is_hidden,
        "is_hidden_by_group": row.group is not None and row.group.is_hidden,
        **_of_entry(row, entry),
        "kind": timeline.kind_of(row),
        "text": text,
        "html": to_html(text) if with_html else "",
        "sentence": row.sentence,
        "at": at,
        "unit": row.unit,
        "when": _when(at, row.unit),
        "moment": None if entry is None else _moment(row, entry),
        "clock": optional_date(row.clock),
        "is_edited": row.is_of_an_entry and (row.text, row.kind, row.at) != (None,) * 3,
        "original_text": row.original_text,
        "original_kind": row.original_kind,
        "original_at": row.original_at,
        "original_when": _when(row.original_at, row.unit),
        "added_at": date(row.added_at),
        "changed_in": row.changed_in,
    }
    return fields


def _of_entry(row: TimelineRow, entry: Entry | None) -> dict[str, Any]:
    """Return the fields of a row that its entry has, if the person sees it."""
    if entry is None:
        reason = ENTRY_DELETED if row.entry is None else ENTRY_NOT_OPEN
        return {
            **{"entry": None, "number": None, "about": "", "address": None, "is_resolved": None},
            "place_state": None,
            "due_on": None,
            "reason": reason if row.is_of_an_entry else "",
            "author": None if row.is_of_an_entry else _name(row.added_by),
            "imported_from": None,
        }
    place = resolve_in_list(entry.subject, entry.place, entry.mark) if entry.place else None
    return {
        "entry": entry.pk,
        "number": entry.number,
        "about": str(entry.subject),
        "address": reverse("entry", args=[entry.pk]),
        "is_resolved": entry.resolved_at is not None,
        "place_state": None if place is None else place.state,
        "reason": _reason(row, entry, "" if place is None else place.reason),
        "due_on": optional_day(entry.due_on),
        "author": _name(entry.author),
        "imported_from": entry.imported_author or None,
    }


def _reason(row: TimelineRow, entry: Entry, of_place: str) -> str:
    """Return what became of the place and of the words of an entry; empty if both are as before."""
    return " ".join(filter(None, [of_place, ENTRY_CHANGED if _is_older(row, entry) else ""]))


def _is_older(row: TimelineRow, entry: Entry) -> bool:
    """Tell whether a row keeps other words than its entry, as reviews of other owners do."""
    return (row.original_text, row.original_kind) != (entry.text, entry.kind)


def author_of(item: incident_payloads.ReviewRow) -> str:
    """Word who wrote what a row shows."""
    if item["imported_from"] is not None:
        return f"imported from {item['imported_from']}"
    if item["author"] is not None:
        return item["author"]
    if item["reason"] == ENTRY_NOT_OPEN:
        return "the author is not shown to you"
    return "not known who wrote it" if item["reason"] == ENTRY_DELETED else "a deleted account"


def _when(at: int | None, unit: str) -> str:
    if at is None:
        return ""
    return quantities.epoch(at) if unit == timeline.EPOCH else quantities.instant(at, unit)


def _moment(row: TimelineRow, entry: Entry) -> str | None:
    """Return the date of the time that a row shows; None if it is not known."""
    at = timeline.at_of(row)
    if row.unit == timeline.EPOCH:
        return optional_instant(at)
    if entry.recording is None or entry.recording.time_unit != row.unit:
        return None
    place = entry.place if row.at is None else ""
    return optional_instant(dating.epoch_ms(entry.recording, place, at))


def log_of(user, review: Review, entries: Sequence[Entry]) -> list[incident_payloads.LogEntry]:
    """Return entries of the log, with the rows of the timeline that show them."""
    shown = dict(review.rows.filter(entry__in=entries).values_list("entry", "pk"))
    readers = {
        subject: Reader(user, subject, is_list=True)
        for subject in {entry.subject for entry in entries}
    }
    return [
        {
            **readers[entry.subject].entry(entry),
            "about": str(entry.subject),
            "row": shown.get(entry.pk),
        }
        for entry in entries
    ]


def follow_ups_of(user, entries: Sequence[Entry]) -> list[incident_payloads.FollowUp]:
    """Return follow-ups with the reviews in which they are."""
    reviews, today = due.reviews_of(user, entries), due.today()
    return [
        {
            "id": entry.pk,
            "number": entry.number,
            "text": entry.text,
            "sentence": entry.sentence,
            "html": to_html(entry.text or entry.sentence),
            "about": str(entry.subject),
            "address": reverse("entry", args=[entry.pk]),
            "people": sorted(map(str, due.assigned(entry))),
            "due_on": optional_day(entry.due_on),
            "is_overdue": _is_overdue(entry, today),
            "resolved_at": optional_date(entry.resolved_at),
            "created_at": date(entry.created_at),
            "reviews": [
                {"id": review.pk, "title": review.title} for review in reviews.get(entry.pk, [])
            ],
        }
        for entry in entries
    ]


def _is_overdue(entry: Entry, today) -> bool:
    return entry.resolved_at is None and entry.due_on is not None and entry.due_on < today

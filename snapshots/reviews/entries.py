"""Write, change, resolve and delete entries.

Raises: problems.Problem for a wrong request. Who may do what is decided by ``snapshots.access``.
"""

from collections.abc import Mapping
from datetime import date
from functools import partial
from hashlib import sha256
from itertools import takewhile
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Max, Prefetch, QuerySet
from django.urls import reverse
from django.utils import timezone

from snapshots import access
from snapshots.domain.reviewing.place_text import NotAPlace, read_place
from snapshots.domain.reviewing.places import CutPlace, MomentPlace
from snapshots.jobs import live
from snapshots.payloads.dates import optional_day
from snapshots.problems import Conflict, Invalid, NotFound
from snapshots.reviews import copies, resolving
from snapshots.reviews.describing import Seen, describe
from snapshots.reviews.history import with_versions
from snapshots.reviews.mentions import mentioned
from snapshots.reviews.models import Entry
from snapshots.reviews.revising import Saved, name_of
from snapshots.reviews.subjects import Subject, field_of
from webapp.accounts import audit
from webapp.notices import events

LONGEST_TEXT = 20_000  # characters
MOST_ENTRIES = 10_000  # of one recording or archived job, with the answers
MOST_ANSWERS = 200  # to one entry
LARGEST_NUMBER = 2**31 - 1  # of an entry; its column holds no larger one
ANSWERS_IN_LISTS = 10  # of each entry; a single entry comes with all
LARGEST = 2**62
MADE, CHANGED, DELETED = "made", "changed", "deleted"


def entries(user, subject: Subject) -> QuerySet[Entry]:
    """Return the entries of a visible recording or archived job by number, without answers."""
    rows = Entry.objects.filter(**field_of(subject), parent=None).order_by("number")
    return _with_people(rows)


def listed(user, subject: Subject) -> QuerySet[Entry]:
    """Return the same entries for a list: each with its last ANSWERS_IN_LISTS answers alone.

    They are ``last_answers``, the newest first; ``answers_total`` counts all.
    """
    answers = with_versions(Entry.objects.select_related("author").prefetch_related("mentions"))
    newest = answers.order_by("-created_at", "-pk")[:ANSWERS_IN_LISTS]
    rows = Entry.objects.filter(**field_of(subject), parent=None).order_by("number")
    return (
        with_versions(rows)
        .select_related("author", "resolved_by", "recording", "engine_job")
        .annotate(answers_total=Count("answers"))
        .prefetch_related("mentions", Prefetch("answers", newest, to_attr="last_answers"))
    )


def entry(user, pk: int) -> Entry:
    """Return an entry or an answer that the person may see. Raises: NotFound."""
    row = _with_people(Entry.objects.filter(access.noted(user))).filter(pk=pk).first()
    if row is None:
        raise NotFound(f"There is no entry {pk}, or it belongs to someone else.")
    return row


def _with_people(rows: QuerySet[Entry]) -> QuerySet[Entry]:
    joined = with_versions(rows).select_related("author", "resolved_by", "recording", "engine_job")
    answers = with_versions(Entry.objects.select_related("author").prefetch_related("mentions"))
    return joined.prefetch_related("mentions", Prefetch("answers", answers))


def located(subject: Subject, place: object, seen: object = None) -> dict[str, Any]:
    """Return the fields of a row at a place: its text, mark and time, and the sentence about it.

    Args:
        subject: the recording or archived job.
        place: the text of the place. Empty or None for the whole.
        seen: the text of the moment or cut at which the screen stood. None if it does not matter.

    Raises: Invalid if a text is no place; Conflict if the place is gone or not known.
    """
    if place in (None, ""):
        return {"place": "", "mark": "", "sentence": "", "at": None}
    parsed = _read(place, "place")
    resolved = resolving.resolve(subject, str(place))
    if not resolved.is_there:
        raise Conflict(resolved.reason, field="place")
    return {
        "place": place,
        "mark": resolved.mark,
        "sentence": describe(subject, parsed, _seen(subject, seen)),
        "at": resolved.at,
    }


def looked_up(subject: Subject, text: str) -> resolving.Resolved:
    """Look for a place, which need not be there. Raises: Invalid if the text is no place."""
    _read(text, "place")
    return resolving.resolve(subject, text)


def _seen(subject: Subject, text: object) -> Seen | None:
    if text in (None, ""):
        return None
    seen = _read(text, "seen")
    if not isinstance(seen, MomentPlace | CutPlace):
        raise Invalid("seen must be a moment or a cut.", field="seen")
    resolved = resolving.resolve(subject, str(text))
    if not resolved.is_there:
        raise Conflict(resolved.reason, field="seen")
    return seen


def _read(text: object, field: str):
    if not isinstance(text, str):
        raise Invalid(f"{field} must be a text, such as event:B:2.", field=field)
    try:
        return read_place(text)
    except NotAPlace as error:
        raise Invalid(str(error), field=field) from None


@transaction.atomic
def write(user: User, subject: Subject, fields: Mapping[str, Any]) -> Entry:
    """Write an entry.

    Args:
        user: the author.
        subject: a recording or archived job that the author may see.
        fields: has ``text``, and optionally ``kind``, ``place``, ``seen``, ``at`` and ``due_on``.

    Raises: Invalid, Conflict, ReadOnly, NeedsRole.
    """
    access.require_commenter(user, subject)
    kind, text = checked_kind(fields.get("kind")), checked_text(fields.get("text"))
    place = located(subject, fields.get("place"), fields.get("seen"))
    if fields.get("at") is not None:
        place["at"] = _instant(fields["at"])
    place["due_on"] = checked_day(fields.get("due_on"), kind)
    return add(user, subject, kind, text, place)


def add(user: User, subject: Subject, kind: str, text: str, place: Mapping[str, Any]) -> Entry:
    """Add an entry whose fields have been checked; ``place`` is that of ``located``."""
    _lock(subject)
    of_subject = Entry.objects.filter(**field_of(subject))
    if of_subject.count() >= MOST_ENTRIES:
        raise Conflict(f"“{subject}” has {MOST_ENTRIES:,} entries already, which is the most.")
    number = (of_subject.aggregate(last=Max("number"))["last"] or 0) + 1
    if number > LARGEST_NUMBER:
        raise Conflict(f"“{subject}” has an entry {number - 1:,}, and no number follows it.")
    row = Entry(**field_of(subject), **place, kind=kind, text=text, number=number, author=user)
    return _save_new(row, user)


@transaction.atomic
def answer(user: User, question: Entry, text: object) -> Entry:
    """Answer an entry; an answer has no answers of its own.

    Raises: Invalid, Conflict, ReadOnly, NeedsRole.
    """
    access.require_commenter(user, question.subject)
    if question.parent_id is not None:
        raise Conflict(f"Entry {question.pk} is an answer. Answer entry {question.parent_id}.")
    checked = checked_text(text)
    _lock(question.subject)
    question = _locked(question)
    if question.answers.count() >= MOST_ANSWERS:
        raise Conflict(
            f"Entry {question.pk} has {MOST_ANSWERS:,} answers already, which is the most. Write a "
            "new entry."
        )
    if Entry.objects.filter(**field_of(question.subject)).count() >= MOST_ENTRIES:
        raise Conflict(f"“{question.subject}” has {MOST_ENTRIES:,} entries already.")
    row = Entry(**field_of(question.subject), text=checked, parent=question, author=user)
    return _save_new(row, user)


def _lock(subject: Subject) -> None:
    """Let one request at a time add an entry to the subject, so that each has its own number."""
    type(subject).objects.select_for_update().get(pk=subject.pk)


def _locked(row: Entry) -> Entry:
    """Return an entry as it is now; no other request changes it before the transaction ends.

    Raises: NotFound if it was deleted since it was read.
    """
    now = Entry.objects.select_for_update(no_key=True).filter(pk=row.pk).first()
    if now is None:
        raise NotFound(f"Entry {row.pk} has just been deleted.")
    return now


def _save_new(row: Entry, user: User) -> Entry:
    _save(row, user)
    _mention(row, user)
    audit.note(audit.NOTED, user, row.title, person=row.subject.owner)
    _announce(row, user, MADE if row.parent_id is None else CHANGED)
    return row


@transaction.atomic
def change(user: User, row: Entry, fields: Mapping[str, Any]) -> Entry:
    """Change text, kind and day, which the author alone may, or resolve and reopen an entry.

    Args:
        user: who changes it.
        row: an entry that the person may see.
        fields: has ``text``, ``kind``, ``due_on`` and ``resolved``; what is absent or None stays.
            An empty ``due_on`` takes the day away. With ``version``, the ``version_of`` the entry
            that the person read, nothing that was saved later is replaced.

    Raises: Invalid, Conflict, NotFound, ReadOnly, NeedsRole, NotYours.
    """
    row = _locked(row)
    if any(fields.get(name) is not None for name in ("text", "kind", "due_on")):
        _edit(user, row, fields)
    if fields.get("resolved") is not None:
        _resolve(user, row, fields["resolved"])
    return row


def _edit(user: User, row: Entry, fields: Mapping[str, Any]) -> None:
    access.require_author(user, row.subject, row.author_id)
    before = _words(row)
    if fields.get("kind") is not None:
        if row.parent_id is not None:
            raise Invalid("An answer has no kind.", field="kind")
        row.kind = checked_kind(fields["kind"])
    if fields.get("text") is not None:
        row.text = checked_text(fields["text"])
    if fields.get("due_on") is not None:
        row.due_on = checked_day(fields["due_on"], row.kind)
    if row.kind != Entry.Kind.FOLLOW_UP:
        row.due_on = None
    if _words(row) == before:
        return
    if fields.get("version") not in (None, _digest(before)):
        raise _changed_since(user, row, before)
    row.edited_at = timezone.now()
    _save(row, user, "kind", "text", "due_on", "edited_at")
    _mention(row, user)
    audit.note(audit.NOTE_EDITED, user, row.title, person=row.subject.owner)
    _announce(row, user, CHANGED)


def version_of(row: Entry) -> str:
    """Return what names the kind, text and day of an entry: others have another one."""
    return _digest(_words(row))


_Words = tuple[str, str, date | None]


def _words(row: Any) -> _Words:
    """Return the kind, text and day of an entry, or of a version in its history."""
    return row.kind, row.text, row.due_on


def _digest(words: _Words) -> str:
    kind, text, day = words
    return sha256(f"{kind} {day} {text}".encode(errors="surrogatepass")).hexdigest()[:16]


def _changed_since(user: User, row: Entry, words: _Words) -> Conflict:
    """Return the refusal of a change of an entry that had other words when the person read it."""
    kind, text, day = words
    newer = {"kind": kind, "text": text, "due_on": optional_day(day)}
    changed = {"kind": row.kind, "text": row.text, "due_on": optional_day(row.due_on)}
    return Conflict(
        _saved(row, words).sentence(user),
        field="version",
        version=_digest(words),
        newer={name: value for name, value in newer.items() if value != changed[name]},
    )


def _saved(row: Entry, words: _Words) -> Saved:
    """Return who gave these words, which are the last in the history, to an entry, and when."""
    noun = "this note" if row.parent_id is None else "this answer"
    newest = row.history.select_related("history_user").order_by("-history_date", "-pk")
    same = list(takewhile(lambda version: _words(version) == words, newest))
    if not same:
        return Saved(noun, None, None)
    first = same[-1]
    by = "A file" if first.imported_by else name_of(first.history_user)
    return Saved(noun, by, first.history_date)


def _resolve(user: User, row: Entry, wanted: object) -> None:
    if not isinstance(wanted, bool):
        raise Invalid("resolved must be true or false.", field="resolved")
    if row.parent_id is not None:
        raise Invalid("An answer cannot be resolved; its entry can.", field="resolved")
    access.require_author_or_editor(user, row.subject, row.author_id)
    if wanted == (row.resolved_at is not None):
        return
    row.resolved_at = timezone.now() if wanted else None
    row.resolved_by = user if wanted else None
    row.imported_resolver = ""
    _save(row, user, "resolved_at", "resolved_by", "imported_resolver")
    action = audit.NOTE_RESOLVED if wanted else audit.NOTE_REOPENED
    audit.note(action, user, row.title, person=row.subject.owner)
    _announce(row, user, CHANGED)


@transaction.atomic
def delete(user: User, row: Entry) -> None:
    """Delete an entry with its answers and its history; timelines of reviews keep its words.

    Raises: NotFound, ReadOnly, NeedsRole; Conflict if others have answered and the person is no
        editor.
    """
    row = _locked(row)
    access.require_author_or_editor(user, row.subject, row.author_id)
    if row.answers.exclude(author=user).exists() and not access.may_edit(user, row.subject):
        raise Conflict(
            "Others have answered this, and their answers would go with it. An editor can delete "
            "all of it."
        )
    audit.note(audit.NOTE_DELETED, user, row.title, person=row.subject.owner)
    _announce(row, user, DELETED if row.parent_id is None else CHANGED)
    row.delete()


def _save(row: Entry, user: User, *fields: str) -> None:
    """Save these fields of an entry, or all of a new one, with a version in its history."""
    row._history_user = user  # type: ignore[attr-defined]  # simple_history reads it
    row.save(update_fields=fields or None)


def _mention(row: Entry, by: User) -> None:
    """Store whom an entry mentions, and notify those whom it did not mention before."""
    before = set(row.mentions.values_list("pk", flat=True))
    people = mentioned(row.subject, row.text)
    row.mentions.set(people)
    for person in people:
        if person.pk not in before:
            _notify(person, by, row)


def _notify(person: User, by: User, row: Entry) -> None:
    page = "notes" if row.recording_id is not None else "archived-notes"
    events.mentioned(
        person,
        by,
        key=f"entry {row.pk}",
        where=row.title,
        path=f"{reverse(page, args=[row.subject.pk])}#entry-{row.parent_id or row.pk}",
    )


def _announce(row: Entry, by: User, change: str) -> None:
    """Send the change of an entry to open pages after the commit; an answer changes its entry."""
    (kind, subject), *_ = field_of(row.subject).items()
    send = partial(live.entry_changed, kind, subject.pk, row.parent_id or row.pk, change)
    transaction.on_commit(send, robust=True)
    if change == CHANGED and row.parent_id is None:
        copies.entry_changed(row, by)
    else:
        copies.announce(row)


def checked_day(day: object, kind: str) -> date | None:
    """Return the day on which a follow-up is due; None if it is empty or None. Raises: Invalid."""
    if day in (None, ""):
        return None
    if kind != Entry.Kind.FOLLOW_UP:
        raise Invalid(f"A {kind} has no day on which it is due; a follow-up has.", field="due_on")
    try:
        return date.fromisoformat(day) if isinstance(day, str) else _no_day()
    except ValueError:
        return _no_day()


def _no_day() -> NoReturn:
    raise Invalid("due_on must be a day, such as 2026-11-30.", field="due_on")


def checked_kind(kind: object) -> str:
    """Return the kind of an entry, which is a note by default. Raises: Invalid."""
    if kind in (None, ""):
        return Entry.Kind.NOTE
    if kind not in Entry.Kind.values:
        *others, last = Entry.Kind.values
        raise Invalid(f"The kind must be {', '.join(others)} or {last}.", field="kind")
    return str(kind)


def checked_text(text: object) -> str:
    """Return the text of an entry without white space at its ends. Raises: Invalid."""
    if not isinstance(text, str) or not text.strip():
        raise Invalid("An entry needs a text.", field="text")
    if len(text) > LONGEST_TEXT:
        raise Invalid(
            f"A text has at most {LONGEST_TEXT:,} characters, not {len(text):,}.", field="text"
        )
    return text.strip()


def _instant(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise Invalid("at must be a whole number, in the recording's time unit.", field="at")
    return value

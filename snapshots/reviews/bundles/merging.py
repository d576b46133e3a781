"""Take the notes of a bundle into a recording: new ones are added, those that are here stay.

An entry is recognised by its uid, which anybody can write into a file. So no import changes the
words of an entry that is here, whoever wrote it and whoever imports. Its history decides what
happens: if the history here is the beginning of that in the bundle, and the rest only resolves or
reopens the entry, the rest is added. If it is the other way round, the entry here is newer.
Otherwise the entry here stays as it is, and its number is said.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from django.db import transaction

from snapshots import access
from snapshots.jobs import live
from snapshots.problems import Conflict
from snapshots.quantities import thousands
from snapshots.reviews import copies
from snapshots.reviews.bundles.documents import Answer, Note, Version
from snapshots.reviews.bundles.exporting import said, versions_of
from snapshots.reviews.due import today
from snapshots.reviews.entries import CHANGED, MADE, MOST_ANSWERS, MOST_ENTRIES
from snapshots.reviews.mentions import MOST, addresses
from snapshots.reviews.models import Entry
from snapshots.reviews.subjects import Subject, field_of

SHOWN = 10  # numbers of entries in a sentence
LARGEST_NUMBER = 1_000_000  # of a new entry, so that there is room for those after it
_BATCH = 500  # rows
_CREATED, _CHANGED = "+", "~"  # as simple_history calls them


@dataclass
class Merged:
    """What became of the entries and answers of a bundle.

    Attributes:
        added: how many are new here.
        updated: how many were brought up to date.
        same: how many were here already, as they are in the bundle or newer.
        left: the number of each entry that stays as it is here, because it or an answer to it was
            changed here and in the bundle.
        kept: the number of each entry that stays as it is here, because the bundle has other words
            of it or of an answer to it, or another place.
        renumbered: the number in the bundle and the number here of each new entry that got another.
    """

    added: int = 0
    updated: int = 0
    same: int = 0
    left: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    renumbered: list[tuple[int, int]] = field(default_factory=list)

    def sentences(self) -> str:
        """Say what became of them."""
        if not (self.added or self.updated or self.left or self.kept):
            return "All its notes are here already." if self.same else "It has no notes."
        parts = [
            (self.added, "{} added"),
            (self.updated, "{} brought up to date"),
            (self.same, "{} here already"),
        ]
        counts = [words.format(thousands(count)) for count, words in parts if count]
        return " ".join(
            [
                *([f"Notes and answers: {', '.join(counts)}."] if counts else []),
                *self._left(),
                *self._kept(),
                *self._renumbered(),
            ]
        )

    def _left(self) -> list[str]:
        if not self.left:
            return []
        sentence = "Notes that were changed here and in the file stay as they are here: {}."
        return [sentence.format(_listed(self.left))]

    def _kept(self) -> list[str]:
        if not self.kept:
            return []
        sentence = "Notes that the file has with other words or places stay as they are here: {}."
        return [sentence.format(_listed(self.kept))]

    def _renumbered(self) -> list[str]:
        if not self.renumbered:
            return []
        pairs = [f"note {before} is note {now} here" for before, now in self.renumbered]
        is_too_large = any(before > LARGEST_NUMBER for before, _ in self.renumbered)
        reason = "taken here or too large" if is_too_large else "taken here"
        return [f"The numbers of these notes were {reason}: {_listed(pairs)}."]


def merge(subject: Subject, notes: Sequence[Note], *, is_new: bool) -> Merged:
    """Take the notes into a subject, in the open transaction; nobody is notified.

    Args:
        subject: the recording or the archived job, whose row or owner is locked.
        notes: the notes of the bundle.
        is_new: whether the subject came with the bundle, so that nobody has it open.

    Raises: Conflict if the subject would have too many entries.
    """
    return _Merge(subject, is_new).take(notes)


class _Merge:
    """One merge, with the rows that are here."""

    def __init__(self, subject: Subject, is_new: bool) -> None:
        self._subject, self._is_new = subject, is_new
        own = Entry.objects.filter(**field_of(subject)).order_by("pk")
        rows = list(own.select_for_update(no_key=True))  # else an edit could be lost
        self._rows = {row.uid: row for row in rows}
        self._versions = versions_of(rows)
        self._numbers = {row.number for row in rows if row.number is not None}
        self._last = max(self._numbers, default=0)
        self._answers: defaultdict[int | None, int] = defaultdict(int)
        for row in rows:
            self._answers[row.parent_id] += 1
        self._made: list[tuple[Entry, tuple[Version, ...]]] = []
        self._merged = Merged()

    def take(self, notes: Sequence[Note]) -> Merged:
        """Take all notes, and then all answers, whose entries must have keys."""
        self._require_few(notes)
        parents = [self._note(note) for note in notes]
        self._keep_made()
        for note, parent in zip(notes, parents, strict=True):
            self._take_answers(note, parent)
        self._keep_made()
        if notes and not self._is_new:
            copies.announce(parents[0])
        return self._merged

    def _note(self, note: Note) -> Entry:
        row = self._rows.get(note.uid)
        if row is None:
            return self._add_note(note)
        if row.parent_id is not None:
            raise Conflict(
                f"The entry {note.number} of the file is an answer in “{self._subject}”.",
                field="uid",
            )
        resolved_at = row.resolved_at
        if self._bring_up_to_date(row, note, row.number):
            if row.resolved_at != resolved_at:
                resolver = {"resolved_by": None, "imported_resolver": note.resolved_by or ""}
                Entry.objects.filter(pk=row.pk).update(**resolver)
            self._announce(row, CHANGED)
        return row

    def _add_note(self, note: Note) -> Entry:
        number = note.number
        if number in self._numbers or number > LARGEST_NUMBER:
            number = self._last + 1
            self._merged.renumbered.append((note.number, number))
        self._numbers.add(number)
        self._last = max(self._last, number)
        row = self._row(note)
        row.number, row.place, row.mark = number, note.place, note.mark
        row.sentence, row.at, row.imported_resolver = note.sentence, note.at, note.resolved_by or ""
        return row

    def _take_answers(self, note: Note, parent: Entry) -> None:
        changed = False
        for answer in note.answers:
            row = self._rows.get(answer.uid)
            if row is None:
                self._row(answer).parent = parent
                self._answers[parent.pk] += 1
                changed = True
            elif row.parent_id != parent.pk:
                raise Conflict(
                    f"An answer to the entry {note.number} of the file belongs to another entry in "
                    f"“{self._subject}”.",
                    field="uid",
                )
            elif self._bring_up_to_date(row, answer, parent.number):
                changed = True
        if self._answers[parent.pk] > MOST_ANSWERS:
            raise Conflict(
                f"The entry {parent.number} would have {self._answers[parent.pk]:,} answers, and "
                f"{MOST_ANSWERS} are the most."
            )
        if changed and not self._is_new:
            self._announce(parent, CHANGED)

    def _row(self, entry: Answer) -> Entry:
        """Return a new row with what entries and answers have in common."""
        row = Entry(
            **field_of(self._subject),
            uid=entry.uid,
            imported_author=entry.author or "",
            created_at=entry.created_at,
            edited_at=entry.edited_at,
            **_now(entry),
        )
        self._made.append((row, entry.versions))
        self._merged.added += 1
        return row

    def _bring_up_to_date(self, row: Entry, entry: Answer, number: int | None) -> bool:
        """Give a row that is here what the bundle adds to its history, and tell whether it does."""
        if _lies_elsewhere(row, entry):
            return _left_in(self._merged.kept, number)
        here = [said(version) for version in self._versions[row.pk]]
        there = [said(version) for version in entry.versions]
        if here[: len(there)] == there:
            self._merged.same += 1
            return False
        more = entry.versions[len(here) :]
        if there[: len(here)] != here:
            return _left_in(self._merged.left, number)
        if not _has_its_words(row, more):
            return _left_in(self._merged.kept, number)
        row.resolved_at = more[-1].resolved_at
        Entry.objects.filter(pk=row.pk).update(resolved_at=row.resolved_at)
        _keep_history([(row, more)], first=_CHANGED)
        self._merged.updated += 1
        return True

    def _keep_made(self) -> None:
        """Create the new entries and answers, with histories and mentions; announce the entries."""
        rows = Entry.objects.bulk_create([row for row, _ in self._made], _BATCH)
        _keep_history(self._made, first=_CREATED)
        self._keep_mentions(rows)
        for row in rows:
            if row.parent_id is None:
                self._announce(row, MADE)
        self._made = []

    def _keep_mentions(self, rows: Sequence[Entry]) -> None:
        """Store whom the new rows mention, with one look at the people for all of them."""
        named = {row.pk: addresses(row.text)[:MOST] for row in rows if "@" in row.text}
        wanted = sorted({address for of_row in named.values() for address in of_row})
        people: dict[str, int] = {}
        for first in range(0, len(wanted), _BATCH):
            batch = wanted[first : first + _BATCH]
            there = access.readers(self._subject).filter(username__in=batch)
            people.update(there.values_list("username", "pk"))
        link = Entry.mentions.through
        pairs = [
            (pk, people[name]) for pk, names in named.items() for name in names if name in people
        ]
        link.objects.bulk_create(
            [link(entry_id=pk, user_id=person) for pk, person in pairs], _BATCH
        )

    def _require_few(self, notes: Sequence[Note]) -> None:
        """Refuse too many entries and answers before one is written. Raises: Conflict."""
        uids = {each.uid for note in notes for each in (note, *note.answers)}
        count = len(self._rows.keys() | uids)
        if count > MOST_ENTRIES:
            raise Conflict(
                f"“{self._subject}” would have {count:,} entries and answers, and "
                f"{MOST_ENTRIES:,} are the most."
            )

    def _announce(self, row: Entry, change: str) -> None:
        """Send the change to open pages after the commit."""
        if not self._is_new:
            (kind,) = field_of(self._subject)
            send = partial(live.entry_changed, kind, self._subject.pk, row.pk, change)
            transaction.on_commit(send, robust=True)


def _lies_elsewhere(row: Entry, entry: Answer) -> bool:
    """Tell whether a note in a bundle has another place than the one that is here."""
    if not isinstance(entry, Note):
        return False
    here = row.place, row.sentence, row.at
    return here != (entry.place, entry.sentence, entry.at)


def _has_its_words(row: Entry, versions: Sequence[Version]) -> bool:
    """Tell whether all versions say what the row says, so that they only resolve or reopen it."""
    words = row.kind, row.text, row.due_on
    return all((each.kind, each.text, each.due_on) == words for each in versions)


def _left_in(numbers: list[int], number: int | None) -> Literal[False]:
    """List an entry once among those that stay as they are, and return that it did not change."""
    if number is not None and number not in numbers:
        numbers.append(number)
    return False


def _now(entry: Answer) -> dict[str, Any]:
    """Return the fields of an entry that its last version has; what was due before is noted."""
    fields = _fields(entry.versions[-1])
    is_past = fields["due_on"] is not None and fields["due_on"] <= today()
    return {**fields, "due_noted_on": fields["due_on"] if is_past else None}


def _fields(version: Version) -> dict[str, Any]:
    return version.model_dump(include={"kind", "text", "resolved_at", "due_on"})


def _keep_history(items: Iterable[tuple[Entry, Sequence[Version]]], *, first: str) -> None:
    """Add versions to the histories of entries; ``first`` says what the first version did."""
    rows = [
        _historical(row, version, _CHANGED if number else first)
        for row, versions in items
        for number, version in enumerate(versions)
    ]
    Entry.history.model.objects.bulk_create(rows, _BATCH)


def _historical(row: Entry, version: Version, change: str) -> Any:
    return Entry.history.model(
        id=row.pk,
        history_date=version.at,
        history_type=change,
        imported_by=version.by or "",
        **_fields(version),
    )


def _listed(items: Sequence[object]) -> str:
    shown = ", ".join(map(str, items[:SHOWN]))
    hidden = len(items) - SHOWN
    return f"{shown} and {hidden} more" if hidden > 0 else shown

"""Build what API and pages say of entries, trails and places, for one person."""

from collections.abc import Iterable

from django.contrib.auth.models import User

from snapshots import access, quantities
from snapshots.domain.reviewing.place_text import NotAPlace, kind_of, read_place
from snapshots.domain.reviewing.places import in_words
from snapshots.models import EngineJob
from snapshots.payloads.dates import date, optional_date, optional_day
from snapshots.reviews import payloads
from snapshots.reviews.entries import version_of
from snapshots.reviews.models import AtPlace, Entry, TrailItem
from snapshots.reviews.resolving import GONE, Resolved, resolve, resolve_in_list
from snapshots.reviews.subjects import Subject
from snapshots.web import places
from webapp.markdown import to_html


class Reader:
    """Builds what one person gets of one recording or archived job; asks for their rights once.

    Attributes:
        user: the person.
        subject: the recording or archived job.
        may_comment: whether the person may write entries.
        may_edit: whether the person may change what others wrote.
    """

    def __init__(
        self, user, subject: Subject, *, is_list: bool = False, with_html: bool = True
    ) -> None:
        """Ask for the rights.

        Args:
            user: the person.
            subject: the recording or archived job.
            is_list: whether places in states are not looked up.
            with_html: whether texts are also made HTML, which takes most of the time.
        """
        self.user, self.subject, self._with_html = user, subject, with_html
        self._resolved: dict[tuple[str, str], Resolved] = {}
        self._resolve = resolve_in_list if is_list else resolve
        self.may_comment = access.may_comment(user, subject)
        self.may_edit = access.may_edit(user, subject)
        self._is_visitor = isinstance(user, access.Visitor)  # who learns only who wrote something

    def entry(self, row: Entry) -> payloads.ReviewEntry:
        """Return an entry with its place and its answers, of which a list has the last."""
        answers, total = _answers(row)
        return {
            **self.answer(row),
            "number": row.number,
            "kind": row.kind,
            "recording": row.recording_id,
            "archived_job": row.engine_job_id,
            "parent": row.parent_id,
            "place": self.place(row),
            "sentence": row.sentence,
            "at": row.at,
            "when": self.when(row.at),
            "due_on": optional_day(row.due_on),
            "resolved_at": optional_date(row.resolved_at),
            "resolved_by": None if self._is_visitor else _name(row.resolved_by),
            "resolution_imported_from": None if self._is_visitor else row.imported_resolver or None,
            "answers": [self.answer(answer) for answer in answers],
            "answers_total": total,
        }

    def answer(self, row: Entry) -> payloads.AnswerToEntry:
        """Return what entries and answers have in common."""
        return {
            "id": row.pk,
            "text": row.text,
            "html": to_html(row.text) if self._with_html else "",
            "author": _name(row.author),
            "imported_from": row.imported_author or None,
            "mentions": [] if self._is_visitor else _names(row.mentions.all()),
            "created_at": date(row.created_at),
            "edited_at": optional_date(row.edited_at),
            "versions": row.versions if hasattr(row, "versions") else row.history.count(),
            "version": version_of(row),
            "may": self._rights(row),
        }

    def _rights(self, row: Entry) -> payloads.EntryRights:
        is_own = self.may_comment and row.author_id == self.user.pk
        is_answer = row.parent_id is not None
        return {
            "edit": is_own,
            "resolve": (is_own or self.may_edit) and not is_answer,
            "delete": is_own or self.may_edit,
            "answer": self.may_comment and not is_answer,
        }

    def trail_item(self, row: TrailItem) -> payloads.TrailEntry:
        """Return an item of the person's trail."""
        return {
            "id": row.pk,
            "place": self.place(row),
            "sentence": row.sentence,
            "at": row.at,
            "when": self.when(row.at),
            "made_at": date(row.made_at),
        }

    def place(self, row: AtPlace) -> payloads.PlaceItem | None:
        """Return the place of a row and what became of it; None if it has none."""
        if not row.place:
            return None
        key = row.place, row.mark
        if key not in self._resolved:  # many notes are at one place
            self._resolved[key] = self._resolve(self.subject, *key)
        return self.found(row.place, self._resolved[key])

    def found(self, text: str, resolved: Resolved) -> payloads.PlaceItem:
        """Return a place that has been looked up."""
        try:
            place = read_place(text)
        except NotAPlace as error:  # a text of a later version of Cutline
            return _unreadable(text, str(error))
        return {
            "text": text,
            "kind": kind_of(place),
            "words": in_words(place),
            "state": resolved.state,
            "reason": resolved.reason,
            "at": resolved.at,
            "step": resolved.step,
            "process": resolved.process,
            "address": places.address(self.subject, place, resolved),
            "workbench": places.workbench(self.subject, place, resolved),
        }

    def when(self, at: int | None) -> str:
        """Word a time in the system; empty if it is not known."""
        if at is None:
            return ""
        if isinstance(self.subject, EngineJob):
            return quantities.epoch(at)
        return quantities.instant(at, self.subject.time_unit)


def author_of(item: payloads.AnswerToEntry) -> str:
    """Word who wrote an entry or an answer."""
    if item["imported_from"] is not None:
        return f"imported from {item['imported_from']}"
    return item["author"] or "a deleted account"


def _answers(row: Entry) -> tuple[list[Entry], int]:
    """Return the answers that were read with an entry, the oldest first, and the number of all."""
    last = getattr(row, "last_answers", None)
    if last is None:
        answers = list(row.answers.all())
        return answers, len(answers)
    return last[::-1], row.answers_total  # type: ignore[attr-defined]  # of entries.listed


def _name(person: User | None) -> str | None:
    return None if person is None else person.get_username()


def _names(people: Iterable[User]) -> list[str]:
    return sorted(person.get_username() for person in people)


def _unreadable(text: str, reason: str) -> payloads.PlaceItem:
    """Return a place whose text this version of Cutline does not read."""
    return {
        "text": text,
        "kind": text.partition(":")[0],
        "words": text,
        "state": GONE,
        "reason": reason,
        "at": None,
        "step": None,
        "process": None,
        "address": None,
        "workbench": None,
    }

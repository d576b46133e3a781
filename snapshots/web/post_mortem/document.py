"""What a document holds, whether it is written as HTML or as Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from snapshots.models import EngineJob
from snapshots.quantities import counted
from snapshots.reviews import entries, incident_payloads, timeline
from snapshots.reviews.models import Entry, Review, TimelineRow
from snapshots.reviews.proving import Proof
from snapshots.reviews.subjects import Subject
from snapshots.web import incidents
from snapshots.web.entries import Reader, author_of
from snapshots.web.post_mortem.tables import NOT_KNOWN, Table, caption_of, tables_of

MOST_ROWS = 1_000
MOST_FIGURES = 40
JOB_HAS_NO_LOG = (
    "An archived job holds checkpoints, and no log. Checkpoints have claims where notes name them."
)
WITH_FIGURE = frozenset({"snapshot", "cut", "event", "message", "checkpoint"})

_TIMES = {
    "began_at": "began",
    "detected_at": "detected",
    "mitigated_at": "mitigated",
    "ended_at": "ended",
}

Claim = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """The figure of a claim, with its tables."""

    claim: Claim
    caption: str
    tables: Sequence[Table]


@dataclass
class Row:
    """One row of the timeline of a document.

    Attributes:
        name: how the row is called in the text, such as ``finding 7``; empty for own words.
        when: its time in words, with where the time comes from; empty if it is not known.
        text: the text in Markdown.
        sentence: what was on the screen when the note was written; empty for own words.
        about: the recording or archived job; empty for own words.
        notice: why the place cannot be shown, as a sentence; empty if it can.
        edited: what the note says where the timeline shows something else; empty if it does not.
        due_on: the day on which a follow-up is due; empty if it has none.
        claims: the claims that the row rests on.
        figures: the figures of these claims that stand here.
        answers: author and text of each answer.
        is_group: whether the row only names the rows below it.
        after_group: the name of the group that ends before the row; empty if none does.
    """

    name: str
    when: str
    author: str
    text: str
    sentence: str = ""
    about: str = ""
    notice: str = ""
    edited: str = ""
    due_on: str = ""
    is_resolved: bool = False
    is_group: bool = False
    after_group: str = ""
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    answers: Sequence[tuple[str, str]] = ()


@dataclass
class Document:
    """A review, or the notes of one recording or archived job, as it leaves the house.

    Attributes:
        heading: what stands above the rows.
        facts: pairs of a name and what it is, in words.
        summary: the summary in Markdown; empty if there is none.
        people: who took part, with what they did.
        hidden: how many rows are hidden in the timeline, and left out.
        cut_short: how many further rows do not fit into a document.
        exhibits: the names of what belongs to the review, with their claims.
        figures: how many figures there are.
    """

    title: str
    heading: str = "Timeline"
    facts: list[tuple[str, str]] = field(default_factory=list)
    summary: str = ""
    people: list[tuple[str, str]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    hidden: int = 0
    cut_short: int = 0
    exhibits: list[tuple[str, str, Sequence[Claim]]] = field(default_factory=list)
    proof: Proof = field(default_factory=Proof)
    figures: int = 0
    _drawn: set[str] = field(default_factory=set)
    _left_out: set[str] = field(default_factory=set)

    @property
    def undrawn(self) -> int:
        """Return how many claims have no figure because there are MOST_FIGURES already."""
        return len(self._left_out)

    def draw(self, claims: Iterable[Claim]) -> list[Figure]:
        """Return the figures of a row's claims; each claim has one, where it first stands."""
        chosen = []
        for claim in claims:
            if claim["kind"] not in WITH_FIGURE or "why_not" in claim or claim["id"] in self._drawn:
                continue
            if self.figures >= MOST_FIGURES:
                self._left_out.add(claim["id"])
                continue
            self._drawn.add(claim["id"])
            self.figures += 1
            tables = tables_of(claim, self.proof.checkpoints)
            chosen.append(Figure(claim, caption_of(claim), tables))
        return chosen

    @property
    def data(self) -> dict[str, Any]:
        """The claims and their evidence as JSON."""
        return self.proof.data()


def of_notes(user, subject: Subject) -> Document:
    """Return the document of all notes of a recording or archived job that the person sees."""
    document = Document(f"Notes on {subject}", "Notes")
    noun = "archived job" if isinstance(subject, EngineJob) else "recording"
    rows = entries.entries(user, subject)
    document.facts = [(noun, str(subject)), ("notes", f"{rows.count():,}")]
    document.cut_short = max(0, rows.count() - MOST_ROWS)
    reader = Reader(user, subject, is_list=True, with_html=False)
    for row in rows[:MOST_ROWS]:
        document.rows.append(_of_entry(document, reader, row))
    if not isinstance(subject, EngineJob):
        add_exhibit(document, subject, "", str(subject))
    return document


def _of_entry(document: Document, reader: Reader, row) -> Row:
    item = reader.entry(row)
    place = item["place"]
    claims = document.proof.cite(reader.subject, row.place, row.mark) if row.place else []
    claims = [claim for claim in claims if claim["place"]]
    return Row(
        name=f"{item['kind']} {item['number']}",
        when=item["when"],
        author=author_of(item),
        text=item["text"],
        sentence=item["sentence"],
        notice="" if place is None else place["reason"],
        due_on=item["due_on"] or "",
        is_resolved=item["resolved_at"] is not None,
        claims=claims,
        figures=document.draw(claims),
        answers=[(author_of(answer), answer["text"]) for answer in item["answers"]],
    )


def add_exhibit(document: Document, subject: Subject, place: str, name: str) -> None:
    """Add a recording, an archived job, or a place in one, with the claims about it."""
    claims = document.proof.cite(subject, place)
    notice = ""
    if not place and not isinstance(subject, EngineJob) and subject.is_ready:
        more, left_out = document.proof.snapshots_of(subject)
        claims = [*claims, *more]
        if left_out:
            notice = f"{counted(left_out, 'more snapshot')} without a claim here."
    elif isinstance(subject, EngineJob) and not place:
        notice = JOB_HAS_NO_LOG
    document.exhibits.append((name, notice, claims))


def of_review(user, review: Review) -> Document:
    """Return the document of a review, with what the person sees of it."""
    item = incidents.detail(user, review)
    rows = list(timeline.rows(review))
    document = Document(item["title"], facts=_facts(item), summary=item["summary"])
    document.people = [(person["email"], person["part"]) for person in item["people"]]
    shown = _in_order([row for row in rows if not row.is_hidden])
    document.hidden = len(rows) - len(shown)
    document.cut_short = max(0, len(shown) - MOST_ROWS)
    kept = shown[:MOST_ROWS]
    for row, fields in zip(kept, incidents.rows_of(user, kept, with_html=False), strict=True):
        document.rows.append(_of_row(user, document, row, fields))
    _end_groups(document.rows, kept)
    _add_exhibits(document, review, item["exhibits"])
    return document


def _facts(item: incident_payloads.ReviewDetail) -> list[tuple[str, str]]:
    times = [(words, _moment(item[name])) for name, words in _TIMES.items()]  # type: ignore[literal-required]
    spans = [(span["name"].replace("-", " "), span["words"]) for span in item["spans"]]
    return [("severity", item["severity"]), ("status", item["status"]), *times, *spans]


def _moment(text: str | None) -> str:
    return NOT_KNOWN if text is None else f"{text[:10]} {text[11:19]} UTC"


def _in_order(rows: Sequence[TimelineRow]) -> list[TimelineRow]:
    """Return visible rows, those of a group behind it; a hidden group hides its rows."""
    members: dict[int | None, list[TimelineRow]] = {}
    for row in rows:
        members.setdefault(row.group_id, []).append(row)
    return [item for row in members.get(None, []) for item in (row, *members.get(row.pk, []))]


def _end_groups(shown: Sequence[Row], rows: Sequence[TimelineRow]) -> None:
    """Note at each row that directly follows a group that it does not belong to the group."""
    group = ""
    for item, row in zip(shown, rows, strict=True):
        if row.group_id is None and not row.is_group:
            item.after_group = group
        if row.group_id is None:
            group = item.text if row.is_group else ""


def _of_row(user, document: Document, row: TimelineRow, item: incident_payloads.ReviewRow) -> Row:
    if item["is_group"]:
        return Row("", "", "", item["text"], is_group=True)
    entry = row.entry if item["entry"] is not None else None
    claims: list[Claim] = []
    if entry is not None and entry.place:
        cited = document.proof.cite(entry.subject, entry.place, entry.mark)
        claims = [claim for claim in cited if claim["place"]]
    return Row(
        name=_name_of(item),
        when=_when(item),
        author=incidents.author_of(item),
        text=item["text"],
        sentence=item["sentence"],
        about=item["about"],
        notice=item["reason"],
        edited=_edited(item),
        due_on=item["due_on"] or "",
        is_resolved=bool(item["is_resolved"]),
        claims=claims,
        figures=document.draw(claims),
        answers=() if entry is None else _answers(user, entry),
    )


def _name_of(item: incident_payloads.ReviewRow) -> str:
    """Return what a row is called: the note by its own kind, and the kind that is shown."""
    if item["number"] is None:
        return item["kind"]
    name = f"{item['original_kind']} {item['number']}"
    is_same = item["kind"] == item["original_kind"]
    return name if is_same else f"{name}, shown as {item['kind']}"


def _when(item: incident_payloads.ReviewRow) -> str:
    """Return the time in the system, and the time of day that a person gave, each so named."""
    system = f"{item['when']} in the system" if item["when"] else ""
    if item["moment"] is not None and item["unit"] != timeline.EPOCH:
        system += f" ({item['moment'][:10]} {item['moment'][11:23]} UTC)"
    person = "" if item["clock"] is None else f"{_moment(item['clock'])} as a person gave it"
    return ", ".join(filter(None, (system, person)))


def _edited(item: incident_payloads.ReviewRow) -> str:
    """Return what the note says where the row was edited; empty if it was not."""
    if not item["is_edited"]:
        return ""
    said = [item["original_kind"], item["original_when"], f"“{item['original_text']}”"]
    return f"Edited for the timeline. The note says: {', '.join(filter(None, said))}."


def _answers(user, entry: Entry) -> list[tuple[str, str]]:
    if not entry.answers.exists():
        return []
    item = Reader(user, entry.subject, is_list=True, with_html=False).entry(entry)
    return [(author_of(answer), answer["text"]) for answer in item["answers"]]


def _add_exhibits(
    document: Document, review: Review, items: Sequence[incident_payloads.ReviewExhibit]
) -> None:
    """Add the exhibits; of one that the person cannot open, the name and the reason."""
    rows = {row.pk: row for row in review.exhibits.select_related("recording", "engine_job")}
    for item in items:
        row = rows[item["id"]]
        subject = row.recording or row.engine_job
        if item["reason"] or subject is None:
            document.exhibits.append((item["name"], item["reason"], ()))
        else:
            add_exhibit(document, subject, item["place"], item["name"])

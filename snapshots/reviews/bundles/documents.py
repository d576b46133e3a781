"""Declare the two JSON documents of a bundle, and check them; docs/reviews.md shows them.

A bundle is a zip with three members, in this order: ``MANIFEST``, ``NOTES`` and ``UPLOAD``.
"""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from snapshots.models import LONGEST_FORMAT
from snapshots.problems import Refused
from snapshots.reviews.entries import LARGEST, LARGEST_NUMBER, LONGEST_TEXT, MOST_ENTRIES
from snapshots.reviews.models import LONGEST_NAME

MANIFEST = "cutline-recording.json"
NOTES: Literal["notes.json"] = "notes.json"
UPLOAD: Literal["upload"] = "upload"
LONGEST_PLACE = 2**20  # characters; ids of a log may be long
MOST_BYTES = {MANIFEST: 2**20, NOTES: 2**24}

D = TypeVar("D", bound=BaseModel)


def _in_utc(value: datetime) -> datetime:
    """Return the same instant in UTC, so that it is written in one way."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is out of range") from None


Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Kind = Literal["note", "finding", "question", "decision", "follow-up"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]
Words = Annotated[str, StringConstraints(max_length=LONGEST_PLACE)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=200)]
FileName = Annotated[str, StringConstraints(max_length=255)]
FormatName = Annotated[str, StringConstraints(max_length=LONGEST_FORMAT)]
Mark = Annotated[str, StringConstraints(max_length=64)]


class Document(BaseModel):
    """A part of a document, in which nothing is unknown and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Version(Document):
    """One version of an entry.

    Attributes:
        at: when it was made.
        by: the name of who made it; null if the account is deleted.
        kind: the kind of the entry in this version.
        text: its text in Markdown.
        resolved_at: when the entry was resolved; null if it was open.
        due_on: the day on which a follow-up is due; null if none was set.
    """

    at: Instant
    by: Name | None
    kind: Kind
    text: Text
    resolved_at: Instant | None
    due_on: date | None


class Answer(Document):
    """An answer to an entry.

    Attributes:
        uid: the same in all copies of the answer.
        author: the name of the author; null if the account is deleted.
        created_at: when it was written.
        edited_at: when its text was last changed; null if it never was.
        versions: its history, the oldest version first; the last one is how it reads now.
    """

    uid: UUID
    author: Name | None
    created_at: Instant
    edited_at: Instant | None
    versions: Annotated[tuple[Version, ...], Field(min_length=1)]


class Note(Answer):
    """An entry with its answers.

    Attributes:
        number: the number that people see.
        place: the text of the place; empty for the whole.
        mark: tells whether another event is at the place after the upload was read again.
        sentence: what was at the place when the entry was written.
        at: the time in the system of which it speaks, in the recording's time unit; null if that
            is not known.
        resolved_by: the name of who resolved it; null if it is open or the account is deleted.
        answers: the answers, the oldest first.
    """

    number: Annotated[int, Field(ge=1, le=LARGEST_NUMBER)]
    place: Words
    mark: Mark
    sentence: Words
    at: Annotated[int, Field(ge=-LARGEST, le=LARGEST)] | None
    resolved_by: Name | None
    answers: tuple[Answer, ...]


class Notes(Document):
    """All entries of a recording, by number.

    Attributes:
        entries: the entries.
    """

    entries: Annotated[tuple[Note, ...], Field(max_length=MOST_ENTRIES)]


class Part(Document):
    """A member of the zip beside the manifest.

    Attributes:
        name: its name.
        bytes: how many bytes it has.
        sha256: the SHA-256 of its bytes, in hexadecimal digits.
    """

    name: Literal["notes.json", "upload"]
    bytes: Annotated[int, Field(ge=0)]
    sha256: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class Described(Document):
    """What the manifest says of the recording.

    Attributes:
        name: its name.
        description: its description; empty if it has none.
        source_name: what the uploaded file was called.
        format: the format as which the upload was read; empty if that was not known.
        mapping: the document of the mapping with which it was read; null if there is none.
    """

    name: Title
    description: Text
    source_name: FileName
    format: FormatName
    mapping: dict[str, Any] | None


class Manifest(Document):
    """The first member of a bundle.

    Attributes:
        format: says that this is a bundle.
        version: the version of the format.
        recording: the recording.
        parts: the other members, in their order.
    """

    format: Literal["cutline-recording-with-notes"]
    version: Literal[1]
    recording: Described
    parts: tuple[Part, Part]


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest. Raises: Refused, with the field."""
    manifest = read(Manifest, content, f"{MANIFEST} of this recording with its notes")
    if tuple(part.name for part in manifest.parts) != (NOTES, UPLOAD):
        raise Refused(
            f"{MANIFEST} must list the parts {NOTES} and {UPLOAD}, in this order.",
            code="unknown-format",
            field="parts",
        )
    return manifest


def read_notes(content: bytes) -> Notes:
    """Return the entries. Raises: Refused, with the field; also if two have one uid or number."""
    notes = read(Notes, content, f"{NOTES} of this recording with its notes")
    require_distinct(notes, NOTES)
    return notes


def require_distinct(notes: Notes, name: str) -> None:
    """Refuse notes of which two have one number or uid. Raises: Refused."""
    numbers = [note.number for note in notes.entries]
    uids = [each.uid for note in notes.entries for each in (note, *note.answers)]
    for values, noun in ((numbers, "number"), (uids, "uid")):
        if len(set(values)) < len(values):
            raise Refused(f"In {name}, two entries have the same {noun}.", field=noun)


def written(document: BaseModel) -> bytes:
    """Return a document as bytes, which are the same whenever it is."""
    return document.model_dump_json(indent=1).encode()


def read(kind: type[D], content: bytes, name: str) -> D:
    """Return a document that is called by a name in refusals. Raises: Refused, with the field."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(step) for step in first["loc"])[:200]
        at = f", at {field}" if field else ""
        raise Refused(
            f"{name} cannot be read{at}: {first['msg']}. Was it written by a newer version of "
            "Cutline, or changed by hand?",
            field=field or None,
        ) from None

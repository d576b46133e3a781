"""Open a recording, take its events while its system runs, and close it.

What an answer acknowledges is in the journal, on the disk. A row is written when a recording is
opened or closed, and its size when it has grown much. Raises: problems.Problem for a wrong request.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from snapshots import allowances
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import InputRefused, refuse
from snapshots.files import identity, journals, uploads
from snapshots.files import kept as kept_uploads
from snapshots.growing.errors import (
    Contradiction,
    JournalClosed,
    JournalDamaged,
    JournalFull,
)
from snapshots.growing.journal import Journal, Received, Taken
from snapshots.limits import recording_limits
from snapshots.models import Job, Recording
from snapshots.payloads.opened import MOST_GAPS
from snapshots.problems import Conflict, NotFound, Refused, TooLarge, Unavailable
from snapshots.readers.logs.headers import header_text, parse_header
from snapshots.readers.logs.native import NativeReader
from snapshots.services.jobs import create_job
from snapshots.services.recordings import kept, printable
from snapshots.store.errors import OnAnotherMachine
from snapshots.store.objects.paths import is_here
from webapp.accounts import audit

_SIZE_EVERY = 2**16  # bytes by which a recording grows before its row is written
_ROOM_SECONDS = 1.0  # for which it is remembered how much more an owner may store


@dataclass(slots=True)
class _Room:
    """How many bytes more the owner of a recording may store, as this process knows it.

    To ask the database for every body would take longer than to read it.
    """

    left: int
    limit: int  # of the server, when it was asked
    until: float


_rooms: WeakKeyDictionary[Journal, _Room] = WeakKeyDictionary()


def open_recording(
    owner, by, header: dict[str, Any], before_commit: Callable[[Recording], None]
) -> Recording:
    """Make an open recording with this header.

    Args:
        owner: the account of a person or of a team.
        by: the person who opens it.
        header: the header of the native format.
        before_commit: called in the transaction; what it raises undoes everything.

    Raises: Refused, TooMany, TooLarge.
    """
    parsed = _parsed(header)
    with uploads.Draft(grows=True) as draft:
        journals.begin(draft, parsed)
        with kept([draft]), transaction.atomic():
            allowances.require_room_for(owner, draft.size)
            recording = _row(owner, draft, parsed)
            audit.note(audit.UPLOADED, by, recording.title, person=owner if owner != by else None)
            transaction.on_commit(identity.beat, robust=True)
            before_commit(recording)
    return recording


def _row(owner, draft: uploads.Draft, header: Header) -> Recording:
    name = printable(header.name)
    return Recording.objects.create(
        owner=owner,
        name=name,
        source_name=f"{name[:200]}.jsonl",
        status=Recording.Status.OPEN,
        format=NativeReader.name,
        time_unit=header.time_unit,
        process_count=len(header.topology.processes),
        channel_count=len(header.topology.channels),
        size=draft.size,
        journal=draft.name,
        parameters={"recognised": "It was an open recording, to which its processes sent events."},
    )


def _parsed(header: dict[str, Any]) -> Header:
    limits = recording_limits()
    try:
        parsed = parse_header(header, 1, limits)
        if len(header_text(parsed)) > limits.line_bytes:
            sentence = f"The header takes more than {limits.line_bytes:,} bytes as it is stored."
            raise refuse("line-too-long", sentence, line=1, field="header")
    except InputRefused as refused:
        raise Refused.of(refused, "") from None
    return parsed


def take_events(recording: Recording, body: bytes) -> tuple[Taken, Received]:
    """Add the events of a body that are not there yet; they are on the disk on return.

    Raises: Refused with line and field, Conflict, TooLarge, TooMany, NotFound, Unavailable. Then
        nothing is added.
    """
    if not recording.is_open:
        raise _not_open(recording)
    with explained(recording):
        journal = journals.journal_of(recording)
        _require_room(recording, journal, len(body))
        taken = _taken(journal, body)
    received = journal.received(MOST_GAPS)
    _note_size(recording, received.size)
    return taken, received


def _require_room(recording: Recording, journal: Journal, size: int) -> None:
    """Refuse a body that the owner may not store. Raises: TooMany."""
    room, now = _rooms.get(journal), time.monotonic()
    if (
        room is None
        or now > room.until
        or room.limit != settings.MAX_STORED_BYTES
        or (size > room.left)
    ):
        left = allowances.require_room_for(recording.owner, size)
        room = _rooms[journal] = _Room(left, settings.MAX_STORED_BYTES, now + _ROOM_SECONDS)
    room.left -= size


def _taken(journal: Journal, body: bytes) -> Taken:
    limits = recording_limits()
    try:
        return journal.take(body, journals.most_bytes(), limits.line_bytes)
    except InputRefused as refused:
        if refused.defects[0].code == "line-too-long":  # of which the recorder sends less
            sentence, line = str(refused.defects[0]), refused.defects[0].line
            raise TooLarge(sentence, line=line, limit=limits.line_bytes) from None
        raise Refused.of(refused, "") from None
    except Contradiction as contradiction:
        raise _contradicts(contradiction) from None
    except JournalFull as full:  # no 413, for smaller bodies would not help
        raise Conflict(str(full), limit=journals.most_bytes()) from None


@contextmanager
def explained(recording: Recording) -> Iterator[None]:
    """Explain why a journal cannot be read. Raises: Conflict, NotFound, Unavailable."""
    try:
        yield
    except JournalDamaged as damaged:
        journals.forget(recording.journal)
        raise Unavailable(f"{damaged} The operator of this server has to look at it.") from None
    except (JournalClosed, FileNotFoundError):
        journals.forget(recording.journal)
        raise _not_open(recording) from None


def _not_open(recording: Recording) -> Conflict | NotFound:
    """Return why there is no journal that takes events, as the row says it now.

    Raises: OnAnotherMachine.
    """
    now = Recording.objects.filter(pk=recording.pk).first()
    if now is None:
        return NotFound(f"Recording {recording.pk} has been deleted.")
    if now.is_open:
        if not is_here(kept_uploads.root()):
            raise OnAnotherMachine
        return NotFound(f"The journal of recording {now.pk} is gone. Was its file removed?")
    if now.was_open:
        return Conflict("The recording is not open: it was closed, and takes no more events.")
    return Conflict("The recording is not open: it takes no more events.")


def _contradicts(contradiction: Contradiction) -> Conflict:
    return Conflict(
        str(contradiction),
        line=contradiction.line,
        field="index",
        process=contradiction.process,
        index=contradiction.index,
        there=contradiction.there,
        given=contradiction.given,
    )


def _note_size(recording: Recording, size: int) -> None:
    """Write the size of the journal into the row, if it has grown much."""
    if size - recording.size >= _SIZE_EVERY:
        rows = Recording.objects.filter(pk=recording.pk, status=Recording.Status.OPEN)
        rows.update(size=size)


def close(recording: Recording, by) -> Job:
    """Take no more events, and queue the reading of all.

    Raises: Conflict, NotFound, TooMany, Unavailable, StoreUnreachable.
    """
    if recording.is_open and not uploads.path_of(recording.journal).exists():
        raise _not_open(recording)
    fields = {"status": Recording.Status.QUEUED, "closed_at": timezone.now()}
    with transaction.atomic():
        rows = Recording.objects.filter(pk=recording.pk, status=Recording.Status.OPEN)
        if not rows.update(**fields, size=journals.size_of(recording)):
            raise Conflict("The recording is not open, so it cannot be closed.")
        recording.refresh_from_db()
        job = create_job(Job.Kind.INGEST, recording.owner, by=by, recording=recording)
        with explained(recording):
            journals.hand_on(recording)
        transaction.on_commit(lambda: _end(recording), robust=True)
        return job


def _end(recording: Recording) -> None:
    """End the journal, so that its readers know at once; if this fails, the queued job ends it."""
    with suppress(JournalDamaged, OSError):
        journals.journal_of(recording).end()


def received(recording: Recording) -> Received:
    """Return what has come, from whatever process.

    A recording that was closed also has it until its log is written.
    Raises: Conflict, NotFound, Unavailable.
    """
    if not recording.journal:
        raise _not_open(recording)
    with explained(recording):
        journal = journals.journal_of(recording)
        journal.read_on()
    return journal.received(MOST_GAPS)

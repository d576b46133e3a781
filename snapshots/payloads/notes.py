"""Return the notes of a recording, which say what is missing or assumed in it."""

from django.conf import settings

from snapshots.models import Recording
from snapshots.store.errors import StoreError
from snapshots.store.locations import Store
from snapshots.store.reader import open_cached

MOST_NOTES = 50
LONGEST = 1000  # characters


def notes_of(row: Recording) -> list[str]:
    """Return the sentences under ``notes`` in the header of a ready recording.

    The header may come from the log, so number and length of the notes are limited.
    """
    if not row.is_ready:
        return []
    try:
        folder = Store.at(settings.STORE_URL).folder(row.store)
        notes = open_cached(folder).manifest.header_extra.get("notes")
    except StoreError:
        return []  # a page or call that needs the store reports what is wrong with it
    if not isinstance(notes, list):
        return []
    texts = [_shortened(note) for note in notes if isinstance(note, str) and note.strip()]
    more = len(texts) - MOST_NOTES
    return texts[:MOST_NOTES] + ([f"{more:,} more notes in the header of the log."] * (more > 0))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

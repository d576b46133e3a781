"""What a recording says of itself: what it was recognised by, and what its log cannot tell."""

from django.conf import settings

from snapshots.models import Recording
from snapshots.store.errors import StoreError
from snapshots.store.locations import Store
from snapshots.store.reader import open_cached

MOST_NOTES = 50
LONGEST = 1000  # characters


def notes_of(row: Recording) -> list[str]:
    """The sentences under ``notes`` in a ready recording's header, which its log may have made."""
    if not row.is_ready:
        return []
    try:
        folder = Store.at(settings.STORE_URL).folder(row.store)
        told = open_cached(folder).manifest.header_extra.get("notes")
    except StoreError:
        return []  # whoever needs the store says what is wrong with it
    if not isinstance(told, list):
        return []
    texts = [_shown(item) for item in told if isinstance(item, str) and item.strip()]
    more = len(texts) - MOST_NOTES
    return texts[:MOST_NOTES] + ([f"{more:,} more notes in the header of the log."] * (more > 0))


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"

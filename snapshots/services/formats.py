"""List the formats among which a person may choose instead of leaving it to recognition."""

from snapshots import access
from snapshots.readers import recognition
from snapshots.readers.engines import registry

MOST_MAPPINGS = 100  # the last changed ones; a mapping's own page reads a log with it too


def choices(user) -> list[tuple[str, str]]:
    """Return (format, title) of each reader, and of the person's mappings."""
    readers = (*recognition.READERS.values(), *registry.READERS.values())
    mapped = [(row.format, f"mapping “{row.name}”") for row in _mappings(user)]
    return logs + engines + mapped


def _mappings(user):
    return access.mappings(user)[:MOST_MAPPINGS]

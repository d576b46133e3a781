"""List the formats from which a person may choose instead of recognising the content."""

from snapshots import access
from snapshots.readers import recognition
from snapshots.readers.engines import registry

MOST_MAPPINGS = 100  # those changed last; the page of a mapping reads a log with any other


def choices(user) -> list[tuple[str, str]]:
    """Return (format, title) of each reader and of the person's mappings."""
    logs = [(reader.name, reader.title) for reader in recognition.READERS.values()]
    engines = [(reader.name, reader.title) for reader in registry.READERS.values()]
    rows = access.mappings(user)[:MOST_MAPPINGS]
    return logs + engines + [(row.format, f"mapping “{row.name}”") for row in rows]

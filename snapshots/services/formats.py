"""The formats between which a person may choose, where the content is not to decide."""

from snapshots import access
from snapshots.readers import recognition
from snapshots.readers.engines import registry

MOST_MAPPINGS = 100  # the last changed; a mapping's own page reads a log with it, too


def choices(user) -> list[tuple[str, str]]:
    """(format, title) of each reader, and of the person's mappings."""
    logs = [(reader.name, reader.title) for reader in recognition.READERS.values()]
    engines = [(reader.name, reader.title) for reader in registry.READERS.values()]
    mapped = [(row.format, f"mapping “{row.name}”") for row in _mappings(user)]
    return logs + engines + mapped


def _mappings(user):
    return access.mappings(user)[:MOST_MAPPINGS]

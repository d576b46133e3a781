"""Gather all supplies; a part that does not answer makes its supplies unknown, with the reason."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from django.db import DatabaseError

from webapp.operating.noted import Noted
from webapp.operating.supplies import allowed, connecting, machines, working
from webapp.operating.supplies.model import Supply, Thing, first_to_end, not_known


def every(noted: Noted) -> list[Supply]:
    """Return all supplies, the first to end first; those that are not known come last."""
    now = time.time()
    gathered: list[tuple[Thing, Callable[[], Iterable[Supply]]]] = [
        (machines.DISK, partial(machines.disks, noted, now)),
        (machines.FILES, partial(machines.open_files, noted)),
        (machines.BODIES, partial(machines.bodies, noted)),
        (machines.OBJECT_STORE, machines.object_store),
        (connecting.CONNECTIONS, partial(connecting.connections, noted)),
        (connecting.DATABASE_DISK, connecting.database_disk),
        (connecting.REDIS_MEMORY, partial(connecting.redis_memory, noted, now)),
        (allowed.STORED, partial(allowed.stored, noted, now)),
        (allowed.JOBS, partial(allowed.fullest, allowed.JOBS)),
        (allowed.COLLECTORS, partial(allowed.fullest, allowed.COLLECTORS)),
        (working.WORKERS, partial(working.workers, noted)),
    ]
    found = [supply for thing, gather in gathered for supply in _guarded(thing, gather)]
    return sorted(found, key=first_to_end)


def headline(supplies: list[Supply]) -> str:
    """Say in one sentence what runs out first, of supplies as ``every`` returns them."""
    first = supplies[0]
    if first["state"] != "unknown" and (first["state"] != "ok" or first["runs_out_at"]):
        return f"{first['title']}: {first['answer']}."
    unknown = [supply for supply in supplies if supply["state"] == "unknown"]
    for supply in unknown:
        if supply["name"] == machines.DISK.name:
            return f"What runs out first is not known. {supply['title']}: {supply['answer']}."
    if unknown:
        names = ", ".join(supply["title"] for supply in unknown)
        return f"Nothing runs out at the present rate, as far as is known. Not known: {names}."
    return "Nothing runs out at the present rate."


def _guarded(thing: Thing, gather: Callable[[], Iterable[Supply]]) -> Iterator[Supply]:
    try:
        yield from list(gather())
    except DatabaseError:
        yield not_known(thing, "the database does not answer")
    except OSError as error:
        yield not_known(thing, f"the disk cannot be asked ({error.strerror})")

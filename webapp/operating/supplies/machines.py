"""Say what runs out on each machine: disks, open files, places for bodies."""

import socket
from collections.abc import Iterator
from dataclasses import replace

from django.conf import settings

from snapshots.files import kept, recordings
from snapshots.quantities import file_size
from snapshots.store.objects.paths import is_here
from webapp.operating import disk
from webapp.operating.disk import Disk
from webapp.operating.history import SECONDS_BETWEEN, Sample, Series
from webapp.operating.noted import Noted
from webapp.operating.presence import Web
from webapp.operating.rates import words
from webapp.operating.supplies.model import Supply, Thing, growing, not_known, taken

DISK = Thing(
    "disk",
    "Disk",
    "Free space, move the folder to a larger disk, or let old recordings go (RETENTION_DAYS).",
    unit="B",
)
INODES = Thing(
    "inodes",
    "Number of files on the disk",
    "Remove files, or move the folder to a disk that can have more of them.",
)
FILES = Thing(
    "open-files",
    "Open files and connections of a web process",
    "Raise the limit of the web process (LimitNOFILE of its unit, or ulimit -n), or start more of "
    "them.",
)
BODIES = Thing(
    "body-places",
    "Places for large uploads in a web process",
    "Start more web processes, or raise MAX_BODIES_AT_ONCE.",
)
OBJECT_STORE = Thing(
    "object-store",
    "Object store",
    "Watch it with the means of whoever runs it.",
)
LONGEST_SILENCE = 2 * SECONDS_BETWEEN + 60


def disks(noted: Noted, now: float) -> Iterator[Supply]:
    """Yield the disks of this machine as they are now, and of others as they were measured last.

    Raises: OSError.
    """
    here = socket.gethostname()
    others = {host: samples for host, samples in noted.machines.items() if host != here and samples}
    for each in disk.disks():
        yield from _disk(each, here if others else "", noted, noted.machines.get(here, []), now)
    for host, samples in others.items():
        last = samples[-1]
        for told in last["disks"].values():
            if now - last["at"] > LONGEST_SILENCE:
                thing = _named(DISK, Disk(**told), host)
                yield not_known(thing, f"{host} has measured nothing for {words(now - last['at'])}")
            else:
                yield from _disk(Disk(**told), host, noted, samples, last["at"])


def _named(thing: Thing, each: Disk, host: str) -> Thing:
    where = f" on {host}" if host else ""
    of = f"{each.holds}{where}"
    return replace(thing, of=of, title=f"{thing.title} of {of}")


def _disk(
    each: Disk, host: str, noted: Noted, samples: list[Sample], now: float
) -> Iterator[Supply]:
    """Yield the space of a disk and, where it counts them, its files.

    Space ends for Cutline at MIN_FREE_BYTES: below that it refuses uploads.
    """
    limit = max(each.used + each.free - settings.MIN_FREE_BYTES, 0)
    outlook = noted.outlook(_series(each, samples, "used"), now, each.used, limit - each.used)
    basis = (
        f"{file_size(each.free)} of {file_size(each.total)} are free, and uploads leave "
        f"{file_size(settings.MIN_FREE_BYTES)} free (MIN_FREE_BYTES)."
    )
    yield growing(_named(DISK, each, host), each.used, limit, outlook, now, basis)
    if each.files:
        used = each.files - each.files_free
        series = [(at, each.files - free) for at, free in _series(each, samples, "files_free")]
        outlook = noted.outlook(series, now, used, each.files_free)
        basis = INODES.how_full(used, each.files)
        yield growing(_named(INODES, each, host), used, each.files, outlook, now, basis)


def _series(each: Disk, samples: list[Sample], member: str) -> Series:
    """Return what was measured of a disk as long as it had the same place and size."""
    told = [(sample["at"], sample["disks"].get(each.holds)) for sample in samples]
    return [
        (at, past[member])
        for at, past in told
        if past and (past["path"], past["total"]) == (each.path, each.total)
    ]


def open_files(noted: Noted) -> Iterator[Supply]:
    """Yield the web process that came nearest to its limit of open files."""
    if web := _fullest(noted, "files"):
        supply = _of_process(FILES, "files", web, noted)
        yield {**supply, "basis": f"{supply['basis']} {web.websockets:,} are websockets."}
    else:
        yield not_known(FILES, noted.missing or NO_WEB)


def bodies(noted: Noted) -> Iterator[Supply]:
    """Yield the web process that came nearest to MAX_BODIES_AT_ONCE."""
    if web := _fullest(noted, "bodies"):
        yield _of_process(BODIES, "bodies", web, noted)
    else:
        yield not_known(BODIES, noted.missing or NO_WEB)


NO_WEB = "no web process has noted itself in Redis"


def _fullest(noted: Noted, member: str) -> Web | None:
    def share(web: Web) -> float:
        return getattr(web, member).most / getattr(web, member).limit

    return max(noted.webs, key=share, default=None)


def _of_process(thing: Thing, member: str, web: Web, noted: Noted) -> Supply:
    of = f"{web.host} pid {web.pid}"
    supply = taken(replace(thing, of=of), getattr(web, member), web.started_at)
    if len(noted.webs) == 1:
        return supply
    which = f"Of {len(noted.webs)} web processes, pid {web.pid} on {web.host} came nearest."
    return {**supply, "basis": f"{which} {supply['basis']}"}


def object_store() -> Iterator[Supply]:
    """Yield what is not known of an object store, if one is used."""
    if not all(is_here(path) for path in (recordings.store().root, kept.root())):
        yield not_known(OBJECT_STORE, "an object store does not say how much it can take")

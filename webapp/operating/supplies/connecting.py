"""Say what runs out of the services beside Cutline: PostgreSQL and Redis."""

from collections.abc import Iterator

from django.db import connection

from snapshots.quantities import file_size, thousands
from webapp.operating import connections as postgres
from webapp.operating.noted import Noted
from webapp.operating.supplies.model import NEAR, State, Supply, Thing, growing, not_known, said

CONNECTIONS = Thing(
    "connections",
    "Connections to PostgreSQL",
    "Raise max_connections of PostgreSQL, or run fewer processes.",
)
DATABASE_DISK = Thing(
    "database-disk",
    "Disk of PostgreSQL",
    "Watch the disk of its machine.",
    unit="B",
)
REDIS_MEMORY = Thing(
    "redis-memory",
    "Memory of Redis",
    "Raise maxmemory of Redis, or give its machine more memory.",
    unit="B",
)


def connections(noted: Noted) -> Iterator[Supply]:
    """Yield the connections that are open, and that the processes may open; none for SQLite.

    Raises: DatabaseError.
    """
    if connection.vendor != "postgresql":
        return
    used, limit, needed = postgres.used(), postgres.limit(), postgres.needed(noted)
    state: State = "ok"
    answer = f"{needed.words} may open {needed.most} of {limit.number} at once"
    if used >= limit.number:
        state, answer = "out", f"all {limit.number} are open"
    elif needed.most > limit.number or used >= NEAR * limit.number:
        state = "near"
        answer = f"{needed.words} may open {needed.most} at once, and there are {limit.number}"
    basis = (
        f"{thousands(used)} are open now, also those of others. Of PostgreSQL {limit.words}. A web "
        f"process counts as {postgres.OF_A_WEB_PROCESS}: it opens one for each request that is "
        "answered at the same time."
    )
    yield said(CONNECTIONS, state, answer, basis, used=used, limit=limit.number)


def database_disk() -> Iterator[Supply]:
    """Yield the size of the database; SQLite lies in DATA_DIR. Raises: DatabaseError."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        size = cursor.fetchone()[0]
    yield not_known(
        DATABASE_DISK,
        "PostgreSQL does not say how much room its disk has",
        f"The database takes {file_size(size)}.",
        used=size,
    )


def redis_memory(noted: Noted, now: float) -> Iterator[Supply]:
    """Yield the memory of Redis beside maxmemory, or else beside that of its machine."""
    if noted.missing:
        yield not_known(REDIS_MEMORY, noted.missing)
        return
    used, own = noted.memory["used_memory"], noted.memory.get("maxmemory", 0)
    limit = own or noted.memory.get("total_system_memory", 0)
    if not limit:
        yield not_known(REDIS_MEMORY, "Redis says neither maxmemory nor its machine's memory")
        return
    series = [(sample["at"], sample["redis"]) for sample in noted.shared]
    basis = REDIS_MEMORY.how_full(used, limit)
    if not own:
        basis += " Redis has no maxmemory, so this is all memory of its machine."
    outlook = noted.outlook(series, now, used, limit - used)
    yield growing(REDIS_MEMORY, used, limit, outlook, now, basis)

"""Count the connections that PostgreSQL takes, and those that Cutline's processes may open."""

from typing import NamedTuple

from django.conf import settings
from django.db import connection

from snapshots.quantities import counted
from webapp.operating.noted import Noted

OF_A_JOB = 2  # the job's own, and that of its heartbeat
OF_THE_LOOKS = 3  # the sweep, and the looks for collectors and for notices that are due
OF_A_WEB_PROCESS = 20  # one for each request that is answered at the same time; there is no limit
_LIMITS = """
SELECT current_setting('max_connections')::int,
       current_setting('superuser_reserved_connections')::int
           + coalesce(current_setting('reserved_connections', true), '0')::int,
       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user),
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database())
"""
_USED = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"


class Limit(NamedTuple):
    """How many connections Cutline can have, what says so, and how that is raised."""

    number: int
    words: str
    change: str


class Needed(NamedTuple):
    """How many connections the processes may open at once, and which processes these are."""

    most: int
    words: str


def limit() -> Limit:
    """Ask PostgreSQL: of the server, the role and the database the lowest counts.

    Raises: DatabaseError.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LIMITS)
        most, reserved, of_role, of_database = cursor.fetchone()
    words = f"max_connections is {most}, and {reserved} of them are reserved"
    limits = [Limit(most - reserved, words, "Raise max_connections in postgresql.conf")]
    for number, what in ((of_role, "role"), (of_database, "database")):
        if number >= 0:  # -1 is no limit
            change = f"Raise it with ALTER {what.upper()} … CONNECTION LIMIT"
            limits.append(Limit(number, f"the limit of the {what}", change))
    return min(limits)


def used() -> int:
    """Return how many connections the server has now, of everybody. Raises: DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(_USED)
        return cursor.fetchone()[0]


def needed(noted: Noted) -> Needed:
    """Count for the living processes, and for one of each kind where none is known to live."""
    concurrencies = [worker.concurrency for worker in noted.workers]
    concurrencies, webs = concurrencies or [settings.WORKER_CONCURRENCY], max(len(noted.webs), 1)
    most = sum(map(of_a_worker, concurrencies)) + webs * OF_A_WEB_PROCESS
    workers = counted(len(concurrencies), "worker")
    return Needed(most, f"{workers} and {counted(webs, 'web process', 'web processes')}")


def of_a_worker(concurrency: int) -> int:
    """Return how many connections a worker may open that runs ``concurrency`` jobs at once."""
    from tasks.queue import collectors, notices

    beside = OF_THE_LOOKS + collectors.AT_ONCE + notices.AT_ONCE
    return beside + OF_A_JOB * concurrency

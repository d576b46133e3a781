"""Run `make run`: check that everything is there, then start what the Procfile lists.

Any problem ends it with one sentence and exit code 1.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import django
import redis
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connections

from webapp import embedded_redis, machine
from webapp.operating import folder_lock, processes
from webapp.supervisor import STOP_SIGNALS

OF_OUR_REDIS = {"REDIS_SERVER", "REDIS_CONFIG"}
PROCFILE = Path(__file__).resolve().parent.parent / "Procfile"


class CannotStart(Exception):
    """Cutline cannot start; the message says why."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    if processes.command_of(os.getppid()) == "make":  # it may end without a word to its children
        processes.die_with_parent()
    try:
        from django.conf import settings

        lock = lock_folder(settings.DATA_DIR, port=settings.PORT, url=settings.PUBLIC_URL)
        check_port(settings.HOST, settings.PORT)
        environment = prepare(settings)
        migrate()
        warn()
    except (ImproperlyConfigured, machine.Missing, CannotStart) as problem:
        sys.exit(str(problem))
    become_supervisor(environment, lock)


def check_port(host: str, port: int) -> None:
    if not embedded_redis.port_is_free(host, port):
        holders = "; ".join(map(str, processes.holders_of_port(port)))
        raise CannotStart(
            f"Port {port} on {host} is taken ({holders or 'by a process of another user'}): "
            f"choose another with make run PORT={port + 1}."
        )


def lock_folder(folder: Path, **facts) -> TextIO:
    """Return the open file whose lock shows that this folder's data are in use."""
    try:
        return folder_lock.lock(folder, **facts)
    except folder_lock.FolderInUse as sentence:
        raise CannotStart(str(sentence)) from None


def prepare(settings) -> dict[str, str]:
    """Return the environment of the Procfile's commands."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONUNBUFFERED": "1",
        "HOST": settings.HOST,
        "PORT": str(settings.PORT),
        folder_lock.VARIABLE: str(settings.DATA_DIR),
    }
    if not settings.SPARK_REMOTE:
        environment["JAVA_HOME"] = str(machine.ensure_java())
    if os.environ.get("REDIS_URL"):
        check_redis(settings.REDIS_URL)
    else:
        ours = embedded_redis.prepare(settings.DATA_DIR / "redis")
        environment |= {
            "REDIS_URL": ours.url,
            "REDIS_SERVER": str(ours.server),
            "REDIS_CONFIG": str(ours.config),
        }
    return environment


def check_redis(url: str) -> None:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise CannotStart(f"Redis does not answer at REDIS_URL: {error}") from None


def migrate() -> None:
    """Change the tables as this version needs them, unless they belong to another installation."""
    django.setup()
    from snapshots.files import starting

    try:
        starting.require_before_migrating()
        call_command("migrate", verbosity=0)
        starting.require_all(patience=0)
    except DatabaseError as error:
        raise CannotStart(
            f"The database cannot be opened or changed: {str(error).strip()}"
        ) from None
    except starting.CannotStart as problem:
        raise CannotStart(str(problem)) from None
    connections.close_all()


def warn() -> None:
    """Say what the settings make dangerous, if others can reach this server."""
    from webapp.operating import dangers

    for danger in dangers.at_start():
        sys.stderr.write(f"Warning: {danger.msg} {danger.hint} ({danger.id})\n")
    sys.stderr.flush()


def become_supervisor(environment: dict[str, str], lock: TextIO) -> None:
    """Replace this process by one that only supervises, since all that it loaded takes memory.

    It is the same process to others, and keeps ``lock`` open. A Ctrl-C waits until it is there.
    """
    sys.stdout.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    command = [sys.executable, "-m", "webapp.supervising", str(PROCFILE), str(lock.fileno())]
    os.execve(sys.executable, command, {**without_our_redis(), **environment})


def without_our_redis() -> dict[str, str]:
    """Return this process's environment without variables that would start a Redis of our own."""
    return {name: value for name, value in os.environ.items() if name not in OF_OUR_REDIS}


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C before anything runs
        main()

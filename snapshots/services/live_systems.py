"""Systems that are connected with their open recordings: how they are, and what people ask for.

The command that runs a system tells how it is a few times a second, and takes with the answer what
people asked for. Both are in Redis and expire: what counts is in the recording's journal. Nobody
but that command acts on processes: a person names a process of the system, never a number of the
operating system.
"""

import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from redis import RedisError

from snapshots.files import journals
from snapshots.growing.journal import Journal
from snapshots.jobs import live
from snapshots.models import Recording
from snapshots.payloads.dates import date
from snapshots.payloads.live_systems import (
    LiveProcess,
    LiveSnapshot,
    LiveSystem,
    LiveSystems,
    ToldSystem,
    UnreadableSystem,
)
from snapshots.problems import Conflict, Invalid, NotFound, Unavailable
from snapshots.services.live_judging import Judged, verdicts_of
from snapshots.services.opened import explained
from snapshots.store.errors import StoreDamaged, StoreMissing
from webapp.operating.redis_reading import client

LOST_SECONDS = 10  # after which a command that says nothing counts as gone
_ORDERS_SECONDS = 30
_MOST_ORDERS = 20
MOST_SHOWN = 20  # systems on one page
MOST_PROCESSES = 200  # of one system
_ACTIONS_ON_ONE = ("snapshot", "kill")
_NOT_JUDGED = "Not judged yet: the server has not read all of its events."


def tell(recording: Recording, told: dict[str, Any]) -> list[dict[str, Any]]:
    """Note how a system is, show it on open pages, and return what people asked for.

    Raises: Conflict if the recording is not open, Invalid if a process is not in its header,
        NotFound, Unavailable without Redis or if the journal is damaged.
    """
    if not recording.is_open:
        raise Conflict("The recording is not open: its system cannot be shown any more.")
    with explained(recording):
        _check_names(journals.journal_of(recording), told)
    key = _key(recording)
    try:
        with client() as redis:
            pipe = redis.pipeline()
            pipe.set(key, json.dumps({**told, "told_at": time.time()}), ex=LOST_SECONDS)
            pipe.lrange(f"{key}:orders", 0, -1)
            pipe.delete(f"{key}:orders")
            _, orders, _ = pipe.execute()
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}.") from None
    live.system_told(recording, system_of(recording))
    return [json.loads(order) for order in orders]


def _check_names(journal: Journal, told: dict[str, Any]) -> None:
    """Raises: Invalid if a process is told of twice, or is none of the header."""
    known = {process.id for process in journal.header.topology.processes}
    said: set[str] = set()
    for number, process in enumerate(told["processes"]):
        name, field = process["name"], f"processes.{number}.name"
        if name not in known:
            raise Invalid(f"The header of the recording has no process “{name}”.", field=field)
        if name in said:
            raise Invalid(f"The process “{name}” is told of twice.", field=field)
        said.add(name)
    for number, snapshot in enumerate(told["snapshots"]):
        name, field = snapshot["initiator"], f"snapshots.{number}.initiator"
        if name is not None and name not in known:
            raise Invalid(f"The header of the recording has no process “{name}”.", field=field)


def order(recording: Recording, action: str, process: str | None) -> None:
    """Ask the command of a system for something; it takes that when it tells next.

    Raises: Conflict if no command is connected, or it has no such process; Unavailable.
    """
    told = _told_or_raised(recording)
    if told is None:
        raise Conflict(
            "No command is connected that could do this. Does manage.py banks still run?"
        )
    if action in _ACTIONS_ON_ONE and process not in [each["name"] for each in told["processes"]]:
        raise Conflict(f"The system has no process {process}.", field="process")
    key = f"{_key(recording)}:orders"
    try:
        with client() as redis:
            if redis.llen(key) >= _MOST_ORDERS:
                raise Conflict("The command has not taken earlier requests yet. Try again.")
            redis.rpush(key, json.dumps({"action": action, "process": process}))
            redis.expire(key, _ORDERS_SECONDS)
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}.") from None


def systems_of(recordings: QuerySet[Recording]) -> LiveSystems:
    """Return the open ones among these recordings, newest first, at most MOST_SHOWN."""
    rows = recordings.filter(status=Recording.Status.OPEN)
    items: list[LiveSystem] = []
    unreadable: list[UnreadableSystem] = []
    for row in rows[:MOST_SHOWN]:
        try:
            items.append(system_of(row))
        except (Unavailable, StoreDamaged) as damage:
            unreadable.append({"recording": row.pk, "name": row.name, "problem": str(damage)})
        except (Conflict, NotFound, StoreMissing):
            continue  # it was closed or deleted a moment ago
    return {"items": items, "unreadable": unreadable, "total": rows.count()}


def system_of(recording: Recording) -> LiveSystem:
    """Return an open recording as its page and its websocket show it.

    Raises: Conflict, NotFound or StoreMissing if it is not open any more, Unavailable or
        StoreDamaged if its journal is damaged.
    """
    with explained(recording):
        return _system_of(recording)


def _system_of(recording: Recording) -> LiveSystem:
    journal = journals.journal_of(recording)
    journal.read_on()
    told = _told(recording)
    snapshots = told["snapshots"] if told else []
    verdicts = verdicts_of(recording, [each["name"] for each in snapshots])
    processes = _processes(journal, told)
    known = [each["balance"] for each in processes if each["balance"] is not None]
    return {
        "recording": recording.pk,
        "name": recording.name,
        "events": journal.events,
        "missing": journal.missing,
        "gaps": journal.gap_count,
        "heard_at": date(datetime.fromtimestamp(journal.heard_at / 1e9, UTC)),
        "is_connected": told is not None,
        "epoch": told["epoch"] if told else None,
        "total": told["total"] if told else None,
        "sum": sum(known) if len(known) == len(journal.runs) else None,
        "process_count": len(journal.runs),
        "processes": processes,
        "snapshots": [
            _snapshot(each, verdicts, told["total"] if told else None) for each in snapshots
        ],
        "notes": told["notes"] if told else [],
    }


def _processes(journal: Journal, told: ToldSystem | None) -> list[LiveProcess]:
    """Return the first MOST_PROCESSES of the header."""
    said = {each["name"]: each for each in told["processes"]} if told else {}
    first = journal.header.topology.processes[:MOST_PROCESSES]
    return [
        {
            "name": process.id,
            "events": runs.events,
            "state": said[process.id]["state"] if process.id in said else "not known",
            "since": said[process.id]["since"] if process.id in said else None,
            "balance": said[process.id]["balance"] if process.id in said else None,
        }
        for process, runs in zip(first, journal.runs, strict=False)
    ]


def _snapshot(told: dict[str, Any], verdicts: dict[str, Judged], total: int | None) -> LiveSnapshot:
    waiting = told["channels"]
    judged = verdicts.get(told["name"])
    return {
        "name": told["name"],
        "initiator": told["initiator"],
        "states": told["states"],
        "channels": waiting,
        "sum": None if waiting is None else told["states"] + waiting,
        "at": told["at"],
        "verdict": judged["verdict"] if judged else None,
        "sentence": judged["sentence"] if judged else _NOT_JUDGED,
        "problem": _problem(told["states"], waiting, total),
    }


def _problem(states: int, waiting: int | None, total: int | None) -> str | None:
    """Say that a snapshot holds another sum than the system had; None if nothing shows that."""
    held = states + (waiting or 0)
    if total is None or held == total:
        return None
    gap = f"{abs(total - held):,} too {'few' if held < total else 'many'}"
    text = f"The sum does not hold: {held:,} of {total:,}, {gap}."
    if waiting is not None:
        return text
    return f"{text} What was in the channels was not recorded."


def _told(recording: Recording) -> Any:
    """Return what the command told last; None if it is gone, or Redis is."""
    with suppress(Unavailable):
        return _told_or_raised(recording)
    return None


def _told_or_raised(recording: Recording) -> Any:
    try:
        with client() as redis:
            text: Any = redis.get(_key(recording))
    except RedisError as error:
        raise Unavailable(f"Redis does not answer: {error}.") from None
    return None if text is None else json.loads(text)


def _key(recording: Recording) -> str:
    return f"cutline:system:{recording.pk}"

"""Judge snapshots of an open recording from what has come so far, as a closed one is judged.

Only events before the first gap of a process are taken. What comes later may still change a
verdict, so it is final only some seconds after the snapshot was first heard of.
"""

import json
import time
from contextlib import suppress
from typing import Any

from redis import RedisError

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.findings import INCOMPLETE, UNKNOWN
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.growing.journal import Journal
from snapshots.models import Recording
from snapshots.readers.logs.columns import logged_events
from snapshots.readers.logs.native import parse_lines
from webapp.operating.redis_reading import client

MOST_EVENTS = 20_000  # read at once; judging these takes about a second
_KEPT_SECONDS = 3600
_LATE_SECONDS = 3.0
_PAUSE_MS = 1000
_MAY_CHANGE = frozenset({INCOMPLETE, UNKNOWN})  # when further events come
_TOO_MANY = (
    f"Not known yet: more than {MOST_EVENTS:,} events have come. It is judged when the recording "
    "is closed."
)

Judged = dict[str, Any]


def verdicts_of(recording: Recording, journal: Journal, names: list[str]) -> dict[str, Judged]:
    """Return verdict and sentence of each of these snapshots that is judged, by name."""
    kept = _kept(recording)
    if all(kept.get(name, {}).get("final") for name in names):
        return kept
    if journal.events > MOST_EVENTS:
        return {name: {"sentence": _TOO_MANY} for name in names} | kept
    if not _is_my_turn(recording):
        return kept
    now = time.time()
    found = {name: each for name, each in _judged(journal).items() if name in names}
    for name, each in found.items():
        before = kept.get(name, {})
        each["seen"] = before.get("seen", now)
        each["final"] = each["verdict"] not in _MAY_CHANGE and now - each["seen"] > _LATE_SECONDS
    kept |= {name: each for name, each in found.items() if not kept.get(name, {}).get("final")}
    _keep(recording, kept)
    return kept


def _is_my_turn(recording: Recording) -> bool:
    """Tell whether it is judged now: once a second, whoever asks."""
    with suppress(RedisError), client() as redis:
        return bool(redis.set(f"{_key(recording)}:turn", 1, nx=True, px=_PAUSE_MS))
    return False


def _judged(journal: Journal) -> dict[str, Judged]:
    text = b"".join(
        journal.read(stretch.begin, stretch.size)
        for runs in journal.runs
        for stretch in runs.stretches()
        if stretch.first < runs.unbroken
    )
    header: Any = journal.header
    batch, _ = parse_lines(text, 2, header)
    try:
        recording = assemble(header, logged_events([batch], header)).recording
    except InputRefused:
        return {}  # a part that comes later may give it a meaning
    return {
        report.snapshot: {"verdict": report.verdict, "sentence": report.findings[0].sentence}
        for report in judge(recording)
    }


def _kept(recording: Recording) -> dict[str, Judged]:
    with suppress(RedisError), client() as redis:
        rows: Any = redis.hgetall(_key(recording))
        return {name: json.loads(text) for name, text in rows.items()}
    return {}


def _keep(recording: Recording, judged: dict[str, Judged]) -> None:
    rows = {name: json.dumps(each) for name, each in judged.items()}
    with suppress(RedisError), client() as redis:
        if rows:
            redis.hset(_key(recording), mapping=rows)
        redis.expire(_key(recording), _KEPT_SECONDS)


def _key(recording: Recording) -> str:
    return f"cutline:system:{recording.pk}:verdicts"

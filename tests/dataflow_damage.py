"""Logs of dataflows with gaps: fields left out, or of other types."""

import json
from dataclasses import replace
from random import Random

from snapshots.domain.dataflow_logs.events import CHECKPOINT_KINDS, RUN_KINDS
from snapshots.domain.dataflow_logs.kinds import READ, RESTART, WRITE
from snapshots.domain.model.recording import RECEIVE, RESTORE, LoggedEvent
from snapshots.domain.simulators.script import Log

_OTHER = (None, True, -7, 2.5, "?", [], [None, 3, {}], {}, {"file": "f"}, [{"file": "f"}])
_KINDS = frozenset((*CHECKPOINT_KINDS, *RUN_KINDS, READ, WRITE))


def garbled(log: Log, rng: Random, share: float = 0.1) -> Log:
    """Return the log with a share of the protocol's events changed, and some left out."""
    events = []
    for event in log.events:
        if event.kind not in _KINDS or rng.random() > share:
            events.append(event)
        elif rng.random() < 0.8 and event.kind not in (READ, WRITE):
            events.append(_other_fields(event, rng))
    indexed = tuple(replace(event, index=None) for event in events)
    return log._replace(events=indexed)


def _other_fields(event: LoggedEvent, rng: Random) -> LoggedEvent:
    fields = json.loads(event.extra or "{}")
    for name in list(fields):
        if rng.random() < 0.5:
            fields[name] = rng.choice(_OTHER)
    text = json.dumps(fields, sort_keys=True, separators=(",", ":")) if fields else None
    return replace(event, extra=text)


def forgetting(log: Log, process: str, rng: Random) -> Log:
    """Return the log without half of the records that a task received since its last restart."""
    own = [e for e in log.events if e.process == process and e.kind in (RESTART, RESTORE)]
    last = own[-1].line
    events = tuple(
        replace(event, index=None)
        for event in log.events
        if event.process != process
        or event.kind != RECEIVE
        or event.line < last
        or event.label is not None
        or rng.random() < 0.5
    )
    return log._replace(events=events)

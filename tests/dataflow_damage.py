"""Logs of dataflows as someone else might write them: fields left out, or of other types."""

import json
from dataclasses import replace
from random import Random

from snapshots.domain.dataflow_kinds import READ, WRITE
from snapshots.domain.protocol_events import CHECKPOINT_KINDS, RUN_KINDS
from snapshots.domain.recording import LoggedEvent
from snapshots.domain.script import Log

_OTHER = (None, True, -7, 2.5, "?", [], [None, 3, {}], {}, {"file": "f"}, [{"file": "f"}])
_KINDS = frozenset((*CHECKPOINT_KINDS, *RUN_KINDS, READ, WRITE))


def garbled(log: Log, rng: Random, share: float = 0.1) -> Log:
    """A part of the protocol's events changed, and some left out."""
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

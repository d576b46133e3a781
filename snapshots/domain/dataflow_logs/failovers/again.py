"""Finds what came again to tasks that went on while those before them restarted.

Such a task keeps its state, and the tasks before it send again what they had sent since the
checkpoint. What it skips by its id does no harm; what it takes once more is in its state twice.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from snapshots.domain.dataflow_logs.events import DISCARDED, SKIPPED, fields_of
from snapshots.domain.dataflow_logs.failovers.facts import Question
from snapshots.domain.dataflow_logs.failovers.rids import rid_of, text_of
from snapshots.domain.dataflow_logs.kinds import RESTART
from snapshots.domain.model.recording import RECEIVE, RECORD_STATE, RESTORE, Event
from snapshots.domain.model.topology import JsonText

SKIPPED_DIFFERING, TAKEN_TWICE = "skipped_differing", "taken_twice"


class Again(NamedTuple):
    """A record that came again: the event, and SKIPPED, SKIPPED_DIFFERING or TAKEN_TWICE."""

    what: str
    event: Event
    rid: str | None


def came_again(question: Question, events: Iterable[Event]) -> Iterator[Again]:
    """Yield what came again; a skipped record with another value is yielded twice.

    Args:
        question: about the vertex whose tasks went on.
        events: those of the vertex, in order.
    """
    if not question.goes_on:
        return
    states = {process: _State() for process in question.processes}
    for event in events:
        state = states[event.process]
        if event.kind == RECORD_STATE:
            state.kept[event.snapshot] = len(state.taken)
        elif event.kind in (RESTORE, RESTART):
            kept = islice(state.taken.items(), state.kept.get(event.snapshot, 0))
            state.taken = dict(kept)
        elif event.kind == RECEIVE and event.label != DISCARDED:
            yield from _received(state.taken, event)


class _State:
    """What a task has taken: each record's id with its value, and how many at each checkpoint."""

    def __init__(self) -> None:
        self.taken: dict[str, JsonText | None] = {}
        self.kept: dict[str | None, int] = {}


def _received(taken: dict[str, JsonText | None], event: Event) -> Iterator[Again]:
    rid = text_of(rid_of(fields_of(event.extra)))
    if event.label == SKIPPED:
        yield Again(SKIPPED, event, rid)
        if rid in taken and taken[rid] != event.value:
            yield Again(SKIPPED_DIFFERING, event, rid)
    elif rid in taken:
        yield Again(TAKEN_TWICE, event, rid)
    elif rid is not None:
        taken[rid] = event.value

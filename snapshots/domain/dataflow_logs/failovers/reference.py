"""Analyses what failures repeated and lost, record by record: the reference.

The Spark job answers the same questions from columns. Source: docs/formats/protocols.md,
"5. Failover".
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from snapshots.domain.dataflow_logs import event_time
from snapshots.domain.dataflow_logs.checkpoints.reference import (
    Records,
    checkpoint_events,
    protocol_events,
    run_of,
)
from snapshots.domain.dataflow_logs.checkpoints.tasks import CheckpointEvents
from snapshots.domain.dataflow_logs.events import DISCARDED, fields_of, whole
from snapshots.domain.dataflow_logs.failovers.again import TAKEN_TWICE, Again, came_again
from snapshots.domain.dataflow_logs.failovers.facts import (
    Answer,
    Question,
    failovers_of,
    questions_of,
)
from snapshots.domain.dataflow_logs.failovers.report import (
    MOST_EXAMPLES,
    Dropped,
    FailoverReport,
    Failovers,
    ReRead,
    Rid,
)
from snapshots.domain.dataflow_logs.failovers.rids import rid_in, rid_of, text_of
from snapshots.domain.dataflow_logs.failovers.sink_effects import (
    Effects,
    failure_at,
    writes_of,
)
from snapshots.domain.dataflow_logs.kinds import READ
from snapshots.domain.model.recording import RECEIVE, Event, Recording


def failovers(recording: Recording) -> tuple[FailoverReport, ...]:
    """Report on every failure in the log, in order."""
    return all_failovers(recording).reports


def all_failovers(recording: Recording) -> Failovers:
    """Report on every failure in the log, and on what all did together."""
    run = run_of(recording)
    checkpoints = {
        name: CheckpointEvents(name, events, run)
        for name, events in checkpoint_events(recording).items()
    }
    answers = [answer(question, recording) for question in questions_of(run)]
    times = protocol_events(recording, event_time.KINDS)
    return failovers_of(run, checkpoints, answers, Records(recording).count, times)


def answer(question: Question, recording: Recording) -> Answer:
    """Answer the question about one vertex from the recording's events."""
    events = sorted(
        (e for name in question.processes for e in recording.events[name]), key=lambda e: e.step
    )
    reads = [Read.of(event) for event in events if event.kind == READ]
    thrown_out = [e for e in events if e.kind == RECEIVE and e.label == DISCARDED]
    writes = writes_of(question, events)
    again = list(came_again(question, events))
    skipped = [item for item in again if item.what != TAKEN_TWICE]
    effects = Effects(question, writes, thrown_out, skipped)
    is_sink = bool(writes) or question.kind is not None
    return Answer(
        re_read=_re_read(question, [read for read in reads if read is not None]),
        discarded=_by_failure(question, thrown_out),
        effects=effects.by_failure() if is_sink else {},
        total=effects.total() if is_sink else None,
        dropped=None if is_sink else _dropped(question, events, thrown_out),
        again=_again_by_failure(question, again),
    )


# --- what was read again -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Read:
    """A record that a source read, with its place in the split."""

    split: str
    offset: int
    rid: Rid | None
    at: int
    step: int

    @classmethod
    def of(cls, event: Event) -> "Read | None":
        """Return what a source read, or None if the log does not say."""
        fields = fields_of(event.extra)
        split, offset = fields.get("split"), whole(fields.get("offset"))
        if not isinstance(split, str) or offset is None:
            return None
        return cls(split, offset, rid_of(fields), event.at, event.step)


def _re_read(question: Question, reads: list[Read]) -> dict[int, tuple[ReRead, ...]]:
    by_failure: dict[int, list[ReRead]] = {}
    for position in question.positions:
        of_split = [read for read in reads if read.split == position.split]
        again: dict[int, Rid | None] = {}
        for read in of_split:
            if read.step < position.step and read.offset >= position.offset:
                again.setdefault(read.offset, read.rid)
        if not again:
            continue
        goal = max(again)
        later = (r.at for r in of_split if r.step > position.step and r.offset == goal)
        examples = [rid for _, rid in sorted(again.items()) if rid is not None]
        by_failure.setdefault(position.failure, []).append(
            ReRead(
                split=position.split,
                from_=position.offset,
                to=goal,
                records=len(again),
                caught_up_at=next(later, None),
                examples=tuple(examples[:MOST_EXAMPLES]),
            )
        )
    return {number: tuple(items) for number, items in by_failure.items()}


def _by_failure(question: Question, thrown_out: list[Event]) -> dict[int, int]:
    numbers = (failure_at(question, event.process, event.step) for event in thrown_out)
    return dict(Counter(number for number in numbers if number is not None))


def _again_by_failure(question: Question, again: list[Again]) -> dict[int, dict[str, int]]:
    counts: dict[int, dict[str, int]] = {}
    for item in again:
        number = failure_at(question, item.event.process, item.event.step)
        if number is not None:
            own = counts.setdefault(number, {})
            own[item.what] = own.get(item.what, 0) + 1
    return counts


def _dropped(question: Question, events: list[Event], thrown_out: list[Event]) -> Dropped | None:
    """Return what a restart threw out of the inputs of an operator and that never came again."""
    if not thrown_out or not question.has_ended:
        return None
    received = _last(e for e in events if e.kind == RECEIVE and e.label != DISCARDED)
    lost = [rid for rid, step in _last(thrown_out).items() if received.get(rid, -1) < step]
    examples = tuple(map(rid_in, lost[:MOST_EXAMPLES]))
    return Dropped(question.vertex, len(lost), examples) if lost else None


def _last(events: Iterable[Event]) -> dict[str, int]:
    """Return the step of the last event of each rid, in the order of their first events."""
    steps: dict[str, int] = {}
    for event in events:
        rid = text_of(rid_of(fields_of(event.extra)))
        if rid is not None:
            steps[rid] = event.step
    return steps

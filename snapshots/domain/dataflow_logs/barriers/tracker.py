"""Flink's tracker, at least once, as a flow chart: which steps a task takes for each signal, why.

A task counts the barriers of each checkpoint and blocks nothing. The last one completes the count;
older checkpoints that are pending then are dropped, and so is the oldest of too many. Source: see
``charts.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from snapshots.domain.dataflow_logs.barriers import charts, signals
from snapshots.domain.dataflow_logs.barriers.charts import MOST_PENDING, Step
from snapshots.domain.dataflow_logs.barriers.signals import (
    MOST_NAMED,
    Outcome,
    Signal,
    all_words,
    arrived_words,
    called_off,
    cancelled,
    ignored,
    taken,
)
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ChannelId


@dataclass(frozen=True, slots=True)
class Tracker:
    """The barriers that a task has counted.

    Attributes:
        inputs: the task's input channels.
        ended: those that have ended, which counts as their barrier.
        pending: for each checkpoint under way, by number, the channels whose barrier is here.
        latest: the newest checkpoint that is over; older ones are over with it.
        aborted: the checkpoints that the coordinator called off while they were under way.
    """

    inputs: tuple[ChannelId, ...]
    ended: frozenset[ChannelId] = frozenset()
    pending: Mapping[int, tuple[ChannelId, ...]] = field(default_factory=dict)
    latest: int = 0
    aborted: frozenset[int] = frozenset()


Taken = tuple[Tracker, Outcome]


def take(tracker: Tracker, signal: Signal) -> Taken:
    """Return the tracker after a signal, and what the signal led to."""
    match signal.kind:
        case signals.BARRIER:
            return _barrier(tracker, signal)
        case signals.END:
            return _end(tracker, signal)
        case signals.CANCEL:
            return _cancel(tracker, signal)
        case signals.ABORTED if signal.checkpoint > tracker.latest:
            return replace(tracker, aborted=tracker.aborted | {signal.checkpoint}), Outcome()
    return tracker, Outcome()


def _barrier(tracker: Tracker, signal: Signal) -> Taken:
    assert signal.channel is not None  # a barrier comes on a channel
    checkpoint = signal.checkpoint
    steps = [Step(charts.BARRIER, f"Barrier {checkpoint} came on {signal.channel}.")]
    if checkpoint <= tracker.latest:
        is_last = checkpoint == tracker.latest
        why = "over at this task" if is_last else f"older than checkpoint {tracker.latest}"
        steps += ignored(checkpoint, why)
        return tracker, Outcome(tuple(steps))
    over = f"The newest that is over is checkpoint {tracker.latest}."
    steps.append(Step(charts.OLD, over if tracker.latest else "None is over so far."))
    tracker = _begun(tracker, checkpoint, steps)
    if checkpoint not in tracker.pending:  # it was the oldest of too many
        return tracker, Outcome(tuple(steps))
    why = f"{signal.channel} stays open: its next records are taken before the snapshot."
    steps.append(Step(charts.COUNT, why if len(tracker.inputs) > 1 else "It is the only input."))
    return _all_here(_with(tracker, checkpoint, signal.channel), signal, checkpoint, steps)


def _begun(tracker: Tracker, checkpoint: int, steps: list[Step]) -> Tracker:
    if checkpoint in tracker.pending:
        steps.append(Step(charts.PENDING, f"Barriers of checkpoint {checkpoint} came before."))
        return tracker
    ended = tuple(channel for channel in tracker.inputs if channel in tracker.ended)
    tracker = replace(tracker, pending={**tracker.pending, checkpoint: ended})
    count = len(tracker.pending)
    counts_ended = f" {listed(ended, MOST_NAMED)} ended, which counts." if ended else ""
    steps += (
        Step(charts.PENDING, f"It is the first barrier of checkpoint {checkpoint}."),
        Step(charts.BEGIN, f"The task waits for {len(tracker.inputs):,} barriers.{counts_ended}"),
        Step(charts.MANY, f"{count:,} {'is' if count == 1 else 'are'} pending."),
    )
    if count <= MOST_PENDING:
        return tracker
    oldest = min(tracker.pending)
    steps.append(Step(charts.DROP_OLDEST, f"Checkpoint {oldest} ends without a snapshot here."))
    return _over(tracker, oldest)


def _all_here(tracker: Tracker, signal: Signal, checkpoint: int, steps: list[Step]) -> Taken:
    """Take the snapshot of a checkpoint if all its barriers are here."""
    arrived = tracker.pending[checkpoint]
    if len(arrived) < len(tracker.inputs):
        steps += (
            Step(charts.ALL, f"{arrived_words(arrived, tracker.inputs)}."),
            Step(charts.WAIT, "No channel is blocked."),
        )
        return tracker, Outcome(tuple(steps))
    steps.append(Step(charts.ALL, all_words(tracker.inputs)))
    if checkpoint in tracker.aborted or signal.declined is not None:
        steps += (
            called_off(signal),
            Step(charts.NOTIFY, f"The tasks behind need not wait for barrier {checkpoint}."),
        )
    else:
        steps += taken(checkpoint)
    steps.append(_forgotten(tracker, checkpoint))
    return _over(tracker, checkpoint), Outcome(tuple(steps))


def _end(tracker: Tracker, signal: Signal) -> Taken:
    channel = signal.channel
    assert channel is not None  # a channel ends
    tracker = replace(tracker, ended=tracker.ended | {channel})
    ended = f"{channel} has ended, which counts as its barrier from now on."
    steps = [] if tracker.pending else [Step(charts.END, ended)]
    for checkpoint in sorted(tracker.pending):
        if checkpoint in tracker.pending:
            counts = f"{channel} has ended, which counts as barrier {checkpoint}."
            steps.append(Step(charts.END, counts))
            tracker = _with(tracker, checkpoint, channel)
            tracker, _ = _all_here(tracker, signal, checkpoint, steps)
    return tracker, Outcome(tuple(steps))


def _cancel(tracker: Tracker, signal: Signal) -> Taken:
    checkpoint = signal.checkpoint
    is_over = checkpoint <= tracker.latest
    entry = cancelled(signal, is_over=is_over)
    if is_over:
        return tracker, Outcome((entry,))
    notify = Step(charts.NOTIFY, "The cancellation goes on to all outputs.")
    forget = _forgotten(tracker, checkpoint)
    return _over(tracker, checkpoint), Outcome((entry, notify, forget))


def _forgotten(tracker: Tracker, checkpoint: int) -> Step:
    older = [str(number) for number in sorted(tracker.pending) if number < checkpoint]
    if not older:
        return Step(
            charts.FORGET, f"Checkpoint {checkpoint} is over here; no older one is pending."
        )
    names = listed(older, MOST_NAMED)
    ends = f"Checkpoint {names} ends" if len(older) == 1 else f"Checkpoints {names} end"
    why = f"{ends} here without a snapshot."
    return Step(charts.FORGET, why)


def _with(tracker: Tracker, checkpoint: int, channel: ChannelId) -> Tracker:
    arrived = tracker.pending[checkpoint]
    if channel in arrived:
        return tracker
    return replace(tracker, pending={**tracker.pending, checkpoint: (*arrived, channel)})


def _over(tracker: Tracker, checkpoint: int) -> Tracker:
    pending = {number: own for number, own in tracker.pending.items() if number > checkpoint}
    aborted = frozenset(number for number in tracker.aborted if number > checkpoint)
    return replace(tracker, pending=pending, latest=checkpoint, aborted=aborted)

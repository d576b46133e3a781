"""Flink's aligner as a flow chart: which steps a task takes for each signal, and why.

A task follows one checkpoint at a time. It blocks each channel whose barrier has come, until all
have. A newer checkpoint ends the alignment for an older one. Source: see ``charts.py``.

The chart has no steps for barriers that overtake records. The aligner counts them all the same,
because they end older checkpoints and open blocked channels.
"""

from dataclasses import dataclass, replace

from snapshots.domain.dataflow_logs.barriers import charts, signals
from snapshots.domain.dataflow_logs.barriers.charts import Step
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
class Aligner:
    """How far a task is with the checkpoint that it follows.

    Attributes:
        inputs: the task's input channels.
        ended: those that have ended, which counts as their barrier.
        follows: the number of the checkpoint. None if the task follows none.
        is_unaligned: whether the task handles the checkpoint without the chart.
        arrived: the channels whose barrier is here.
        blocked: the channels that are blocked.
        latest: the newest checkpoint that the task has followed or cancelled.
        aborted: the checkpoints that the coordinator called off while they were under way.
    """

    inputs: tuple[ChannelId, ...]
    ended: frozenset[ChannelId] = frozenset()
    follows: int | None = None
    is_unaligned: bool = False
    arrived: tuple[ChannelId, ...] = ()
    blocked: tuple[ChannelId, ...] = ()
    latest: int = 0
    aborted: frozenset[int] = frozenset()


Taken = tuple[Aligner, Outcome]


def take(aligner: Aligner, signal: Signal) -> Taken:
    """Return the aligner after a signal, and what the signal led to."""
    match signal.kind:
        case signals.BARRIER:
            return _barrier(aligner, signal)
        case signals.END:
            return _end(aligner, signal)
        case signals.CANCEL:
            return _cancel(aligner, signal)
        case signals.ANNOUNCED:
            return _announced(aligner, signal)
        case signals.SWITCHED:
            return _switched(aligner, signal.checkpoint)
    if signal.checkpoint != aligner.follows and signal.checkpoint <= aligner.latest:
        return aligner, Outcome()
    return replace(aligner, aborted=aligner.aborted | {signal.checkpoint}), Outcome()


def _barrier(aligner: Aligner, signal: Signal) -> Taken:
    assert signal.channel is not None  # a barrier comes on a channel
    behind = (
        ", behind its end, which counts as its barrier" if signal.channel in aligner.ended else ""
    )
    words = f"Barrier {signal.checkpoint} came on {signal.channel}{behind}."
    steps = [Step(charts.BARRIER, words)]
    aligner, is_followed = _followed(aligner, signal.checkpoint, steps)
    if not is_followed:
        return aligner, Outcome(tuple(steps))
    if signal.is_unaligned and not aligner.is_unaligned:
        aligner = _turned(aligner)
    if aligner.is_unaligned or aligner.follows is None:
        return _counted(aligner, signal)
    aligner = _with(aligner, signal.channel)
    return _all_here(aligner, signal, steps, is_blocking=True)


def _followed(aligner: Aligner, checkpoint: int, steps: list[Step]) -> tuple[Aligner, bool]:
    """Begin to follow a checkpoint that is new; tell whether the task follows it now."""
    is_over = checkpoint == aligner.latest and aligner.follows is None
    if checkpoint < aligner.latest or is_over:
        why = f"older than checkpoint {aligner.latest}" if not is_over else "over at this task"
        steps += ignored(checkpoint, why)
        return aligner, False
    newest = f"The newest so far is checkpoint {aligner.latest}."
    steps.append(Step(charts.OLD, newest if aligner.latest else "It is the first one."))
    if checkpoint == aligner.follows:
        steps.append(Step(charts.SAME, f"The task follows checkpoint {checkpoint} already."))
        return aligner, True
    steps.append(Step(charts.SAME, f"Checkpoint {checkpoint} is new to the task."))
    if aligner.follows is None:
        steps.append(Step(charts.UNDER_WAY, "The task follows no checkpoint."))
    else:
        steps += (
            Step(charts.UNDER_WAY, f"Checkpoint {aligner.follows} is not done."),
            Step(
                charts.DROP,
                f"Checkpoint {aligner.follows} ends without a snapshot{_opened(aligner)}.",
            ),
        )
    steps.append(Step(charts.FOLLOW, f"It waits for barrier {checkpoint} on all inputs."))
    idle = _idle(aligner)
    ended = tuple(channel for channel in idle.inputs if channel in idle.ended)
    return replace(idle, follows=checkpoint, latest=checkpoint, arrived=ended), True


def _all_here(aligner: Aligner, signal: Signal, steps: list[Step], *, is_blocking: bool) -> Taken:
    """Take the snapshot if all barriers are here; else block the channel."""
    channel, checkpoint = signal.channel, aligner.latest
    if len(aligner.arrived) < len(aligner.inputs):
        so_far = arrived_words(aligner.arrived, aligner.inputs)
        if not is_blocking:
            why = f"{so_far}. A channel that has ended is not blocked, and the task waits."
            return aligner, Outcome((*steps, Step(charts.ALL, why)))
        assert channel is not None  # it is a barrier
        steps += (
            Step(charts.ALL, f"{so_far}."),
            Step(charts.BLOCK, f"{channel} is blocked: what follows its barrier waits in it."),
        )
        blocked = aligner.blocked if channel in aligner.blocked else (*aligner.blocked, channel)
        return replace(aligner, blocked=blocked), Outcome(tuple(steps))
    steps.append(Step(charts.ALL, all_words(aligner.inputs)))
    if checkpoint in aligner.aborted or signal.declined is not None:
        steps += (
            called_off(signal),
            Step(charts.GIVE_UP, f"No snapshot is taken{_opened(aligner)}."),
        )
    else:
        steps += (
            *taken(checkpoint),
            Step(charts.UNBLOCK, _unblocked(aligner)),
        )
    return _idle(aligner), Outcome(tuple(steps))


def _end(aligner: Aligner, signal: Signal) -> Taken:
    assert signal.channel is not None  # a channel ends
    aligner = replace(aligner, ended=aligner.ended | {signal.channel})
    entry = Step(
        charts.END, f"{signal.channel} has ended, which counts as its barrier from now on."
    )
    if aligner.follows is None or signal.channel in aligner.arrived:
        return aligner, Outcome((entry,))
    if aligner.is_unaligned:
        return _counted(aligner, signal)
    return _all_here(_with(aligner, signal.channel), signal, [entry], is_blocking=False)


def _cancel(aligner: Aligner, signal: Signal) -> Taken:
    checkpoint = signal.checkpoint
    is_last = checkpoint == aligner.latest and aligner.follows is None
    is_over = checkpoint < aligner.latest or is_last
    entry = cancelled(signal, is_over=is_over)
    if is_over:
        return aligner, Outcome((entry,))
    if aligner.follows is None:
        why = "It has not begun at this task, which will ignore its barriers and tells downstream."
    elif checkpoint == aligner.follows:
        why = f"Its alignment ends without a snapshot{_opened(aligner)}."
    else:
        why = f"Checkpoint {aligner.follows}, which is older, ends with it{_opened(aligner)}."
    given_up = replace(_idle(aligner), latest=checkpoint)
    return given_up, Outcome((entry, Step(charts.GIVE_UP, why)))


def _announced(aligner: Aligner, signal: Signal) -> Taken:
    """Follow a new checkpoint whose barrier lies in an input buffer, from which it may overtake."""
    if signal.checkpoint <= aligner.latest:
        return aligner, Outcome()
    words = f"Barrier {signal.checkpoint} is in the input buffer of {signal.channel}."
    steps = [Step(charts.BARRIER, words)]
    aligner, _ = _followed(aligner, signal.checkpoint, steps)
    return aligner, Outcome(tuple(steps))


def _switched(aligner: Aligner, checkpoint: int) -> Taken:
    if checkpoint != aligner.follows or aligner.is_unaligned:
        return aligner, Outcome()
    why = (
        f"The time for aligning is over: the barriers of checkpoint {checkpoint} overtake from now "
        "on, and the chart has no steps for them."
    )
    return _turned(aligner), Outcome((), why)


def _turned(aligner: Aligner) -> Aligner:
    """Go on unaligned: the state is recorded now, unless the checkpoint has been called off."""
    return (
        _idle(aligner)
        if aligner.follows in aligner.aborted
        else replace(aligner, is_unaligned=True)
    )


def _counted(aligner: Aligner, signal: Signal) -> Taken:
    """Count a barrier without the chart, or the end of a channel that stands for it."""
    assert signal.channel is not None  # it comes on a channel
    why = (
        f"The barriers of checkpoint {aligner.latest} overtake records, and block nothing. The "
        "chart has no steps for them."
    )
    if aligner.follows is None:
        return aligner, Outcome((), why)
    aligner = _with(aligner, signal.channel)
    is_last = len(aligner.arrived) == len(aligner.inputs)
    return _idle(aligner) if is_last else aligner, Outcome((), why)


def _with(aligner: Aligner, channel: ChannelId) -> Aligner:
    if channel in aligner.arrived:
        return aligner
    return replace(aligner, arrived=(*aligner.arrived, channel))


def _idle(aligner: Aligner) -> Aligner:
    aborted = frozenset(checkpoint for checkpoint in aligner.aborted if checkpoint > aligner.latest)
    return Aligner(aligner.inputs, aligner.ended, latest=aligner.latest, aborted=aborted)


def _opened(aligner: Aligner) -> str:
    return f", and {listed(aligner.blocked, MOST_NAMED)} opens again" if aligner.blocked else ""


def _unblocked(aligner: Aligner) -> str:
    if not aligner.blocked:
        return "No channel was blocked."
    return f"The task takes from {listed(aligner.blocked, MOST_NAMED)} again."

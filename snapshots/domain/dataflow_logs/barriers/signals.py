"""What a task hears of checkpoints, and what it does then: input and output of both charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snapshots.domain.dataflow_logs.barriers import charts
from snapshots.domain.dataflow_logs.barriers.charts import Step
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ChannelId

BARRIER, END, CANCEL = "barrier", "end", "cancel"
ANNOUNCED, SWITCHED, ABORTED = "announced", "switched", "aborted"
MOST_NAMED = 6
"""Channels or checkpoints that a sentence names."""


@dataclass(frozen=True, slots=True)
class Signal:
    """What a task hears.

    Attributes:
        kind: BARRIER, END (of a channel) or CANCEL (of a checkpoint, from upstream); ANNOUNCED for
            a barrier that lies in the input buffer, SWITCHED for a task that goes on unaligned,
            ABORTED for the coordinator's word that a checkpoint is called off.
        channel: the channel on which it comes. None for SWITCHED and ABORTED.
        checkpoint: the number of its checkpoint; 0 for END.
        is_unaligned: whether a barrier overtakes records.
        declined: why the task then takes no snapshot, in the log's word. None if it does not say.
    """

    kind: str
    channel: ChannelId | None = None
    checkpoint: int = 0
    is_unaligned: bool = False
    declined: str | None = None


class Outcome(NamedTuple):
    """What a signal leads to: the steps in the chart, or why the chart has none, as a sentence."""

    steps: tuple[Step, ...] = ()
    why_none: str = ""


def arrived_words(arrived: Sequence[ChannelId], inputs: Sequence[ChannelId]) -> str:
    """Return ``1 of 2 barriers is here``, and which are missing."""
    missing = [channel for channel in inputs if channel not in arrived]
    said = (
        f"{len(arrived):,} of {len(inputs):,} barriers {'is' if len(arrived) == 1 else 'are'} here"
    )
    return f"{said}; {listed(missing, MOST_NAMED)} {'is' if len(missing) == 1 else 'are'} missing"


def all_words(inputs: Sequence[ChannelId]) -> str:
    """Return that the barriers of all inputs are here."""
    if len(inputs) == 1:
        return "The task has one input, and its barrier is here."
    return f"All {len(inputs):,} barriers are here."


def ignored(checkpoint: int, why: str) -> tuple[Step, Step]:
    """Return the steps for a barrier whose checkpoint is, for example, over at the task."""
    return (
        Step(charts.OLD, f"Checkpoint {checkpoint} is {why}."),
        Step(charts.IGNORE, "The barrier has no effect."),
    )


def called_off(signal: Signal) -> Step:
    """Return the step for a checkpoint that the task declines with a signal, or does not begin."""
    called = "The coordinator called it off."
    declined = f"The task declined it ({signal.declined})."
    return Step(charts.OFF, called if signal.declined is None else declined)


def taken(checkpoint: int) -> tuple[Step, Step, Step]:
    """Return the steps of a snapshot that is taken."""
    return (
        Step(charts.OFF, "Nobody has called it off."),
        Step(charts.FORWARD, f"Barrier {checkpoint} goes out on all outputs."),
        Step(charts.SNAPSHOT, f"The state is that of checkpoint {checkpoint}."),
    )


def cancelled(signal: Signal, *, is_over: bool) -> Step:
    """Return the first step for a cancellation; of a checkpoint that is over it is the only one."""
    over = " It is over at this task." if is_over else ""
    why = f"Checkpoint {signal.checkpoint} is cancelled on {signal.channel}.{over}"
    return Step(charts.CANCEL, why)

"""What a task hears of checkpoints, and what it does then: input and output of both charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snapshots.domain.dataflow_logs.barriers.charts import Step
from snapshots.domain.model.listing import listed
from snapshots.domain.model.topology import ChannelId

BARRIER, END, CANCEL = "barrier", "end", "cancel"
ANNOUNCED, SWITCHED, ABORTED = "announced", "switched", "aborted"
_MOST_NAMED = 6


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
    return f"{said}; {listed(missing, _MOST_NAMED)} {'is' if len(missing) == 1 else 'are'} missing"


def all_words(inputs: Sequence[ChannelId]) -> str:
    """Return that the barriers of all inputs are here."""
    if len(inputs) == 1:
        return "The task has one input, and its barrier is here."
    return f"All {len(inputs):,} barriers are here."

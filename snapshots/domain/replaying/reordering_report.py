"""What is told of a reordering: the checks with their reasons, and its JSON.

How a run is reordered is in `reordering.py`; the Spark job finds the same by other means.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snapshots.domain.judging.findings import INCOMPLETE
from snapshots.domain.model.as_json import Hidden, json_property
from snapshots.domain.model.recording import Event, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.replaying.computations import (
    FIFO,
    PROCESS_ORDER,
    SENDS_FIRST,
    STATES,
    Faults,
    place,
)
from snapshots.domain.replaying.replayed_state import same_contents

MIDDLE = "middle"
FROM_START = "from-start"
TO_END = "to-end"
SWAPS = "swaps"
SENTENCES = {
    PROCESS_ORDER: "Every process goes through its events in its own order.",
    SENDS_FIRST: "Every message is received after it is sent.",
    FIFO: "Every FIFO channel delivers in the order of sending.",
    STATES: "Every event finds its process in the state that it found in the run as it was.",
    MIDDLE: "The state in the middle is the recorded state.",
    FROM_START: "The prerecording events lead from the state at the start to the recorded state.",
    TO_END: "The postrecording events lead from the recorded state to the state at the end.",
    SWAPS: "Swapping neighbours of different processes one by one gives the same order.",
}
"""What is checked, in this order."""


class NotReorderable(Exception):
    """The snapshot has no end, so there is nothing between its start and its end."""

    permanent = True


def require_complete(snapshot: SnapshotId, findings: Sequence[Mapping[str, object]]) -> None:
    """findings: of the snapshot, as JSON. Raises: NotReorderable, with what is missing."""
    missing = next((item for item in findings if item["verdict"] == INCOMPLETE), None)
    if missing:
        raise NotReorderable(
            f"Snapshot {snapshot} is not complete, so it has no end. {missing['sentence']}"
        )


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that is checked of a reordering.

    Attributes:
        holds: None where it cannot be told.
        reason: why it does not hold, or cannot be told.
    """

    name: str
    holds: bool | None
    reason: str | None = None

    @json_property
    def sentence(self) -> str:
        """What the check claims, as a sentence."""
        return SENTENCES[self.name]


def no_check_fails(checks: Sequence[Check]) -> bool:
    """What cannot be told does not fail."""
    return all(check.holds is not False for check in checks)


@dataclass(frozen=True)
class ReorderingReport:
    """The part of a reordering that is shown; fields without words are as in a Reordering.

    Attributes:
        shown: the first of ``events_total`` events between start and end, in the order in which
            they happened.
        is_prerecording: for each of these whether it is a prerecording event.
        permuted: the places of these events, the prerecording ones first.
        start, recorded, end: global states as JSON.
        obstacles: findings as JSON.
    """

    snapshot: SnapshotId
    began: int
    ended: int
    shown: Hidden[tuple[Event, ...]]
    is_prerecording: Hidden[tuple[bool, ...]]
    permuted: tuple[int, ...]
    events_total: int
    prerecording_total: int
    swaps: int
    start: Mapping[str, object]
    recorded: Mapping[str, object]
    end: Mapping[str, object]
    checks: tuple[Check, ...]
    obstacles: tuple[Mapping[str, object], ...]
    occurred: bool | None
    occurred_after: int | None

    @json_property
    def holds(self) -> bool:
        """Whether no check fails."""
        return no_check_fails(self.checks)

    @json_property
    def events(self) -> list[dict[str, object]]:
        """The events that are shown, as JSON values."""
        return list(map(_event_json, self.shown, self.is_prerecording))

    @json_property
    def middle(self) -> int:
        """How many of the shown events are prerecording."""
        return sum(self.is_prerecording)

    @json_property
    def postrecording_total(self) -> int:
        """How many of the events are postrecording."""
        return self.events_total - self.prerecording_total


def computation_checks(
    before_middle: str | None, faults: Faults, middle: Check, end: str | None
) -> Iterator[Check]:
    """All checks but the swaps.

    before_middle: why the prerecording events are no computation. faults: of the whole order.
    middle: see ``middle_check``. end: how the state at its end differs.
    """
    for rule in (PROCESS_ORDER, SENDS_FIRST, FIFO, STATES):
        yield _rule_check(rule, faults)
    yield middle
    yield _both(FROM_START, before_middle, middle)
    yield _both(TO_END, faults.first_reason or end, middle)


def _rule_check(rule: str, faults: Faults) -> Check:
    if rule in faults.broken:
        return Check(rule, False, faults.broken[rule])
    if rule in faults.unknown:
        return Check(rule, None, faults.unknown[rule])
    return Check(rule, True)


def _both(name: str, reason: str | None, middle: Check) -> Check:
    """The check of one half: its own reason why not, else what is the matter in the middle."""
    return Check(name, False, reason) if reason else Check(name, middle.holds, middle.reason)


@dataclass(frozen=True)
class Middle:
    """What was recorded, and what stands in the middle: states (None where not known) and ids.

    recorded_*: only what the log says was recorded.
    """

    topology: Topology
    recorded_states: Mapping[ProcessId, JsonText]
    recorded_channels: Mapping[ChannelId, Sequence[MessageId]]
    states: Mapping[ProcessId, JsonText | None]
    channels: Mapping[ChannelId, Sequence[MessageId]]


def middle_check(middle: Middle) -> Check:
    """What was recorded against what stands in the middle; order counts on FIFO channels."""
    for process, state in middle.recorded_states.items():
        if middle.states[process] is not None and state != middle.states[process]:
            reason = f"{process} recorded {state}, but is in {middle.states[process]}."
            return Check(MIDDLE, False, reason)
    for channel, messages in middle.recorded_channels.items():
        fifo, held = middle.topology.channel_by_id[channel].fifo, middle.channels[channel]
        if not same_contents(messages, held, fifo=fifo):
            reason = f"{channel} was recorded with {_list(messages)}, holds {_list(held)}."
            return Check(MIDDLE, False, reason)
    return Check(MIDDLE, *_unknown_in(middle))


def _unknown_in(middle: Middle) -> tuple[bool | None, str | None]:
    for process in middle.topology.processes:
        if process.id not in middle.recorded_states:
            return None, f"The log does not say what {process.id} recorded."
        if middle.states[process.id] is None:
            return None, f"The log does not hold the state of {process.id} there."
    for channel in middle.topology.channels:
        if channel.id not in middle.recorded_channels:
            return None, f"The log does not say what was recorded of {channel.id}."
    return True, None


def too_many_swaps(swaps: int, most: int) -> Check:
    """Return the check that was skipped because it needs too many swaps."""
    reason = f"It takes {swaps:,} swaps; up to {most:,} are tried one by one."
    return Check(SWAPS, None, reason)


def swaps_lead_elsewhere() -> Check:
    """Return the failed check for swaps that end in another order."""
    return Check(SWAPS, False, "Swapping gives another order than the partition.")


def cannot_swap(first: Event, second: Event) -> Check:
    """Of one process, or else a send and the receive of its message."""
    if first.process == second.process:
        reason = f"{place(first)} and {place(second)} are of one process."
    else:
        reason = f"{place(second)} receives {first.message}, which {place(first)} sends."
    return Check(SWAPS, False, reason)


def _list(messages: Sequence[MessageId]) -> str:
    return ", ".join(messages) or "nothing"


def _event_json(event: Event, is_prerecording: bool) -> dict[str, object]:
    fields = {
        "process": event.process,
        "index": event.index,
        "kind": event.kind,
        "at": event.at,
        "step": event.step,
        "channel": event.channel,
        "message": event.message,
        "label": event.label,
        "prerecording": is_prerecording,
    }
    return {name: value for name, value in fields.items() if value is not None}

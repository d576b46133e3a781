"""The report on a reordering: its checks with their reasons, and its JSON.

`reordering.py` reorders a run; the Spark job does the same by other means.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from snapshots.domain.judging.findings import INCOMPLETE
from snapshots.domain.model.as_json import Hidden, json_property
from snapshots.domain.model.derived import PROVES_NOTHING
from snapshots.domain.model.recording import Event, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId, Topology
from snapshots.domain.replaying.computations import (
    FIFO,
    PROCESS_ORDER,
    SENDS_FIRST,
    STATES,
    Faults,
    named,
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
    STATES: "Every event finds its process in the same state as in the original run.",
    MIDDLE: "The state in the middle is the recorded state.",
    FROM_START: "The prerecording events lead from the state at the start to the recorded state.",
    TO_END: "The postrecording events lead from the recorded state to the state at the end.",
    SWAPS: "Swapping neighbours of different processes one by one gives the same order.",
}
"""The checks in their order, with what each claims."""

_OF_DERIVED = "The events are derived from the checkpoint, so that they fit shows nothing."


class NotReorderable(Exception):
    """The snapshot is unknown or not complete, or was taken across a restore."""

    permanent = True


def require_complete(snapshot: SnapshotId, findings: Sequence[Mapping[str, object]]) -> None:
    """Raise NotReorderable if the findings, given as JSON, say that something is missing."""
    missing = next((item for item in findings if item["verdict"] == INCOMPLETE), None)
    if missing:
        raise NotReorderable(
            f"Snapshot {snapshot} is not complete, so it has no end. {missing['sentence']}"
        )


def goes_back_meanwhile(snapshot: SnapshotId, process: ProcessId, index: int) -> NotReorderable:
    """Return the refusal for a snapshot during which a process goes back to another one."""
    return NotReorderable(
        f"While snapshot {snapshot} was taken, {process} went back to a snapshot at its event "
        f"{index}, or had not received again all that it held. The events before and after that "
        "are not of one run, and cannot be reordered."
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a reordering.

    Attributes:
        holds: the result; None if the log does not hold what is needed.
        reason: why it does not hold or is not known; None if it holds.
    """

    name: str
    holds: bool | None
    reason: str | None = None

    @json_property
    def sentence(self) -> str:
        """The claim that is checked, as a sentence."""
        return SENTENCES[self.name]


def no_check_fails(checks: Sequence[Check]) -> bool:
    """Tell whether no check fails. A check without a result does not fail."""
    return all(check.holds is not False for check in checks)


def of_derived(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return the checks of a derived recording, in which nothing can be shown to hold."""
    return tuple(Check(check.name, None, _OF_DERIVED) if check.holds else check for check in checks)


@dataclass(frozen=True)
class ReorderingReport:
    """The part of a reordering that is shown. Fields without a description are as in Reordering.

    Attributes:
        shown: the first of ``events_total`` events between start and end, in their original order.
        is_prerecording: whether each of the shown events is a prerecording one.
        permuted: the places of the shown events in the new order; prerecording ones come first.
        start: the global state at the start as JSON.
        recorded: the recorded global state as JSON.
        end: the global state at the end as JSON.
        obstacles: the orphans, as findings in JSON.
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
    is_derived: Hidden[bool] = False

    @json_property
    def holds(self) -> bool | None:
        """Whether no check fails and no pair of events stands in the way.

        It is None where the recording is derived and none does.
        """
        if self.obstacles or not no_check_fails(self.checks):
            return False
        return None if self.is_derived else True

    @json_property
    def not_known(self) -> str | None:
        """Why ``holds`` is not known; None where it is."""
        return PROVES_NOTHING if self.holds is None else None

    @json_property
    def events(self) -> list[dict[str, object]]:
        """The shown events as JSON values."""
        return list(map(_event_json, self.shown, self.is_prerecording))

    @json_property
    def middle(self) -> int:
        """How many of the shown events are prerecording ones."""
        return sum(self.is_prerecording)

    @json_property
    def postrecording_total(self) -> int:
        """How many of all events are postrecording ones."""
        return self.events_total - self.prerecording_total


def computation_checks(
    before_middle: str | None, faults: Faults, middle: Check, end: str | None
) -> Iterator[Check]:
    """Yield all checks except that of the swaps.

    Args:
        before_middle: why the prerecording events are no computation; None if they are one.
        faults: the faults of the whole order.
        middle: the result of ``middle_check``.
        end: how the state at the end differs; None if it does not.
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
    """Return the check of one half: it fails for its own reason, else it is as in the middle."""
    return Check(name, False, reason) if reason else Check(name, middle.holds, middle.reason)


@dataclass(frozen=True)
class Middle:
    """The recorded state, and the state in the middle of the new order.

    Attributes:
        recorded_states: the recorded states that are known.
        recorded_channels: the recorded ids of each channel for which the log holds them.
        states: the states in the middle; None for one that is not known.
        channels: the ids of the messages in the channels in the middle.
    """

    topology: Topology
    recorded_states: Mapping[ProcessId, JsonText]
    recorded_channels: Mapping[ChannelId, Sequence[MessageId]]
    states: Mapping[ProcessId, JsonText | None]
    channels: Mapping[ChannelId, Sequence[MessageId]]


def middle_check(middle: Middle) -> Check:
    """Compare the recorded state with the one in the middle; order counts on FIFO channels."""
    for process, state in middle.recorded_states.items():
        if middle.states[process] is not None and state != middle.states[process]:
            reason = f"{process} recorded {state}, but is in {middle.states[process]}."
            return Check(MIDDLE, False, reason)
    for channel, messages in middle.recorded_channels.items():
        fifo, held = middle.topology.channel_by_id[channel].fifo, middle.channels[channel]
        if not same_contents(messages, held, fifo=fifo):
            reason = f"{channel} was recorded with {_list(messages)}, but holds {_list(held)}."
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
    """Return the check without a result because it needs too many swaps."""
    reason = f"It takes {swaps:,} swaps; up to {most:,} are tried one by one."
    return Check(SWAPS, None, reason)


def swaps_lead_elsewhere() -> Check:
    """Return the failed check for swaps that end in another order."""
    return Check(SWAPS, False, "Swapping gives another order than the partition.")


def cannot_swap(first: Event, second: Event) -> Check:
    """Return the failed check for two events of one process, or a send and its receive."""
    if first.process == second.process:
        reason = f"{named(first)} and {named(second)} belong to one process."
    else:
        reason = f"{named(second)} receives {first.message}, which {named(first)} sends."
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

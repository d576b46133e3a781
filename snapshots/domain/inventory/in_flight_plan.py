"""Where data in flight goes when a job is started with another number of subtasks.

A channel i -> j is restored at every new subtask that the receiver's rule gives j to; where that
is more than one, each drops the records that belong to others. What lay at the sender's side is
sent there once more by one new sender. Source: Flink, StateAssignmentOperation,
TaskStateAssignment, SubtaskStateMapper and the partitioners.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from snapshots.domain.inventory.model import WHOLE, ChannelContents
from snapshots.domain.model.key_groups import key_group_range, owning_subtask

_MOST_KEY_GROUPS = 32_768  # by which Flink maps ranges, whatever the job's own maximum is


@dataclass(frozen=True, slots=True)
class Receiver:
    """A new subtask that is given data in flight: the channels of some old subtasks.

    Attributes:
        first: the first old subtask whose channels it reads.
        last: the last old subtask whose channels it reads.
        step: the distance from one of these old subtasks to the next.
        bytes: the bytes in these channels.
    """

    index: int
    first: int
    last: int
    step: int
    bytes: int


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """What becomes of the data in flight between two vertices.

    Attributes:
        exchange: Flink's word for the rule by which senders choose receivers; None where it is not
            known.
        channels: how many channels there are.
        rule: where the data goes, as a sentence.
        filtered: whether new subtasks drop what belongs to others, so that they read more bytes
            than they keep.
        problem: why it cannot be restored like this.
    """

    source: str | None
    target: str | None
    exchange: str | None
    channels: int
    bytes: int
    parallelism_before: int | None
    parallelism_after: int | None
    rule: str
    filtered: bool = False
    receivers: tuple[Receiver, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Width:
    """The numbers of subtasks of a vertex. ``before`` is None where it is not known."""

    before: int | None
    after: int


def plan_in_flight(
    channels: Iterable[ChannelContents], widths: Mapping[str, Width]
) -> tuple[EdgePlan, ...]:
    """Of each edge whose channels hold data, in their order. widths: by vertex."""
    edges: dict[tuple[str | None, str | None, str | None], list[ChannelContents]] = {}
    for channel in channels:
        ends = vertex_of(channel.source), vertex_of(channel.target)
        edges.setdefault((*ends, channel.exchange), []).append(channel)
    return tuple(_edge(*key, own, widths) for key, own in edges.items())


def vertex_of(subtask: str | None) -> str | None:
    """``map`` of ``map[1]``."""
    return None if subtask is None else subtask.rpartition("[")[0]


def _edge(
    source: str | None,
    target: str | None,
    exchange: str | None,
    channels: Sequence[ChannelContents],
    widths: Mapping[str, Width],
) -> EdgePlan:
    sender, receiver = widths.get(source or ""), widths.get(target or "")
    told = {
        "source": source,
        "target": target,
        "exchange": exchange,
        "channels": len(channels),
        "bytes": sum(channel.bytes for channel in channels),
        "parallelism_before": receiver and receiver.before,
        "parallelism_after": receiver and receiver.after,
    }
    if target is None or source is None or any(one.part != WHOLE for one in channels):
        return _of_halves(told, sender, receiver)
    if receiver is None or receiver.before is None:
        return EdgePlan(**told, rule="Of how many subtasks the receiver is, is not told.")
    after = receiver.after
    if receiver.before == after:
        each = [range(index, index + 1) for index in range(after)]
        rule = "Each subtask gets the data of its own channels back."
        return _planned(told, rule + _of_senders(sender), each, channels)
    if exchange is None:
        return EdgePlan(**told, rule="By what rule records go to the receiver is not told.")
    if exchange not in _RULES:
        problem = (
            f"What is in flight from {source} to {target} ({exchange}) cannot be given to another "
            "number of subtasks."
        )
        return EdgePlan(**told, rule="It cannot be divided anew.", problem=problem)
    rule, filtered, olds = _RULES[exchange]
    each = [olds(index, receiver.before, after) for index in range(after)]
    return _planned(told, rule + _of_senders(sender), each, channels, filtered=filtered)


def _of_halves(told: dict[str, object], sender: Width | None, receiver: Width | None) -> EdgePlan:
    """Without both ends the exchange is not known, and so not who gets what; but it is where
    nothing changes."""
    known = [width for width in (sender, receiver) if width is not None]
    if known and all(width.before == width.after for width in known):
        rule = "Each subtask gets its own data back, if those at the other end stay as many, too."
        return EdgePlan(**told, rule=rule)
    return EdgePlan(
        **told,
        rule="The upload does not tell between which subtasks this lay, so that it is not known "
        "who gets it.",
    )


def _planned(
    told: dict[str, object],
    rule: str,
    each: Sequence[range],
    channels: Sequence[ChannelContents],
    *,
    filtered: bool = False,
) -> EdgePlan:
    held = _by_target(channels)
    receivers = []
    for index, olds in enumerate(each):
        if size := held(olds):
            receivers.append(Receiver(index, olds[0], olds[-1], olds.step, size))
    return EdgePlan(**told, rule=rule, filtered=filtered, receivers=tuple(receivers))


def _by_target(channels: Sequence[ChannelContents]) -> Callable[[range], int]:
    """Gives the bytes of all channels into some old subtasks."""
    sizes: dict[int, int] = {}
    for channel in channels:
        index = int(channel.target.rpartition("[")[2].rstrip("]"))
        sizes[index] = sizes.get(index, 0) + channel.bytes
    indexes = sorted(sizes)
    sums = [0, *accumulate(sizes[index] for index in indexes)]

    def held(olds: range) -> int:
        if olds.step > 1:
            return sum(sizes.get(index, 0) for index in olds)
        return sums[bisect_left(indexes, olds.stop)] - sums[bisect_left(indexes, olds.start)]

    return held


def _of_senders(sender: Width | None) -> str:
    if sender is None or sender.before is None:
        return ""
    if sender.before == sender.after:
        return " What was still at a sender is sent by the same one."
    return f" What was still at sender i is sent by the new one i modulo {sender.after:,}."


# --- which old subtasks a new one reads ---------------------------------------------------------


def _by_range(index: int, before: int, after: int) -> range:
    groups = key_group_range(index, after, _MOST_KEY_GROUPS)
    first, last = groups.start, groups.stop - 1
    return range(
        owning_subtask(first, before, _MOST_KEY_GROUPS),
        owning_subtask(last, before, _MOST_KEY_GROUPS) + 1,
    )


def _in_turn(index: int, before: int, after: int) -> range:
    return range(index, before, after)


def _all_to_first(index: int, before: int, after: int) -> range:
    return range(before if index == 0 else 0)


def _all_to_all(index: int, before: int, after: int) -> range:
    return range(before)


_ROUND = "Old receiver j's channels go to the new one with the number j modulo their number."
_RULES: dict[str, tuple[str, bool, Callable[[int, int, int], range]]] = {
    "HASH": (
        "Each new subtask reads the channels of all old ones that had keys of its key groups, and "
        "drops the records of others.",
        True,
        _by_range,
    ),
    "REBALANCE": (_ROUND, False, _in_turn),
    "SHUFFLE": (_ROUND, False, _in_turn),
    "GLOBAL": ("All of it goes to the first subtask.", False, _all_to_first),
    "CUSTOM": (
        "Each new subtask reads all of it, and drops what the partitioner does not give it.",
        True,
        _all_to_all,
    ),
}

"""Where data in flight goes when a job is started with another number of subtasks.

A channel i -> j is restored at every new subtask that the receiver's rule gives j to; if these are
several, each drops the records that belong to others. What lay at the sender's side is sent once
more by one new sender. Source: Flink, StateAssignmentOperation, TaskStateAssignment,
SubtaskStateMapper and the partitioners.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import final

from snapshots.domain.inventory.model import WHOLE, ChannelContents, sum_of_known
from snapshots.domain.model.defects import times
from snapshots.domain.model.key_groups import key_group_range, owning_subtask

_MOST_KEY_GROUPS = 32_768  # by which Flink maps ranges, whatever the job's own maximum is


@dataclass(frozen=True, slots=True)
class Receiver:
    """A new subtask that is given data in flight: the channels of some old subtasks.

    Attributes:
        index: the number of the new subtask.
        first: the first old subtask whose channels it reads.
        last: the last old subtask whose channels it reads.
        step: the distance from one of these old subtasks to the next.
        bytes: the size of the data in these channels. None if it is not known.
    """

    index: int
    first: int
    last: int
    step: int
    bytes: int | None


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """What becomes of the data in flight between two vertices.

    Attributes:
        source: the sending vertex. None if it is not known.
        target: the receiving vertex. None if it is not known.
        exchange: Flink's word for the rule by which senders choose receivers. None if it is not
            known.
        channels: how many channels hold data.
        bytes: the size of the data. None if it is not known.
        parallelism_before: how many subtasks the receiver had. None if it is not known.
        parallelism_after: how many subtasks the receiver will have. None if it is not known.
        rule: where the data goes, as a sentence.
        filtered: whether new subtasks drop what belongs to others, so that they read more bytes
            than they keep.
        receivers: the new subtasks that are given the data.
        problem: why the data cannot be restored like this, as a sentence. None if it can.
        is_divided: whether the number of subtasks changes at either end, as far as that is known.
    """

    source: str | None
    target: str | None
    exchange: str | None
    channels: int
    bytes: int | None
    parallelism_before: int | None
    parallelism_after: int | None
    rule: str
    filtered: bool = False
    receivers: tuple[Receiver, ...] = ()
    problem: str | None = None
    is_divided: bool = False


@final
@dataclass(frozen=True, slots=True)
class Width:
    """How many subtasks a vertex had and will have. ``before`` is None if it is not known."""

    before: int | None
    after: int


def plan_in_flight(
    channels: Iterable[ChannelContents], widths: Mapping[str, Width]
) -> tuple[EdgePlan, ...]:
    """Plan each edge whose channels hold data, in their order. ``widths`` are by vertex."""
    edges: dict[tuple[str | None, str | None, str | None], list[ChannelContents]] = {}
    for channel in channels:
        ends = vertex_of(channel.source), vertex_of(channel.target)
        edges.setdefault((*ends, channel.exchange), []).append(channel)
    return tuple(_edge(*key, group, widths) for key, group in edges.items())


def vertex_of(subtask: str | None) -> str | None:
    """Return ``map`` for ``map[1]``."""
    return None if subtask is None else subtask.rpartition("[")[0]


def _edge(
    source: str | None,
    target: str | None,
    exchange: str | None,
    channels: Sequence[ChannelContents],
    widths: Mapping[str, Width],
) -> EdgePlan:
    sender, receiver = widths.get(source or ""), widths.get(target or "")
    plan = EdgePlan(
        source=source,
        target=target,
        exchange=exchange,
        channels=len(channels),
        bytes=sum_of_known(channel.bytes for channel in channels),
        parallelism_before=receiver and receiver.before,
        parallelism_after=receiver and receiver.after,
        rule="",
        is_divided=any(
            width is not None and width.before != width.after for width in (sender, receiver)
        ),
    )
    if target is None or source is None or any(channel.part != WHOLE for channel in channels):
        return replace(plan, rule=_rule_of_halves(sender, receiver))
    if receiver is None or receiver.before is None:
        return replace(plan, rule="How many subtasks the receiver had is not known.")
    before, after = receiver.before, receiver.after
    rule, filtered = "Each subtask gets the data of its own channels back.", False
    olds: Callable[[int, int, int], range] = _the_same
    if before != after:
        if exchange is None:
            return replace(plan, rule="The rule by which records go to the receiver is not known.")
        if exchange not in _RULES:
            problem = (
                f"{size_in_words([plan])} are in flight from {source} to {target} "
                f"({exchange}). Flink has no rule by which that would go to another number of "
                "subtasks, and refuses it. A savepoint has nothing in flight."
            )
            return replace(plan, rule="It cannot be divided anew.", problem=problem)
        rule, filtered, olds = _RULES[exchange]
    receivers = _receivers(channels, [olds(index, before, after) for index in range(after)])
    rule += _rule_of_senders(sender)
    return replace(plan, rule=rule, filtered=filtered, receivers=tuple(receivers))


def size_in_words(edges: Iterable[EdgePlan]) -> str:
    """Return the size of the data on edges, for the beginning of a sentence."""
    size = sum_of_known(edge.bytes for edge in edges)
    return "An unknown number of bytes" if size is None else times(size, "byte")


def _rule_of_halves(sender: Width | None, receiver: Width | None) -> str:
    """Return where the data of channels goes of which one end is not known.

    Without both ends the exchange, and so who gets what, is only known if nothing changes.
    """
    widths = [width for width in (sender, receiver) if width is not None]
    if widths and all(width.before == width.after for width in widths):
        return "Each subtask gets its own data back if the number at the other end stays the same."
    return (
        "The upload does not say between which subtasks this data was in flight, so it is not "
        "known who gets it."
    )


def _receivers(channels: Sequence[ChannelContents], olds: Sequence[range]) -> Iterator[Receiver]:
    """Yield the new subtasks that get data from the channels of the old subtasks in ``olds``.

    If the size of some channel is not known, channels are counted instead of bytes.
    """
    is_known = all(channel.bytes is not None for channel in channels)
    sizes: dict[int, int] = {}
    for channel in channels:
        index = int((channel.target or "").rpartition("[")[2].rstrip("]"))
        sizes[index] = sizes.get(index, 0) + (1 if channel.bytes is None else channel.bytes)
    indexes = sorted(sizes)
    sums = [0, *accumulate(sizes[index] for index in indexes)]
    for index, old in enumerate(olds):
        if old.step > 1:
            size = sum(sizes.get(place, 0) for place in old)
        else:
            size = sums[bisect_left(indexes, old.stop)] - sums[bisect_left(indexes, old.start)]
        if size:
            bytes_ = size if is_known else None
            yield Receiver(index, old[0], old[-1], old.step, bytes_)


def _rule_of_senders(sender: Width | None) -> str:
    if sender is None or sender.before is None:
        return ""
    if sender.before == sender.after:
        return " What was still at a sender is sent by the same sender."
    return f" What was still at sender i is sent by new sender i modulo {sender.after:,}."


# --- which old subtasks a new one reads ---------------------------------------------------------


def _by_range(index: int, before: int, after: int) -> range:
    groups = key_group_range(index, after, _MOST_KEY_GROUPS)
    first, last = groups.start, groups.stop - 1
    return range(
        owning_subtask(first, before, _MOST_KEY_GROUPS),
        owning_subtask(last, before, _MOST_KEY_GROUPS) + 1,
    )


def _the_same(index: int, before: int, after: int) -> range:
    return range(index, index + 1)


def _in_turn(index: int, before: int, after: int) -> range:
    return range(index, before, after)


def _all_to_first(index: int, before: int, after: int) -> range:
    return range(before if index == 0 else 0)


def _all_to_all(index: int, before: int, after: int) -> range:
    return range(before)


_ROUND = "The channels of old receiver j go to new receiver j modulo the new number of receivers."
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


def receivers_of(exchange: str, old: int, before: int, after: int) -> list[int]:
    """Return the new subtasks that read the channels of an old one.

    Args:
        exchange: Flink's word for the rule by which senders choose receivers. If the number of
            subtasks changes, it must be one by which data in flight can be divided.
        old: the old subtask.
        before: how many subtasks there were.
        after: how many subtasks there will be.

    Raises: KeyError if Flink refuses to divide data in flight on this exchange.
    """
    if before == after:
        return [old]
    *_, olds = _RULES[exchange]
    return [index for index in range(after) if old in olds(index, before, after)]

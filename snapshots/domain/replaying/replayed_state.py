"""Replay what follows a snapshot, one channel and one process at a time.

This does not need the order of events across processes, so each channel and process is replayed by
itself: first the channels, which show whether receives find their messages, then the processes.
"""

import itertools
import json
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import canonical, number


@dataclass(frozen=True)
class ChannelReplay:
    """The result of replaying the receives on a channel.

    Attributes:
        missing: the places in ``received`` of messages that the channel does not hold.
        overtaking: the places in ``received`` of messages behind another one, and that other
            message.
        left: the messages that are never received, in order.
    """

    missing: tuple[int, ...]
    overtaking: tuple[tuple[int, MessageId], ...]
    left: tuple[MessageId, ...]


def replay_channel(
    held: Sequence[MessageId], received: Sequence[MessageId], *, fifo: bool
) -> ChannelReplay:
    """Replay the receives on a channel after a snapshot.

    The k-th receive of an id takes the k-th message held with that id. On a FIFO channel this must
    be the first message that is still there.

    Args:
        held: the restored contents, then the messages sent after the snapshot, in order.
        received: the ids received after the snapshot, in order.
        fifo: whether the channel keeps the order of sending.
    """
    if tuple(held[: len(received)]) == tuple(received):
        return ChannelReplay((), (), tuple(held[len(received) :]))
    is_taken = [False] * len(held)
    missing, overtaking, head = [], [], 0
    for receive, place in enumerate(taken_places(held, received)):
        if place is None:
            missing.append(receive)
            continue
        if fifo and place > head:
            overtaking.append((receive, held[head]))
        is_taken[place] = True
        while head < len(held) and is_taken[head]:
            head += 1
    left = itertools.compress(held, map(operator.not_, is_taken))
    return ChannelReplay(tuple(missing), tuple(overtaking), tuple(left))


def taken_places(held: Sequence[MessageId], received: Iterable[MessageId]) -> Iterator[int | None]:
    """Yield which of the messages held each receive takes: the k-th of an id takes the k-th.

    None stands for a receive of which the channel holds no message.
    """
    places: dict[MessageId, deque[int]] = defaultdict(deque)
    for place, message in enumerate(held):
        places[message].append(place)
    for message in received:
        yield places[message].popleft() if places[message] else None


def same_contents(one: Sequence[MessageId], other: Sequence[MessageId], *, fifo: bool) -> bool:
    """Tell whether two channel contents are equal; order counts on FIFO channels only."""
    return tuple(one) == tuple(other) if fifo else Counter(one) == Counter(other)


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One application event after the snapshot.

    Attributes:
        after: the state after it in the log; None if it is not known.
        happens: false for a receive that does not find its message.
    """

    after: JsonText | None
    happens: bool


@dataclass(frozen=True, slots=True)
class ProcessReplay:
    """The result of replaying a process, and the first step at which it differs from the log.

    Attributes:
        end: the state at the end; None if it is not known.
        differs_at: the number of the first step before which the state differs; None if there is
            none.
        expected: the state in the log before that step.
        found: the replayed state before that step.
    """

    end: JsonText | None
    differs_at: int | None = None
    expected: JsonText | None = None
    found: JsonText | None = None


def replay_process(
    restored: JsonText | None, logged: JsonText | None, steps: Iterable[ReplayedStep]
) -> ProcessReplay:
    """Apply the steps of a process after the snapshot to its restored state.

    Each step leads from one state of the log to the next. A number (values.number) changes by the
    difference of the two, so a wrong amount stays wrong to the end. Any other state follows the log
    if it equals the log's state, else it stays as it is for good. A receive that does not find its
    message changes nothing. States that the log does not hold are skipped: the next known state
    stands for the sum of the steps since the last one. If one of these steps is a receive without
    its message, the state is not known from there on.

    Args:
        restored: the restored state.
        logged: the state in the log at the same position; None if it is not known.
        steps: the application events after the snapshot.
    """
    differs_at: int | None = None
    expected = found = None
    end = restored if logged is not None else None
    for number_of_step, step in enumerate(replayed_states(restored, logged, steps)):
        if differs_at is None and step.is_compared and step.found != step.expected:
            differs_at, expected, found = number_of_step, step.expected, step.found
        end = step.after
    return ProcessReplay(end, differs_at, expected, found)


@dataclass(frozen=True, slots=True)
class StateStep:
    """The states around one step of a process.

    Attributes:
        expected: the last state that the log holds before the step.
        found: the replayed state before the step.
        is_compared: whether both are the states right before the step.
        after: the replayed state after the step; None if it is not known.
    """

    expected: JsonText | None
    found: JsonText | None
    is_compared: bool
    after: JsonText | None


def replayed_states(
    restored: JsonText | None, logged: JsonText | None, steps: Iterable[ReplayedStep]
) -> Iterator[StateStep]:
    """Yield the states around each step, by the rules of ``replay_process``.

    Where the state is not known from a step on, or stays as it is for good, that is so at each step
    that follows.
    """
    state, reference, is_known = restored, logged, logged is not None
    is_over = False
    for step in steps:
        if is_over:
            yield StateStep(reference, state, False, state)
            continue
        expected, found, was_known = reference, state, is_known
        if not step.happens and (step.after is None or not is_known):
            state, is_over = None, True
        elif step.after is not None and step.happens:
            following = _followed(state, reference, step.after)
            is_over = following is None
            state = state if following is None else following
        is_known = step.after is not None
        if is_known and not is_over:
            reference = step.after
        after = state if is_known or is_over else None
        yield StateStep(expected, found, was_known, after)


def _followed(
    state: JsonText | None, reference: JsonText | None, after: JsonText
) -> JsonText | None:
    """Apply the step that leads the log from ``reference`` to ``after`` to a state.

    None means that the state does not follow the log.
    """
    if reference is None or state == reference:
        return after
    amount, amount_before, amount_after = map(number, (state, reference, after))
    if amount is None or amount_before is None or amount_after is None:
        return None
    if _with_number(reference, amount) != state:
        return None
    return _with_number(after, amount_after + amount - amount_before)


def _with_number(text: JsonText, amount: int | float) -> JsonText:
    """Return a state with another number; ``{"balance":9000}`` keeps its shape."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return canonical(amount)
    name = next(key for key, item in value.items() if number(canonical(item)) is not None)
    return canonical(value | {name: amount})

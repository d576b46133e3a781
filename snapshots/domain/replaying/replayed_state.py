"""Replaying what follows a snapshot, one channel and one process at a time.

Neither needs the order of events across processes, so channels and processes can be replayed apart
from each other: first the channels, which tell what receives find, then the processes.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import canonical, number


@dataclass(frozen=True)
class ChannelReplay:
    """missing: places in ``received`` of what the channel does not hold. overtaking: places of what
    it holds, but behind another message that is named here. left: what is never taken, in order."""

    missing: tuple[int, ...]
    overtaking: tuple[tuple[int, MessageId], ...]
    left: tuple[MessageId, ...]


def replay_channel(
    held: Sequence[MessageId], received: Sequence[MessageId], *, fifo: bool
) -> ChannelReplay:
    """What the receives after a snapshot find.

    held: the restored contents, then the messages sent after the snapshot, in order. received: the
    ids received after it, in order. The k-th receive of an id takes the k-th one held; on a FIFO
    channel it must be the foremost that is still there, otherwise it may stand anywhere.
    """
    if tuple(held[: len(received)]) == tuple(received):
        return ChannelReplay((), (), tuple(held[len(received) :]))
    places: dict[MessageId, deque[int]] = defaultdict(deque)
    for place, message in enumerate(held):
        places[message].append(place)
    taken = [False] * len(held)
    missing, overtaking, head = [], [], 0
    for place, message in enumerate(received):
        if not places[message]:
            missing.append(place)
            continue
        found = places[message].popleft()
        if fifo and found > head:
            overtaking.append((place, held[head]))
        taken[found] = True
        while head < len(held) and taken[head]:
            head += 1
    left = tuple(message for message, gone in zip(held, taken, strict=True) if not gone)
    return ChannelReplay(tuple(missing), tuple(overtaking), left)


def same_contents(one: Sequence[MessageId], other: Sequence[MessageId], *, fifo: bool) -> bool:
    """Whether two channel contents are the same; the order counts on a FIFO channel only."""
    return tuple(one) == tuple(other) if fifo else Counter(one) == Counter(other)


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One application event after the snapshot.

    after: the log's state after it, None where it is not known. happens: False for a receive whose
    message is not there.
    """

    after: JsonText | None
    happens: bool


@dataclass(frozen=True, slots=True)
class ProcessReplay:
    """end: the state at the end, None where it is not known. differs_at: place of the first step
    before which the state is not the log's, with both states; None where there is none."""

    end: JsonText | None
    differs_at: int | None = None
    expected: JsonText | None = None
    found: JsonText | None = None


def replay_process(
    restored: JsonText | None, logged: JsonText | None, steps: Iterable[ReplayedStep]
) -> ProcessReplay:
    """Carries a restored state through what the log says of the process after the snapshot.

    restored, logged: the restored state and the log's at the same position. A step leads from the
    log's state before it to the log's state after it. A number (values.number) changes by the
    difference of the two, so that a wrong amount stays wrong to the end; any other state follows
    only where it is the log's, else it stays as it is for good. A receive whose message is not
    there changes nothing. States that the log does not hold are passed over: what comes after is
    the sum of the steps between, unless a receive that cannot happen is one of them; then the state
    is not known from there on.
    """
    carried, reference, is_known = restored, logged, logged is not None
    difference: dict[str, object] = {}
    for place, step in enumerate(steps):
        if not difference and is_known and carried != reference:
            difference = {"differs_at": place, "expected": reference, "found": carried}
        if not step.happens and (step.after is None or not is_known):
            return ProcessReplay(None, **difference)
        is_known = step.after is not None
        if not is_known:
            continue
        if step.happens:
            follows = _followed(carried, reference, step.after)
            if follows is None:
                return ProcessReplay(carried, **difference)
            carried = follows
        reference = step.after
    return ProcessReplay(carried if is_known else None, **difference)


def _followed(
    carried: JsonText | None, reference: JsonText | None, after: JsonText
) -> JsonText | None:
    """The state after a step that led the log from ``reference`` to ``after``; None: no number."""
    if reference is None or carried == reference:
        return after
    amounts = [number(text) for text in (carried, reference, after)]
    if None in amounts or _with_number(reference, amounts[0]) != carried:
        return None
    return _with_number(after, amounts[2] + amounts[0] - amounts[1])


def _with_number(text: JsonText, amount: int | float) -> JsonText:
    """The same state with another number: ``{"balance":9000}`` keeps its shape."""
    value = json.loads(text)
    if not isinstance(value, dict):
        return canonical(amount)
    name = next(key for key, item in value.items() if number(canonical(item)) is not None)
    return canonical(value | {name: amount})

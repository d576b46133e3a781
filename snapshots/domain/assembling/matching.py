"""Which receive takes which send, and what overtook what on a FIFO channel."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np

IN_FLIGHT = 2**63 - 1  # later than every index


@dataclass
class Matches:
    """received: send -> its receive; unexplained: receives of ids never sent; surplus: receives of
    an id beyond its sends. Sends and receives stand for themselves (rows, events)."""

    received: dict[int, int] = field(default_factory=dict)
    unexplained: list[int] = field(default_factory=list)
    surplus: list[int] = field(default_factory=list)


@dataclass
class Traffic:
    """The rows of one channel's sends and receives, in order of their process.

    received: row of a send -> row of its receive.
    """

    sends: list[int] = field(default_factory=list)
    receives: list[int] = field(default_factory=list)
    marker_sends: list[int] = field(default_factory=list)
    marker_receives: list[int] = field(default_factory=list)
    received: dict[int, int] = field(default_factory=dict)


def match(
    sends: Iterable[tuple[Hashable, int]], receives: Iterable[tuple[Hashable, int]]
) -> Matches:
    """The k-th send of an id meets the k-th receive of it; both in order of their process."""
    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for key, send in sends:
        waiting[key].append(send)
    matches = Matches()
    for key, receive in receives:
        if key not in waiting:
            matches.unexplained.append(receive)
        elif waiting[key]:
            matches.received[waiting[key].popleft()] = receive
        else:
            matches.surplus.append(receive)
    return matches


def overtaken(received_index: np.ndarray, by: np.ndarray | None = None) -> np.ndarray:
    """bool[N]: which of one channel's messages and markers a later one overtook.

    received_index: int64[N] in order of sending, IN_FLIGHT where not received. What is still in
    flight while a later one has been received was overtaken too. by: the same with IN_FLIGHT for
    those that may overtake.
    """
    by = received_index if by is None else by
    late = np.zeros(len(received_index), bool)
    if len(received_index) > 1:
        earliest_later = np.minimum.accumulate(by[:0:-1])[::-1]
        late[:-1] = received_index[:-1] > earliest_later
    return late

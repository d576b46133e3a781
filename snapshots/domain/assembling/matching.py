"""Match receives to sends, and find what was overtaken on a FIFO channel."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np

IN_FLIGHT = 2**63 - 1  # later than every index


@dataclass
class Matches:
    """The result of matching; sends and receives are given by their rows.

    Attributes:
        received: the receive of each send that has one.
        unexplained: the receives of ids that were never sent.
        surplus: the receives of an id beyond the number of its sends.
        late: the receives of messages of another epoch (restores.py).
        taken_back: the restore that took each send back that has no receive.
        again: for each restore of the target, by its number, whose snapshot held messages in the
            channel: the receive of the last of them, and an id that is missing; see restores.py.
    """

    received: dict[int, int] = field(default_factory=dict)
    unexplained: list[int] = field(default_factory=list)
    surplus: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    taken_back: dict[int, int] = field(default_factory=dict)
    again: dict[int, tuple[int | None, Hashable | None]] = field(default_factory=dict)


@dataclass
class Traffic:
    """The rows of one channel's sends and receives, in the order of their process.

    Attributes:
        received: the row of the receive of each send, of a message or a marker, that has one.
        taken_back: likewise the row of the restore that took it back.
    """

    sends: list[int] = field(default_factory=list)
    receives: list[int] = field(default_factory=list)
    marker_sends: list[int] = field(default_factory=list)
    marker_receives: list[int] = field(default_factory=list)
    received: dict[int, int] = field(default_factory=dict)
    taken_back: dict[int, int] = field(default_factory=dict)

    def end(self, send: int) -> int | None:
        """Return the row that ends the way of a send: its receive, or what took it back."""
        return self.received.get(send, self.taken_back.get(send))


def match(
    sends: Iterable[tuple[Hashable, int]], receives: Iterable[tuple[Hashable, int]]
) -> Matches:
    """Match the k-th send of an id to its k-th receive.

    Args:
        sends, receives: (id, row) of each, in the order of their process.
    """
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
    """Tell which messages and markers of one channel were overtaken by a later one: bool[N].

    One that is still in flight while a later one has been received counts as overtaken.

    Args:
        received_index: int64[N], in the order of sending; IN_FLIGHT if not received.
        by: the same with IN_FLIGHT also for those that may overtake; None if none may.
    """
    by = received_index if by is None else by
    late = np.zeros(len(received_index), bool)
    if len(received_index) > 1:
        earliest_later = np.minimum.accumulate(by[:0:-1])[::-1]
        late[:-1] = received_index[:-1] > earliest_later
    return late

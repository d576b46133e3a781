"""What the two sets of marker rules share: the effects of a step, and the snapshots under way.

A set of rules belongs to one process. It does no input or output: each step returns effects, which
the process carries out in their order before it does anything else. Nothing else of the process may
happen between an event and its step, and one thread at a time may call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from collections.abc import Iterable

_REMEMBERED = 100_000


@dataclass(frozen=True)
class RecordState:
    """Record the state of the process as it is now."""

    snapshot: str


@dataclass(frozen=True)
class SendMarker:
    """Send a marker on the channel, before any further message.

    ``count``: how many messages went out on the channel before the state was recorded; None on
    channels that keep order.
    """

    channel: str
    snapshot: str
    count: int | None = None


@dataclass(frozen=True)
class RecordChannel:
    """Record what was in the channel: these messages, in the order in which they were received."""

    snapshot: str
    channel: str
    messages: tuple[Any, ...]


@dataclass(frozen=True)
class Complete:
    """This process has recorded its state and all of its incoming channels."""

    snapshot: str


Effect = Union[RecordState, SendMarker, RecordChannel, Complete]
Colour = tuple[tuple[str, int], ...]
"""What travels with a message: each snapshot that its sender has recorded, with the number of
messages that the sender sent on the channel before. Empty on channels that keep order."""


class Rules:
    """The snapshots that one process takes part in.

    A snapshot that is complete here, or was given up, has ended: nothing begins it again. The last
    100,000 that ended are remembered.
    """

    def __init__(self, incoming: Iterable[str], outgoing: Iterable[str]) -> None:
        self.incoming = tuple(incoming)
        self.outgoing = tuple(outgoing)
        self._arrived: dict[str, dict[str, list[Any]]] = {}  # of snapshots under way: open channels
        self._ended: dict[str, None] = {}

    @property
    def under_way(self) -> tuple[str, ...]:
        """The snapshots that this process has recorded its state for and not completed."""
        return tuple(self._arrived)

    def begin_snapshot(self, snapshot: str) -> list[Effect]:
        """Record the state and send a marker on every outgoing channel.

        Nothing is done if the process has recorded its state for this snapshot already, because
        another initiator was faster.
        """
        if snapshot in self._arrived or snapshot in self._ended:
            return []
        self._arrived[snapshot] = {channel: [] for channel in self.incoming}
        return [RecordState(snapshot), *self._markers(snapshot), *self._completed(snapshot)]

    def give_up(self, snapshot: str) -> None:
        """Drop a snapshot that cannot end, for example because a process is gone.

        Markers of it that come later have no effect. Every process has to give it up for itself.
        """
        self._arrived.pop(snapshot, None)
        self._end(snapshot)

    def _markers(self, snapshot: str) -> list[Effect]:
        raise NotImplementedError

    def _closed(self, snapshot: str, channel: str) -> list[Effect]:
        messages = tuple(self._arrived[snapshot].pop(channel))
        return [RecordChannel(snapshot, channel, messages), *self._completed(snapshot)]

    def _completed(self, snapshot: str) -> list[Effect]:
        if self._arrived[snapshot]:
            return []
        del self._arrived[snapshot]
        self._end(snapshot)
        return [Complete(snapshot)]

    def _end(self, snapshot: str) -> None:
        self._ended[snapshot] = None
        if len(self._ended) > _REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def _check(self, channel: str, ends: tuple[str, ...], direction: str) -> None:
        if channel not in ends:
            raise ValueError(
                f"{channel} is not an {direction} channel of this process. It has "
                f"{', '.join(ends) or 'none'}."
            )

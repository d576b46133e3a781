"""The rules of Lai and Yang, for channels that may deliver in any order.

Sources: Lai and Yang, "On Distributed Snapshots", Information Processing Letters 25(3), 1987. The
counting is Mattern's, "Efficient Algorithms for Distributed Snapshots and Global Virtual Time
Approximation", JPDC 18(4), 1993.

For each snapshot a process is white until it records its state, and red from then on. A message
carries the colour of its sender. A white process that a red message reaches records its state
before it receives the message. The white messages that a red process receives were in the channel.
Markers and red messages say how many white messages went out on the channel, so the receiver knows
when all of them have come. A marker may overtake messages, and be overtaken by them.

Assumes: channels are reliable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rules import Colour, Effect, Rules, SendMarker

if TYPE_CHECKING:
    from collections.abc import Iterable


class AnyOrderRules(Rules):
    """The steps of one process."""

    def __init__(self, incoming: Iterable[str], outgoing: Iterable[str]) -> None:
        super().__init__(incoming, outgoing)
        self._sent = dict.fromkeys(self.outgoing, 0)
        self._received = dict.fromkeys(self.incoming, 0)
        self._red: dict[str, dict[str, int]] = {}  # white messages sent on each channel
        self._to_come: dict[str, dict[str, int]] = {}  # white messages that are still in a channel
        self._announced: dict[str, set[str]] = {}  # channels whose number of white messages came

    def on_send(self, channel: str) -> Colour:
        """Return the colour that travels with the message."""
        self._check(channel, self.outgoing, "outgoing")
        self._sent[channel] += 1
        return tuple((snapshot, counts[channel]) for snapshot, counts in self._red.items())

    def on_receive(self, channel: str, message: Any, colour: Colour = ()) -> list[Effect]:
        """Add a white message to the recordings of its channel; a red one is also a marker.

        Carry out the effects before the message changes the state: the state that they record is
        the one without the message.
        """
        self._check(channel, self.incoming, "incoming")
        effects: list[Effect] = []
        for snapshot, count in colour:
            effects += self.on_marker(channel, snapshot, count)
        self._received[channel] += 1
        red = {snapshot for snapshot, _ in colour}
        for snapshot in self.under_way:
            if snapshot not in red and channel in self._arrived[snapshot]:
                self._arrived[snapshot][channel].append(message)
                self._to_come[snapshot][channel] -= 1
                effects += self._closed_if_all_came(snapshot, channel)
        return effects

    def on_marker(self, channel: str, snapshot: str, count: int | None = None) -> list[Effect]:
        """Record the state if that is not done, and take note of how many white messages there are.

        Raises: ValueError if the marker has no count, as those of channels that keep order.
        """
        self._check(channel, self.incoming, "incoming")
        if count is None:
            raise ValueError(f"The marker of {snapshot} on {channel} has no count of messages.")
        effects = self.begin_snapshot(snapshot)
        still_open = self._arrived.get(snapshot, {})
        if channel in still_open and channel not in self._announced[snapshot]:
            self._announced[snapshot].add(channel)
            self._to_come[snapshot][channel] += count
            effects += self._closed_if_all_came(snapshot, channel)
        return effects

    def give_up(self, snapshot: str) -> None:
        """Drop a snapshot that cannot end. Messages carry its colour until it is forgotten.

        Others may still record their channels, and would take a message without it for a white one.
        """
        super().give_up(snapshot)

    def forget(self, snapshot: str) -> None:
        """Stop colouring messages with a snapshot that every process has completed or given up.

        Before that a receiver could take a red message for a white one. Without it, every snapshot
        makes all later messages longer.
        """
        self._red.pop(snapshot, None)

    def _markers(self, snapshot: str) -> list[Effect]:
        self._red[snapshot] = dict(self._sent)
        self._to_come[snapshot] = {c: -received for c, received in self._received.items()}
        self._announced[snapshot] = set()
        return [SendMarker(channel, snapshot, self._sent[channel]) for channel in self.outgoing]

    def _closed_if_all_came(self, snapshot: str, channel: str) -> list[Effect]:
        # Below 0 until the number has been announced, for then this one message is subtracted.
        if self._to_come[snapshot][channel] != 0:
            return []
        return self._closed(snapshot, channel)

    def _end(self, snapshot: str) -> None:
        super()._end(snapshot)
        self._to_come.pop(snapshot, None)
        self._announced.pop(snapshot, None)

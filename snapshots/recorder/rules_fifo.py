"""The marker rules of Chandy and Lamport, for channels that keep order.

Source: Chandy and Lamport, "Distributed Snapshots: Determining Global States of Distributed
Systems", ACM TOCS 3(1), 1985, section 3.2.

Assumes: channels are reliable and FIFO for messages and markers together. A snapshot is complete at
every process that a path of channels from an initiator reaches.
"""

from __future__ import annotations

from typing import Any

from .rules import Colour, Effect, Rules, SendMarker


class FifoRules(Rules):
    """The steps of one process."""

    def on_send(self, channel: str) -> Colour:
        """Return what travels with the message: nothing."""
        self._check(channel, self.outgoing, "outgoing")
        return ()

    def on_receive(self, channel: str, message: Any, colour: Colour = ()) -> list[Effect]:
        """Add a message to each recording of its channel. Call it before the state changes."""
        self._check(channel, self.incoming, "incoming")
        for still_open in self._arrived.values():
            if channel in still_open:
                still_open[channel].append(message)
        return []

    def on_marker(self, channel: str, snapshot: str, count: int | None = None) -> list[Effect]:
        """Record the state at the first marker; each marker closes its channel."""
        self._check(channel, self.incoming, "incoming")
        effects = self.begin_snapshot(snapshot)
        if channel in self._arrived.get(snapshot, {}):
            effects += self._closed(snapshot, channel)
        return effects

    def forget(self, snapshot: str) -> None:
        """Take note that the snapshot is complete at every process: here nothing depends on it."""

    def _markers(self, snapshot: str) -> list[Effect]:
        return [SendMarker(channel, snapshot) for channel in self.outgoing]

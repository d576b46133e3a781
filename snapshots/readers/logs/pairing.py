"""Pairs sends and receives of messages without an id by their content."""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from hashlib import blake2b

from snapshots.domain.model.defects import refuse
from snapshots.domain.model.recording import SEND

MOST_WAITING = 1_000_000  # messages under way at once


@dataclass
class Pairing:
    """Pairs a receive with the earliest unpaired send of the same content on its channel.

    Attributes:
        under_way: the number of messages that are sent and not yet received.
        unsent: the number of receives without such a send.
        equal: the number of sends while an equal message was under way: nobody knows which arrived.
    """

    under_way: int = 0
    unsent: int = 0
    equal: int = 0
    _waiting: dict[tuple[Hashable, bytes], deque[str]] = field(default_factory=dict)
    _sent: dict[Hashable, int] = field(default_factory=dict)

    def message_id(self, kind: str, channel: Hashable, content: str) -> str:
        """Return the id of the message of a SEND or RECEIVE. Raises: InputRefused."""
        return (self.send if kind == SEND else self.receive)(channel, content)

    def send(self, channel: Hashable, content: str) -> str:
        """Return the message's id: the number of its send on the channel. Raises: InputRefused."""
        if self.under_way == MOST_WAITING:
            raise refuse(
                "too-large",
                f"More than {MOST_WAITING:,} messages are sent and not received; at most so many "
                "are paired by their content here.",
            )
        self._sent[channel] = number = self._sent.get(channel, 0) + 1
        equals = self._waiting.setdefault((channel, _digest(content)), deque())
        self.equal += bool(equals)
        self.under_way += 1
        equals.append(str(number))
        return str(number)

    def receive(self, channel: Hashable, content: str) -> str:
        """Return the id of the message that arrives, or a new id if no send explains it."""
        key = (channel, _digest(content))
        equals = self._waiting.get(key)
        if equals is None:
            self.unsent += 1
            return f"not sent, {self.unsent}"
        id = equals.popleft()
        self.under_way -= 1
        if not equals:
            del self._waiting[key]
        return id


def _digest(content: str) -> bytes:
    return blake2b(content.encode(), digest_size=16).digest()

"""Sends and receives of messages without an id, paired by their content."""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from hashlib import blake2b

from snapshots.domain.model.defects import refuse

MOST_WAITING = 1_000_000  # messages under way at once


@dataclass
class Pairing:
    """A receive takes the earliest send of the same content on its channel that none has taken.

    waiting: ids of messages under way, by channel and content. unsent: receives without such a
    send. equal: sends whose like was under way already: which of them arrived, nobody knows.
    """

    waiting: dict[tuple[Hashable, bytes], deque[str]] = field(default_factory=dict)
    under_way: int = 0
    unsent: int = 0
    equal: int = 0
    _sent: dict[Hashable, int] = field(default_factory=dict)

    def send(self, channel: Hashable, content: str) -> str:
        """The id of the message: the number of its send on the channel. Raises: InputRefused."""
        if self.under_way == MOST_WAITING:
            raise refuse(
                "too-large",
                f"More than {MOST_WAITING:,} messages are sent and not received; at most so many "
                "are paired by their content here.",
            )
        self._sent[channel] = number = self._sent.get(channel, 0) + 1
        alike = self.waiting.setdefault((channel, _digest(content)), deque())
        self.equal += bool(alike)
        self.under_way += 1
        alike.append(str(number))
        return str(number)

    def receive(self, channel: Hashable, content: str) -> str:
        """The id of the message; one of its own where no send explains it."""
        place = (channel, _digest(content))
        alike = self.waiting.get(place)
        if alike is None:
            self.unsent += 1
            return f"not sent, {self.unsent}"
        id = alike.popleft()
        self.under_way -= 1
        if not alike:
            del self.waiting[place]
        return id


def _digest(content: str) -> bytes:
    return blake2b(content.encode(), digest_size=16).digest()

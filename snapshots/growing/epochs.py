"""What restores take back in an open recording, as its events come.

The rules are those of ``domain.assembling.restores``.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from snapshots.domain.assembling.restores import BEFORE


@dataclass(frozen=True, slots=True)
class Return:
    """A restore of a process.

    Attributes:
        epoch: the epoch that begins with it.
        index: the index of its event.
        at: its instant.
        snapshot: the snapshot that it names; None for the start.
    """

    epoch: int
    index: int
    at: int
    snapshot: str | None


class Epochs:
    """In which epoch each process is, and what the channels to it hold after its restores."""

    def __init__(self) -> None:
        self._returns: dict[int, list[Return]] = defaultdict(list)
        self._contents: dict[tuple[int, str | None], tuple[str, ...]] = {}
        self._again: dict[int, Counter[str]] = {}

    def of(self, process: int) -> int:
        """Return the epoch in which a process is."""
        returns = self._returns.get(process)
        return returns[-1].epoch if returns else BEFORE

    def record(self, channel: int, snapshot: str | None, messages: tuple[str, ...]) -> None:
        """Note what a snapshot recorded in a channel; the first record counts."""
        self._contents.setdefault((channel, snapshot), messages)

    def held(self, channel: int, snapshot: str | None) -> tuple[str, ...]:
        """Return what a channel holds after a restore to a snapshot."""
        return self._contents.get((channel, snapshot), ()) if snapshot is not None else ()

    def go_back(self, process: int, restored: Return, incoming: list[int]) -> None:
        """Note a restore of a process with these incoming channels."""
        self._returns[process].append(restored)
        for channel in incoming:
            self._again[channel] = Counter(self.held(channel, restored.snapshot))

    def comes_again(self, channel: int, message: str | None) -> bool:
        """Take a message out of what the last restore gave back; return whether it was there."""
        again = self._again.get(channel)
        if message is None or not again or not again[message]:
            return False
        again[message] -= 1
        return True

    def takes_back(self, target: int, channel: int, message: str, epoch: int) -> Return | None:
        """Return the restore of the target that takes back a message of this epoch, if any does."""
        for restored in self._returns.get(target, ()):
            if restored.epoch > epoch and message not in self.held(channel, restored.snapshot):
                return restored
        return None

"""What restores take back in an open recording, and what comes again after them, as events come.

The rules are those of ``domain.assembling.restores``.
"""

from collections import defaultdict
from collections.abc import Sequence

from snapshots.domain.assembling.restores import BEFORE, Again, Returns, with_done
from snapshots.domain.model.recording import Restored
from snapshots.store.restores import ByProcess


class Epochs:
    """The epoch of each process, and what the channels to it hold after its restores."""

    def __init__(self, targets: Sequence[int]) -> None:
        """Take the process at the end of each channel."""
        self._incoming: dict[int, list[int]] = defaultdict(list)
        for channel, target in enumerate(targets):
            self._incoming[target].append(channel)
        self._restores: dict[int, list[Restored]] = {}
        self._returns: dict[int, Returns] = defaultdict(Returns)
        self._contents: dict[tuple[int, str | None], tuple[str, ...]] = {}
        self._again: dict[int, Again] = {}  # since the last restore of each channel's target
        self._whole: dict[int, tuple[Restored, ...]] = {}
        self._changed: set[int] = set()

    def of(self, process: int) -> int:
        """Return the epoch in which a process is."""
        restores = self._restores.get(process)
        return restores[-1].epoch if restores else BEFORE

    def record(self, channel: int, snapshot: str | None, messages: tuple[str, ...]) -> None:
        """Note what a snapshot recorded in a channel; the first record counts."""
        self._contents.setdefault((channel, snapshot), messages)

    def go_back(self, process: int, restored: Restored) -> list[int]:
        """Note a restore of a process, and return the channels to it."""
        if own := self._restores.get(process):
            own[-1] = self._last(process)
        self._restores.setdefault(process, []).append(restored)
        self._returns[process].add(restored.epoch)
        self._changed.add(process)
        incoming, name = self._incoming[process], restored.snapshot
        for channel in incoming:
            held = () if name is None else self._contents.get((channel, name), ())
            self._again[channel] = Again([held])
        return incoming

    def comes_again(self, channel: int, target: int, message: str | None, index: int) -> bool:
        """Take a receive as one of what the last restore gave back; return whether it is one."""
        again = self._again.get(channel)
        if again is None or not again.takes(0, message, index):
            return False
        self._changed.add(target)
        return True

    def takes_back(self, target: int, epoch: int) -> Restored | None:
        """Return the restore of a process that takes back what is under way from an epoch."""
        returns = self._returns.get(target)
        number = None if returns is None else returns.takes_back(epoch)
        return None if number is None else self._restores[target][number]

    def restores(self) -> ByProcess:
        """Return the restores of each process; the same object if nothing changed."""
        if self._changed:
            changed = {
                process: (*self._restores[process][:-1], self._last(process))
                for process in self._changed
            }
            self._whole = dict(sorted((self._whole | changed).items()))
            self._changed.clear()
        return self._whole

    def _last(self, process: int) -> Restored:
        """Return the last restore of a process, with what came again after it."""
        found = (self._again[channel].done().get(0) for channel in self._incoming[process])
        restored = self._restores[process][-1]
        return with_done(restored, [each for each in found if each is not None])

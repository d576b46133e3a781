"""What a restore takes back: which messages meet which receives in a log that goes on after one.

A ``restore`` with a whole number ``epoch`` says that all processes go back to a snapshot, or to the
start if it names none. The events of a process behind it belong to that epoch; those before the
first belong to no epoch, which counts as the earliest. A ``restore`` without ``epoch`` changes
nothing here: the logs of engines have those, and say themselves what they threw away.

* A message belongs to the epoch of its send, and is received in it or never.
* A message that is not received when its receiver goes back is *taken back*. It is in its channel
  until that ``restore``, and influences nobody.
* What the snapshot recorded in a channel is received again after the restore, with its id. Such a
  receive is part of the restore: it meets no send, and comes before all others of its id.
* Any other receive of a message of another epoch is *late*: it is a stray, and a fault.
"""

import itertools
import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from snapshots.domain.assembling.matching import Matches
from snapshots.domain.model import defects as complaints
from snapshots.domain.model.defects import Defect, Defects
from snapshots.domain.model.recording import (
    RECORD_CHANNEL,
    RECORD_STATE,
    RESTORE,
    LoggedEvent,
    MessageId,
    Restored,
    SnapshotId,
)
from snapshots.domain.model.topology import Channel, ChannelId, ProcessId, Topology

BEFORE = -1  # the epoch before the first restore
MOST_RESTORES = 10_000  # of one process, so that the work for all of its channels stays bounded


def epoch_of(extra: str | None) -> int | None:
    """Return the epoch that a ``restore`` names; None if it names none."""
    if extra is None or '"epoch"' not in extra:
        return None
    epoch = json.loads(extra).get("epoch")
    return epoch if type(epoch) is int and epoch >= 0 else None


class History:
    """The restores with an epoch in a log, and what was recorded that they may go back to.

    Attributes:
        restores: those of each process that has any, in order.
        recorded: for each snapshot, the processes that recorded their state, and the row.
        contents: for each channel and snapshot, the ids that were recorded.
    """

    def __init__(self, rows: Iterable[LoggedEvent]) -> None:
        """Take all events, process by process. If something is recorded again, the first counts."""
        self.restores: dict[ProcessId, list[Restored]] = {}
        self.recorded: dict[SnapshotId, dict[ProcessId, int]] = {}
        self.contents: dict[tuple[ChannelId, SnapshotId], tuple[MessageId, ...]] = {}
        for row, event in enumerate(rows):
            if event.kind == RESTORE and (epoch := epoch_of(event.extra)) is not None:
                restored = Restored(row, epoch, event.snapshot, event.line)
                self.restores.setdefault(event.process, []).append(restored)
            elif event.snapshot is None:
                continue
            elif event.kind == RECORD_STATE:
                self.recorded.setdefault(event.snapshot, {}).setdefault(event.process, row)
            elif event.kind == RECORD_CHANNEL and event.channel is not None:
                self.contents.setdefault((event.channel, event.snapshot), event.messages or ())
        require_few(self.restores)

    def ends(self, channel: Channel) -> tuple[list[Restored], list[Restored]]:
        """Return the restores of a channel's source and target."""
        return self.restores.get(channel.source, []), self.restores.get(channel.target, [])

    def held(self, channel: Channel) -> list[tuple[MessageId, ...]]:
        """Return what the channel holds after each restore of its target."""
        named = (restored.snapshot for restored in self.ends(channel)[1])
        return [() if name is None else self.contents.get((channel.id, name), ()) for name in named]

    def defects(self, topology: Topology) -> list[Defect]:
        """Return where processes did not go back together, and what was recorded across that."""
        return [
            *apart(self.restores),
            *alone(self.restores, topology),
            *cut_through(self.restores, self.recorded),
        ]


def meet(
    sends: Iterable[tuple[Hashable, int]],
    receives: Iterable[tuple[Hashable, int]],
    source: Sequence[Restored],
    target: Sequence[Restored],
    held: Sequence[Sequence[Hashable]],
) -> Matches:
    """Match the k-th send of an id in an epoch with its k-th receive in that epoch.

    What the snapshot held is received again first, and meets no send.

    Args:
        sends, receives: (id, row) of each, in the order of their process.
        source, target: the restores of the channel's ends, in order.
        held: for each restore of the target, the ids that its snapshot recorded in the channel.
    """
    matches = Matches()
    waiting: dict[Hashable, dict[int, deque[int]]] = defaultdict(lambda: defaultdict(deque))
    for key, row in sends:
        waiting[key][_epoch(source, row)].append(row)
    again = Again(held)
    for key, row in receives:
        number = _number(target, row)
        epoch, sent = target[number - 1].epoch if number else BEFORE, waiting.get(key, {})
        if number and again.takes(number - 1, key, row):
            continue
        if sent.get(epoch):
            matches.received[sent[epoch].popleft()] = row
        elif epoch in sent or (number and again.holds(number - 1, key)):
            matches.surplus.append(row)
        else:
            (matches.late if sent else matches.unexplained).append(row)
    matches.taken_back = _taken_back(waiting, target)
    matches.again = again.done()
    return matches


class Again:
    """Counts what is received again after each restore; a snapshot is counted once for all."""

    def __init__(self, held: Sequence[Sequence[Hashable]]) -> None:
        """Take, for each restore, the ids that its snapshot recorded in the channel."""
        self._held = held
        self._counts: dict[int, Counter[Hashable]] = {}
        self._used: list[Counter[Hashable]] = [Counter() for _ in held]
        self._last: list[int | None] = [None] * len(held)

    def holds(self, number: int, key: Hashable) -> bool:
        """Tell whether the snapshot of a restore held an id."""
        return self._count(number)[key] > 0

    def takes(self, number: int, key: Hashable, row: int) -> bool:
        """Take a receive as one of what the snapshot held, if any of its id is left."""
        if self._used[number][key] >= self._count(number)[key]:
            return False
        self._used[number][key] += 1
        self._last[number] = row
        return True

    def done(self) -> dict[int, tuple[int | None, Hashable | None]]:
        """Return, for each restore whose snapshot held something, the last receive of it.

        It is None, and an id that is missing stands beside it, if not all of it was received.
        """
        found: dict[int, tuple[int | None, Hashable | None]] = {}
        for number, held in enumerate(self._held):
            used = self._used[number]
            if held and used.total() == len(held):
                found[number] = self._last[number], None
            elif held:
                left = Counter(used)
                found[number] = None, next(key for key in held if not _take(left, key))
        return found

    def _count(self, number: int) -> Counter[Hashable]:
        held = self._held[number]
        if id(held) not in self._counts:
            self._counts[id(held)] = Counter(held)
        return self._counts[id(held)]


def _take(left: Counter[Hashable], key: Hashable) -> bool:
    """Take one of an id, and tell whether there was one."""
    if left[key] <= 0:
        return False
    left[key] -= 1
    return True


class Returns:
    """The epochs to which a process went back, in the order of its restores."""

    def __init__(self, epochs: Iterable[int] = ()) -> None:
        self._last: dict[int, int] = {}
        self._highest: list[int] = []
        for epoch in epochs:
            self.add(epoch)

    def add(self, epoch: int) -> None:
        """Note the next restore."""
        self._last[epoch] = len(self._highest)
        self._highest.append(max(epoch, self._highest[-1] if self._highest else epoch))

    def takes_back(self, epoch: int) -> int | None:
        """Return the number of the restore that takes back what is under way from an epoch.

        It is the first restore after that epoch; None if there is none.
        """
        last = self._last.get(epoch)
        number = bisect_right(self._highest, epoch) if last is None else last + 1
        return number if number < len(self._highest) else None


def _taken_back(
    waiting: Mapping[Hashable, Mapping[int, Iterable[int]]], target: Sequence[Restored]
) -> dict[int, int]:
    """Match what was never received with the restore that takes it back."""
    returns = Returns(restored.epoch for restored in target)
    taken = {}
    for by_epoch in waiting.values():
        for epoch, rows in by_epoch.items():
            if (number := returns.takes_back(epoch)) is not None:
                taken.update(dict.fromkeys(rows, target[number].row))
    return taken


def with_done(restored: Restored, again: Iterable[tuple[int | None, Hashable | None]]) -> Restored:
    """Return a restore with what its process received again on all its channels.

    Args:
        again: what ``meet`` found for it on each channel.
    """
    found = list(again)
    missing = next((key for row, key in found if row is None), None)
    if missing is not None:
        return replace(restored, missing=MessageId(str(missing)))
    rows = [row for row, _ in found if row is not None]
    return replace(restored, done=max((restored.row, *rows)))


def require_few(restores: Mapping[ProcessId, Sequence[Restored]]) -> None:
    """Check that no process goes back too often. Raises: InputRefused."""
    defects = Defects()
    for process, own in restores.items():
        if len(own) > MOST_RESTORES:
            line = own[MOST_RESTORES].line
            defects.add(
                complaints.too_many_restores(process=process, most=MOST_RESTORES, line=line)
            )
    defects.raise_refused()


def restore_before(restores: Sequence[Restored], position: int) -> Restored | None:
    """Return the last restore of a process before a position; None if there is none."""
    number = _number(restores, position)
    return restores[number - 1] if number else None


def _number(restores: Sequence[Restored], row: int) -> int:
    """Return how many of the restores come before the event in this row."""
    return bisect_left(restores, row, key=attrgetter("row"))


def _epoch(restores: Sequence[Restored], row: int) -> int:
    number = _number(restores, row)
    return restores[number - 1].epoch if number else BEFORE


def apart(restores: Mapping[ProcessId, Sequence[Restored]]) -> Iterable[Defect]:
    """Yield where an epoch is not above the one before, or its processes went to two snapshots."""
    first: dict[int, tuple[ProcessId, Restored]] = {}
    for process, own in restores.items():
        for earlier, later in itertools.pairwise(own):
            if later.epoch <= earlier.epoch:
                yield complaints.epoch_fell(
                    process=process, epoch=later.epoch, earlier=earlier.epoch, line=later.line
                )
        for restored in own:
            other, met = first.setdefault(restored.epoch, (process, restored))
            if met.snapshot != restored.snapshot:
                yield complaints.restored_apart(
                    process=process,
                    epoch=restored.epoch,
                    there=_named(restored.snapshot),
                    other=other,
                    elsewhere=_named(met.snapshot),
                    line=restored.line,
                )


def alone(restores: Mapping[ProcessId, Sequence[Restored]], topology: Topology) -> Iterable[Defect]:
    """Yield the epochs in which some processes of a scope go back, and one of it never does.

    A process may be killed while all go back. The next restore of all then takes back the epoch
    that it missed, which is no fault.
    """
    scopes: dict[str | None, list[ProcessId]] = {}
    for process in topology.processes:
        scopes.setdefault(process.scope, []).append(process.id)
    for members in scopes.values():
        own = {name: {item.epoch for item in restores.get(name, ())} for name in members}
        taken_back = max(set.intersection(*own.values()), default=BEFORE)
        for name in members:
            for item in restores.get(name, ()):
                other = next((each for each in members if item.epoch not in own[each]), None)
                if other is not None and item.epoch > taken_back:
                    yield complaints.restored_alone(
                        process=name, epoch=item.epoch, other=other, line=item.line
                    )
                    for epochs in own.values():
                        epochs.add(item.epoch)  # it is said once


def cut_through(
    restores: Mapping[ProcessId, Sequence[Restored]],
    recorded: Mapping[SnapshotId, Mapping[ProcessId, int]],
) -> Iterable[Defect]:
    """Yield the snapshots that some processes recorded in an earlier epoch than others.

    Args:
        recorded: for each snapshot, the processes that recorded their state, and the row.
    """
    if not any(restores.values()):
        return
    for snapshot, places in recorded.items():
        epochs = [(_epoch(restores.get(name, ()), row), name) for name, row in places.items()]
        (least, early), (most, late) = min(epochs), max(epochs)
        if least == most:
            continue
        own = next(restored for restored in restores[late] if restored.epoch == most)
        yield complaints.recorded_across(
            snapshot=snapshot, process=early, epoch=most, other=late, line=own.line
        )


def _named(snapshot: SnapshotId | None) -> str:
    return "the start" if snapshot is None else complaints.quoted(snapshot)

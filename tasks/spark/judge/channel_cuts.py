"""Hold a channel cut by every snapshot, and the facts that channels add to one snapshot.

Shapes: S snapshots, by their code in the manifest; M messages of one channel, by ordinal.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from snapshots.domain.judging.findings import Findings, Place
from snapshots.domain.model.recording import Instant, Marker, MessageId
from snapshots.store.layout import NONE
from snapshots.store.mapped import ragged
from tasks.spark.judge.lanes import Lane


@dataclass
class SnapshotFacts:
    """The facts that some channels add to one snapshot.

    Args:
        unsent: channels whose source recorded but sent no marker, the first MOST_WITNESSES.
        unclosed: (channel, marker) of markers that never arrived, the first MOST_WITNESSES.
        unsent_total, unclosed_total: how many there are in all.
        amount: sum of the values in the channels; None if one is unknown or not a number.
        began: (step, at) of the first marker sent.
        first_marker: for each process code, the index of the first marker that it received.
    """

    findings: Findings = field(default_factory=Findings)
    unsent: list[int] = field(default_factory=list)
    unsent_total: int = 0
    unclosed: list[tuple[int, Marker]] = field(default_factory=list)
    unclosed_total: int = 0
    amount: int | float | None = 0
    markers_sent: int = 0
    markers_received: int = 0
    began: tuple[int, int] | None = None
    ended_at: Instant | None = None
    first_marker: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """The messages that a process recorded for a channel, and where it did so."""

    messages: list[MessageId]
    place: Place


@dataclass
class ChannelCut:
    """One channel cut by every snapshot.

    Args:
        source, target: int64[S], the positions of the two ends, NONE if that end never recorded.
        both: bool[S], whether both ends recorded.
        sent: int64[S], how many messages are sent inside.
        flying: snapshots and ordinals of all messages in flight, sorted by both.
        entries: the recorded list of each snapshot.
    """

    lane: Lane
    markers: Lane
    source: np.ndarray
    target: np.ndarray
    entries: dict[int, Entry]

    def __post_init__(self) -> None:
        self.both = (self.source != NONE) & (self.target != NONE)
        self.sent = np.searchsorted(self.lane.sent, self.source)
        self.flying = self._flying()
        self._bounds = np.searchsorted(self.flying[0], np.arange(len(self.source) + 1))

    def _flying(self) -> tuple[np.ndarray, np.ndarray]:
        snapshots = np.flatnonzero(self.both)
        first = np.searchsorted(self.lane.reach, self.target[snapshots])
        snapshot, ordinal = ragged(snapshots, first, self.sent[snapshots])
        kept = self.lane.received[ordinal] >= self.target[snapshot]
        return snapshot[kept], ordinal[kept]

    @cached_property
    def first_known(self) -> dict[int, np.ndarray]:
        """Return, by snapshot, the ordinal of the first message with each recorded id."""
        lists = [entry.messages for entry in self.entries.values()]
        ordinals = self.lane.first_of([name for names in lists for name in names])
        ends = np.cumsum([len(names) for names in lists])
        return dict(zip(self.entries, np.split(ordinals, ends[:-1]), strict=True))

    def flying_in(self, snapshot: int) -> np.ndarray:
        """Return the ordinals in flight in one snapshot."""
        return self.flying[1][self._bounds[snapshot] : self._bounds[snapshot + 1]]

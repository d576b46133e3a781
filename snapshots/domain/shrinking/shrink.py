"""Shrink a recording to the smallest part in which one finding about a snapshot is still made.

A part is *sound* if everything that is found in it about the snapshot is also found in the
surroundings of the witness, where it is true of the whole recording. The result is sound, has the
finding with the same facts about the same events, and is minimal: without any message, marker or
other single event it would lose the finding or would not be sound.

A consistent snapshot has no witness. Its part shows one message that was in flight and recorded, or
one recorded state if there is no such message.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.findings import INCOMPLETE
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import MARKER_SEND, SnapshotId
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.shrinking import description
from snapshots.domain.shrinking.minimal import OutOfTrials, minimal
from snapshots.domain.shrinking.part import Part, part_of
from snapshots.domain.shrinking.surroundings import Unit, surroundings
from snapshots.domain.shrinking.whole import Whole
from snapshots.domain.shrinking.witness import Json, Witness, identity, in_the_whole

MOST_JUDGED = 100_000  # events in all trials together


class NotShown(Exception):
    """The events around a witness do not lead to the finding."""


class NoEvents(Exception):
    """The finding rests on no event of the log."""


@dataclass(frozen=True)
class Shrunk:
    """The smallest part that still has a finding.

    Attributes:
        part: the events, with a header that says what they are a part of.
        verdict: the verdict of the snapshot in the part.
        is_minimal: whether it was tried for each event that it cannot be left out.
    """

    part: Part
    snapshot: SnapshotId
    witness: Witness
    verdict: str
    is_minimal: bool


def shrink(whole: Whole, witness: Witness) -> Shrunk:
    """Return the smallest part of a recording that still shows a witness.

    Raises: NoEvents, NotShown, TooManyEvents; KeyError if the witness names what does not exist.
    """
    if not witness.rests_on_events:
        raise NoEvents
    trial = _Trial(whole, witness)
    units, is_minimal = minimal(trial.begin(), trial.holds)
    part, findings = trial.judged(units)
    named = replace(part, header=description.header_of(whole, witness, part))
    return Shrunk(named, whole.snapshot, witness, findings[0]["verdict"], is_minimal)


class _Trial:
    """Judges parts of the surroundings of one witness."""

    def __init__(self, whole: Whole, witness: Witness) -> None:
        self._witness = witness
        self._whole = whole
        self._around = surroundings(whole, witness, with_ways=witness.verdict == INCOMPLETE)
        self._header = description.bare_header(whole.header, whole.snapshot)
        self._allowed: frozenset[str] = frozenset()
        self._left = MOST_JUDGED

    def begin(self) -> Sequence[Unit]:
        """Return the units to begin with, without markers if these can all be left out.

        Raises: NotShown.
        """
        _, found = self.judged(self._around.units)
        if not self._around.ways and self._goals(found):
            self._around = surroundings(self._whole, self._witness, with_ways=True)
            _, found = self.judged(self._around.units)
        self._allowed = frozenset(map(identity, found))
        if self._witness.identity not in self._allowed:
            raise NotShown
        units = self._around.units
        without_markers = [unit for unit in units if not self._is_marker(unit)]
        return without_markers if self.holds(without_markers) else units

    def holds(self, units: Sequence[Unit]) -> bool:
        """Tell whether a part is sound and has the finding. Raises: OutOfTrials."""
        self._left -= sum(map(len, units))
        if self._left < 0:
            raise OutOfTrials
        _, findings = self.judged(units)
        found = set(map(identity, findings))
        return self._witness.identity in found and found <= self._allowed

    def judged(self, units: Sequence[Unit]) -> tuple[Part, Sequence[Json]]:
        """Return the part that consists of these units, and what is found in it.

        A finding that something is missing names the path there, which the header then needs.
        """
        part, found = self._judged(units, frozenset())
        goals: frozenset[ProcessId] = frozenset()
        while not (more := self._goals(found)) <= goals:
            goals |= more
            part, found = self._judged(units, goals)
        return part, found

    def _judged(
        self, units: Sequence[Unit], goals: Collection[ProcessId]
    ) -> tuple[Part, Sequence[Json]]:
        part = part_of(self._header, self._around, self._witness, units, goals)
        return part, self._findings(part)

    def _goals(self, findings: Sequence[Json]) -> frozenset[ProcessId]:
        """Return the processes to which findings name a path; a derived recording has none."""
        if is_derived(self._header.extra):
            return frozenset()
        channel_by_id = self._around.topology.channel_by_id
        return frozenset(
            channel_by_id[finding["channel"]].source if "channel" in finding else finding["process"]
            for finding in findings
            if finding["verdict"] == INCOMPLETE
        )

    def _findings(self, part: Part) -> Sequence[Json]:
        """Return what is found in a part, worst first, with the indexes of the whole recording.

        That is nothing if the part does not show the message of a consistent snapshot.
        """
        reports = judge(assemble(part.header, part.events).recording)
        own = [report for report in reports if report.snapshot == self._whole.snapshot]
        return [
            in_the_whole(as_json(finding), part.indexes)
            for report in own
            if self._shows_message(report)
            for finding in report.findings
        ]

    def _shows_message(self, report: SnapshotReport) -> bool:
        channel = self._witness.shown_on
        return channel is None or bool(
            report.in_flight.get(channel) and report.recorded_channels.get(channel)
        )

    def _is_marker(self, unit: Unit) -> bool:
        return any(self._around.events[key].kind == MARKER_SEND for key in unit)

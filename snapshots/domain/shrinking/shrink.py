"""Shrink a recording to the smallest part in which one finding about a snapshot is still made.

A part is *sound* if everything that is found in it about the snapshot is also found in the
surroundings of the witness, where it is true of the whole recording. The result is sound, has the
finding with the same facts about the same events, and is minimal: without any message, marker or
other single event it would lose the finding or would not be sound.

A consistent snapshot has no witness. Its part shows one message that was in flight and recorded, or
one recorded state if there is no such message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import SnapshotReport, judge
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import MARKER_SEND, SnapshotId
from snapshots.domain.model.topology import JsonText
from snapshots.domain.shrinking import description
from snapshots.domain.shrinking.minimal import OutOfTrials, minimal
from snapshots.domain.shrinking.part import Part, part_of
from snapshots.domain.shrinking.surroundings import Surroundings, Unit, surroundings
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
    part = trial.part(units)
    report = _report(part, whole.snapshot)
    assert report is not None  # the trial with these units held
    named = replace(part, header=description.header_of(whole, witness, part))
    return Shrunk(named, whole.snapshot, witness, report.verdict, is_minimal)


class _Trial:
    """Judges parts of the surroundings of one witness."""

    def __init__(self, whole: Whole, witness: Witness) -> None:
        self._snapshot = whole.snapshot
        self._witness = witness
        self._around: Surroundings = surroundings(whole, witness)
        self._header = description.bare_header(whole.header, whole.snapshot)
        self._allowed: frozenset[JsonText] = frozenset()
        self._left = MOST_JUDGED

    def begin(self) -> Sequence[Unit]:
        """Return the units to begin with, without markers if these can all be left out.

        Raises: NotShown.
        """
        units = self._around.units
        self._allowed = self._found(units)
        if self._witness.identity not in self._allowed:
            raise NotShown
        without_markers = [unit for unit in units if not self._is_marker(unit)]
        return without_markers if self.holds(without_markers) else units

    def holds(self, units: Sequence[Unit]) -> bool:
        """Tell whether a part is sound and has the finding. Raises: OutOfTrials."""
        self._left -= sum(map(len, units))
        if self._left < 0:
            raise OutOfTrials
        found = self._found(units)
        return self._witness.identity in found and found <= self._allowed

    def part(self, units: Sequence[Unit]) -> Part:
        """Return the part that consists of these units."""
        return part_of(self._header, self._around, self._witness, units)

    def _found(self, units: Sequence[Unit]) -> frozenset[JsonText]:
        """Return the findings of a part; none if it does not show the message that it is to."""
        part = self.part(units)
        report = _report(part, self._snapshot)
        if report is None or not self._shows_message(report):
            return frozenset()
        return frozenset(map(identity, _findings(report, part)))

    def _shows_message(self, report: SnapshotReport) -> bool:
        channel = self._witness.shown_on
        return channel is None or bool(
            report.in_flight.get(channel) and report.recorded_channels.get(channel)
        )

    def _is_marker(self, unit: Unit) -> bool:
        return any(self._around.events[key].kind == MARKER_SEND for key in unit)


def _report(part: Part, snapshot: SnapshotId) -> SnapshotReport | None:
    recording = assemble(part.header, part.events).recording
    return next((report for report in judge(recording) if report.snapshot == snapshot), None)


def _findings(report: SnapshotReport, part: Part) -> Iterator[Json]:
    for finding in report.findings:
        yield in_the_whole(as_json(finding), part.indexes)

"""Find the snapshots of which nobody can say after a restore whether they are consistent.

After a restore a system goes on from the snapshot to which it went back. So a snapshot that was
recorded after one is judged only if the log shows that the restore was right:

* every process went back in the same epoch, and to the same snapshot;
* that snapshot was recorded by all of them before, and is consistent;
* every process has the state that it recorded there;
* every process had received again what the snapshot held for it, before it recorded anew.

If one of these is not so, or the log does not show it, the verdict is ``unknown`` with the reason,
and nothing else is said of the snapshot but what is missing of it. The reference and the Spark job
both use this module.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from snapshots.domain.assembling.restores import BEFORE, restore_before
from snapshots.domain.judging.answers import FAILS, NOT_KNOWN, QUESTIONS, RULE, Answer
from snapshots.domain.judging.findings import CONSISTENT, INCOMPLETE, UNKNOWN, Finding
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.totals import NOT_SUMMED
from snapshots.domain.judging.witnesses import short
from snapshots.domain.model.defects import quoted, times
from snapshots.domain.model.recording import Restored, SnapshotId
from snapshots.domain.model.topology import JsonText, ProcessId

Restores = Mapping[ProcessId, tuple[Restored, ...]]
StateAfter = Callable[[ProcessId, Restored], JsonText | None]
"""Return the state of a process right after a restore, None if it is not known."""


def judged_after_restores(
    reports: tuple[SnapshotReport, ...],
    restores: Restores,
    start: Mapping[ProcessId, JsonText | None],
    state_after: StateAfter,
) -> tuple[SnapshotReport, ...]:
    """Return the reports, each as not known if a restore leaves its snapshot open.

    Args:
        restores: those with an epoch, of each process that has any.
        start: the state of each process in the header.
    """
    if not restores:
        return reports
    doubts = Doubts(restores, start, state_after)
    found: dict[SnapshotId, SnapshotReport] = {}
    for report in sorted(reports, key=doubts.epoch):
        found[report.snapshot] = doubts.judged(report, found)
    return tuple(found[report.snapshot] for report in reports)


def _not_known(report: SnapshotReport, doubt: Finding) -> SnapshotReport:
    """Return a report that says nothing but this, and what is missing of the snapshot."""
    missing = report.counts.get(INCOMPLETE, 0)
    answers = [Answer(question, NOT_KNOWN, doubt.sentence) for question in QUESTIONS]
    if missing:
        what = times(missing, "recording or marker", "recordings or markers")
        answers[-1] = Answer(RULE, FAILS, f"{what} missing.")
    return replace(
        report,
        findings=(*(item for item in report.findings if item.verdict == INCOMPLETE), doubt),
        counts={**({INCOMPLETE: missing} if missing else {}), UNKNOWN: 1},
        answers=tuple(answers),
        totals=NOT_SUMMED,
    )


class Doubts:
    """Finds the first reason why a snapshot is not judged; see judged_after_restores."""

    def __init__(
        self,
        restores: Restores,
        start: Mapping[ProcessId, JsonText | None],
        state_after: StateAfter,
    ) -> None:
        """Take what ``judged_after_restores`` takes."""
        self._restores = restores
        self._start = start
        self._state_after = state_after
        self._by_epoch: dict[ProcessId, dict[int, Restored]] = {}
        self._fallen: dict[tuple[ProcessId, int], int] = {}
        for process, own in restores.items():
            highest = BEFORE
            for restored in own:
                self._by_epoch.setdefault(process, {}).setdefault(restored.epoch, restored)
                if restored.epoch <= highest:
                    self._fallen[process, restored.row] = highest
                highest = max(highest, restored.epoch)

    def epoch(self, report: SnapshotReport) -> int:
        """Return the latest epoch in which a process recorded the snapshot."""
        own = (self._last(process, position) for process, position in report.positions.items())
        return max((_epoch(restored) for restored in own), default=BEFORE)

    def judged(
        self, report: SnapshotReport, judged: Mapping[SnapshotId, SnapshotReport]
    ) -> SnapshotReport:
        """Return the report, as not known if a restore leaves its snapshot open.

        Args:
            judged: what this method returned for the snapshots of earlier epochs.
        """
        doubt = self._about(report, judged)
        return report if doubt is None else _not_known(report, doubt)

    def _about(
        self, report: SnapshotReport, judged: Mapping[SnapshotId, SnapshotReport]
    ) -> Finding | None:
        own = {name: self._last(name, at) for name, at in report.positions.items()}
        epoch = self.epoch(report)
        if epoch == BEFORE:
            return None
        process, restored = next(item for item in own.items() if _epoch(item[1]) == epoch)
        assert restored is not None  # for it has an epoch
        back = {name: self._in_epoch(name, epoch) for name in report.processes}
        return (
            _across(report.snapshot, own, process, epoch)
            or self._fell(own)
            or _apart(back, process, restored)
            or self._basis(back, restored.snapshot, judged)
            or _pending(report, own)
        )

    def _last(self, process: ProcessId, position: int) -> Restored | None:
        return restore_before(self._restores.get(process, ()), position)

    def _in_epoch(self, process: ProcessId, epoch: int) -> Restored | None:
        return self._by_epoch.get(process, {}).get(epoch)

    def _fell(self, own: Mapping[ProcessId, Restored | None]) -> Finding | None:
        for process, restored in own.items():
            earlier = None if restored is None else self._fallen.get((process, restored.row))
            if restored is not None and earlier is not None:
                return _doubt(
                    process,
                    f"{process} went back in epoch {restored.epoch} after epoch {earlier}, so "
                    "nothing tells which events belong to one run.",
                )
        return None

    def _basis(
        self,
        back: Mapping[ProcessId, Restored | None],
        basis: SnapshotId | None,
        judged: Mapping[SnapshotId, SnapshotReport],
    ) -> Finding | None:
        if basis is None:
            return self._other_state(back, self._start, "the start, where its state is")
        report = judged.get(basis)
        if report is None:
            return _doubt(
                None,
                f"The system went back to snapshot {quoted(basis)}, which nobody recorded before.",
            )
        for process, restored in back.items():
            position = report.positions.get(process)
            if restored is not None and (position is None or position >= restored.row):
                return _doubt(
                    process,
                    f"{process} went back to snapshot {quoted(basis)}, which it had not recorded.",
                )
        return _basis_in_doubt(report) or self._other_state(
            back, report.recorded_states, f"snapshot {quoted(basis)}, where it recorded"
        )

    def _other_state(
        self,
        back: Mapping[ProcessId, Restored | None],
        recorded: Mapping[ProcessId, JsonText | None],
        where: str,
    ) -> Finding | None:
        for process, restored in back.items():
            expected = recorded.get(process)
            state = None if restored is None else self._state_after(process, restored)
            if expected is not None and state is not None and state != expected:
                return _doubt(
                    process,
                    f"{process} went back to {where} {short(expected)}, but right after it the log "
                    f"has the state {short(state)}.",
                )
        return None


def _across(
    snapshot: SnapshotId,
    own: Mapping[ProcessId, Restored | None],
    process: ProcessId,
    epoch: int,
) -> Finding | None:
    for other, restored in own.items():
        if _epoch(restored) != epoch:
            return _doubt(
                other,
                f"{other} recorded {snapshot} before the restore of epoch {epoch}, and {process} "
                "after it. It is no state of one run.",
            )
    return None


def _apart(
    back: Mapping[ProcessId, Restored | None], process: ProcessId, met: Restored
) -> Finding | None:
    for other, restored in back.items():
        if restored is None:
            return _doubt(
                other,
                f"{process} went back in epoch {met.epoch}, and {other} never did. After that, the "
                "events of the two are not of one run.",
            )
        if restored.snapshot != met.snapshot:
            return _doubt(
                other,
                f"In epoch {met.epoch}, {process} went back to {_named(met.snapshot)} and {other} "
                f"to {_named(restored.snapshot)}, so their events are not of one run.",
            )
    return None


def _basis_in_doubt(report: SnapshotReport) -> Finding | None:
    """Say that the snapshot to which the system went back is not known to be whole."""
    before = f"The system went back to snapshot {quoted(report.snapshot)}"
    if report.verdict != CONSISTENT:
        return _doubt(
            None,
            f"{before}, whose own verdict is {report.verdict}. What follows from it is not judged.",
        )
    for channel, flying in report.in_flight.items():
        if flying and channel not in report.recorded_channels:
            return _doubt(
                None, f"{before}, and the log does not say what it had recorded on {channel}."
            )
    return None


def _pending(report: SnapshotReport, own: Mapping[ProcessId, Restored | None]) -> Finding | None:
    for process, restored in own.items():
        if restored is None or (restored.snapshot is None and restored.done is not None):
            continue
        held = f"all that snapshot {quoted(restored.snapshot)} held for it"
        if restored.done is None:
            return _doubt(
                process,
                f"After {process} went back, it never received again {held}: "
                f"{restored.missing} is missing.",
            )
        if restored.done >= report.positions[process]:
            return _doubt(
                process,
                f"When {process} recorded {report.snapshot}, it had not yet received again {held}: "
                f"that took until its event {restored.done}.",
            )
    return None


def _doubt(process: ProcessId | None, sentence: str) -> Finding:
    return Finding(UNKNOWN, sentence, process=process)


def _epoch(restored: Restored | None) -> int:
    return BEFORE if restored is None else restored.epoch


def _named(snapshot: SnapshotId | None) -> str:
    return "the start" if snapshot is None else f"snapshot {quoted(snapshot)}"

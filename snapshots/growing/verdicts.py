"""Keep the verdicts of an open recording: those of its snapshots that are there as a whole.

A restore leaves it open whether a snapshot behind it is consistent; ``domain.judging.restored`` has
the rules.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from snapshots.domain.assembling.restores import BEFORE
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.restored import Doubts
from snapshots.domain.model.recording import SnapshotId
from snapshots.growing.judging import SnapshotSoFar
from snapshots.growing.tables import GrowingTables, JudgedRows
from snapshots.store.cut import state_after
from snapshots.store.layout import NONE, SNAPSHOT_CHANNELS, SNAPSHOT_STATES

if TYPE_CHECKING:
    from snapshots.store.restores import ByProcess


class Verdicts:
    """The snapshots of an open recording that are judged.

    Attributes:
        fresh: the summaries that no row has yet, by snapshot; who writes the row takes them out.
    """

    def __init__(self) -> None:
        self.fresh: dict[str, dict[str, Any]] = {}
        self._restores: ByProcess = {}
        self._under_way: set[int] = set()  # the codes of what has begun and is not judged
        self._by_itself: dict[SnapshotId, SnapshotReport] = {}  # as if no restore came before
        self._judged: dict[SnapshotId, SnapshotReport] = {}
        self._rows: dict[SnapshotId, JudgedRows] = {}

    def take(self, tables: GrowingTables, changed: Collection[int]) -> None:
        """Judge the snapshots of which something has come, and now all that will come.

        One is judged again if more of it comes, such as what a channel held. All are looked at
        again if a restore came, or something of one to which a restore may have gone back.
        """
        is_other = tables.restores is not self._restores
        self._restores = tables.restores
        fresh = self._fresh(tables, self._under_way.union(changed) if is_other else changed)
        doubts = _doubts(tables)
        newest = max((own[-1].epoch for own in tables.restores.values()), default=BEFORE)
        if is_other or any(doubts.epoch(report) < newest for report in fresh):
            fresh = list(self._by_itself.values())
        for report in sorted(fresh, key=doubts.epoch):
            self._keep(doubts.judged(report, self._judged), tables)

    def _fresh(self, tables: GrowingTables, codes: Collection[int]) -> list[SnapshotReport]:
        """Judge those of these snapshots of which all is there, as if no restore came before.

        What was judged is judged again, even if it goes on behind a restore that cut it off.
        """
        fresh = []
        for code in sorted(codes):
            snapshot = SnapshotSoFar(tables, code)
            is_judged = snapshot.id in self._by_itself
            if is_judged or snapshot.is_complete or snapshot.is_cut_off:
                fresh.append(snapshot.judged())
                self._under_way.discard(code)
            elif snapshot.has_begun:
                self._under_way.add(code)
        self._by_itself |= {report.snapshot: report for report in fresh}
        return fresh

    def _keep(self, report: SnapshotReport, tables: GrowingTables) -> None:
        name = report.snapshot
        if report != self._judged.get(name):
            self._judged[name] = report
            self._rows[name] = _rows_of(report, tables)
            self.fresh[name] = report.summary()

    def rows(self, tables: GrowingTables) -> Mapping[int, JudgedRows]:
        """Return the rows of the judged snapshots in the tables, by the code of the snapshot."""
        codes = {tables.snapshot_code(name): rows for name, rows in self._rows.items()}
        return dict(sorted(codes.items()))

    def summaries(self, tables: GrowingTables) -> list[dict[str, Any]]:
        """Return the summaries of the judged snapshots, in the order in which they came."""
        return [
            self._judged[name].summary()
            for name in map(SnapshotId, tables.manifest.snapshots)
            if name in self._judged
        ]


def _doubts(tables: GrowingTables) -> Doubts:
    processes = tables.topology.processes
    return Doubts(
        {processes[code].id: own for code, own in tables.restores.items()},
        {process.id: process.state for process in processes},
        lambda process, restored: state_after(tables, process, restored),
    )


def _rows_of(report: SnapshotReport, tables: GrowingTables) -> JudgedRows:
    """Return the rows of a judged snapshot in the tables of states and of channels."""
    code = tables.snapshot_code(report.snapshot)
    states = [
        {
            "snapshot": code,
            "process": tables.process_code(process),
            "position": report.positions.get(process, NONE),
            "recorded_at": report.recorded_at.get(process),
            "recorded": report.recorded_states.get(process),
            "recomputed": report.recomputed_states.get(process),
        }
        for process in report.processes
    ]
    named = {*report.recorded_channels, *(name for name, held in report.in_flight.items() if held)}
    channels = [
        {
            "snapshot": code,
            "channel": tables.channel_code(channel),
            "recorded": report.recorded_channels.get(channel),
            "recomputed": report.in_flight.get(channel),
        }
        for channel in sorted(named, key=tables.channel_code)
    ]
    return {SNAPSHOT_STATES: states, SNAPSHOT_CHANNELS: channels}

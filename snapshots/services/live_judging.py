"""The verdicts of a running system's snapshots, from the events that have come.

Snapshots by markers are judged while the recording grows, and rows keep the verdicts. States that
were read by clocks are judged when somebody asks, because nothing says when all of them are there.
"""

from typing import Any, TypedDict

from snapshots.domain.model.recording import RECORD_STATE
from snapshots.files.recordings import open_recording
from snapshots.growing.judging import SnapshotSoFar
from snapshots.growing.recording import SoFar
from snapshots.growing.tables import GrowingTables
from snapshots.models import Recording
from snapshots.store.mapped import rows_of_snapshot


class Judged(TypedDict):
    """What is known of a snapshot: its verdict, and the sentence of its worst finding."""

    verdict: str
    sentence: str


def verdicts_of(recording: Recording, names: list[str]) -> dict[str, Judged]:
    """Return what is known of these snapshots, without those that cannot be judged yet.

    What has come is read only if one of them has no verdict yet. Raises: StoreError, OSError.
    """
    known = _known(recording, names)
    if known.keys() == set(names):
        return known
    so_far: Any = open_recording(recording)
    return _readings(so_far, names) | _known(recording, names)


def _known(recording: Recording, names: list[str]) -> dict[str, Judged]:
    rows = recording.snapshots.filter(snapshot__in=names)
    return {
        row.snapshot: {"verdict": row.verdict, "sentence": row.verdicts[0]["sentence"]}
        for row in rows
    }


def _readings(so_far: SoFar, names: list[str]) -> dict[str, Judged]:
    """Judge those of which every process recorded its state and that have no markers."""
    tables: Any = so_far.tables
    wanted = [code for code, name in enumerate(so_far.manifest.snapshots) if name in names]
    whole = [code for code in wanted if _has_all_states(tables, code)]
    reports = [SnapshotSoFar(tables, code, _records(tables, code)).judged() for code in whole]
    return {
        report.snapshot: {"verdict": report.verdict, "sentence": report.findings[0].sentence}
        for report in reports
        if not report.markers_sent
    }


def _records(tables: GrowingTables, code: int) -> list[tuple[Any, ...]]:
    """Return the rows of RECORD_COLUMNS of a snapshot."""
    columns = rows_of_snapshot(tables.records, code).columns
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _has_all_states(tables: GrowingTables, code: int) -> bool:
    state = tables.manifest.kinds.index(RECORD_STATE)
    rows = rows_of_snapshot(tables.records, code).to_pylist()
    recorded = {row["process"] for row in rows if row["kind"] == state}
    return len(recorded) == len(tables.topology.processes)

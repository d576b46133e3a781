"""Match sends with receives on the channels of processes that went back to a snapshot.

``snapshots.domain.assembling.restores`` has the rules, and the reference uses the same function.
Only these channels are matched message by message.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.assembling.restores import (
    alone,
    apart,
    cut_through,
    epoch_of,
    meet,
    with_done,
)
from snapshots.domain.model.defects import Defect
from snapshots.domain.model.recording import KINDS, RECORD_STATE, RESTORE, Restored, SnapshotId
from snapshots.domain.model.topology import ProcessId, Topology
from snapshots.store.layout import NONE
from tasks.spark.ingest.way import Ends, Way

_RESTORE_CODE = KINDS.index(RESTORE)

Found = tuple[int | None, Hashable | None]
Again = dict[tuple[int, int], Found]
"""What was received again on a channel after the n-th restore of its target."""

Held = Mapping[tuple[int, str], Sequence[str]]


def restores_in(rows: pa.Table, index: np.ndarray) -> tuple[tuple[int, int, Restored], ...]:
    """Return the code of the process and of the snapshot, and the restore, of each with an epoch.

    They are in the order of the rows. The restore's ``row`` is its index; it has no name yet.
    """
    found = []
    chosen = np.flatnonzero(rows["kind"].to_numpy() == _RESTORE_CODE)
    names = ("process", "snapshot", "line", "at", "extra")
    for place, row in zip(chosen, rows.select(names).take(chosen).to_pylist(), strict=True):
        if (epoch := epoch_of(row["extra"])) is not None:
            where = int(index[place])
            restored = Restored(where, epoch, None, row["line"], row["at"] or 0)
            found.append((row["process"], row["snapshot"], restored))
    return tuple(found)


def between_restores(
    way: Way,
    ends: Ends,
    ids: Sequence[object],
    channels: Mapping[int, tuple[Sequence[Restored], Sequence[Restored]]],
    held: Held,
) -> tuple[Way, Again]:
    """Match anew on some channels, and return what was received again after restores.

    Args:
        ids: the id in each row of ``ends``.
        channels: the restores of the source and of the target, by the code of the channel.
        held: what snapshots recorded, by the code of the channel and the name of the snapshot.
    """
    received, taken, late = way.received.copy(), way.taken.copy(), way.late.copy()
    back, back_at = way.back.copy(), way.back_at.copy()
    again: Again = {}
    for code, (source, target) in channels.items():
        sends, receives = (_of_channel(ends, rows, code) for rows in (way.sends, way.receives))
        sent_at, received_at = (
            {int(ends["index"][rows[place]]): place for place in places}
            for rows, places in ((way.sends, sends), (way.receives, receives))
        )
        matches = meet(
            [(ids[way.sends[place]], index) for index, place in sent_at.items()],
            [(ids[way.receives[place]], index) for index, place in received_at.items()],
            source,
            target,
            [held.get((code, item.snapshot), ()) if item.snapshot else () for item in target],
        )
        received[sends], taken[receives] = NONE, True
        instants = {item.row: item.at for item in target}
        for sent, at in matches.received.items():
            received[sent_at[sent]] = received_at[at]
        for sent, at in matches.taken_back.items():
            back[sent_at[sent]], back_at[sent_at[sent]] = at, instants[at]
        again |= {(code, number): found for number, found in matches.again.items()}
        for at in (*matches.unexplained, *matches.surplus, *matches.late):
            taken[received_at[at]] = False
        for at in matches.late:
            late[received_at[at]] = True
    way = replace(way, received=received, taken=taken, late=late, back=back, back_at=back_at)
    return way, again


def whole(
    restores: Mapping[int, Sequence[Restored]], again: Again, target: np.ndarray
) -> dict[int, tuple[Restored, ...]]:
    """Return the restores of each process, with what came again on all its channels.

    Args:
        target: int64[C], the process at the end of each channel.
    """
    by_process: dict[tuple[int, int], list[Found]] = {}
    for (channel, number), found in sorted(again.items()):
        by_process.setdefault((int(target[channel]), number), []).append(found)
    return {
        process: tuple(
            with_done(item, by_process.get((process, number), ()))
            for number, item in enumerate(own)
        )
        for process, own in restores.items()
    }


def restore_defects(
    restores: Mapping[ProcessId, Sequence[Restored]],
    records: pa.Table,
    processes: Sequence[ProcessId],
    snapshots: Sequence[str],
    topology: Topology,
) -> list[Defect]:
    """Return what is wrong with restores.

    Args:
        records: RECORD_COLUMNS. processes, snapshots: their names by code.
    """
    recorded: dict[SnapshotId, dict[ProcessId, int]] = {}
    states = records.filter(pc.equal(records["kind"], KINDS.index(RECORD_STATE)))
    for row in states.sort_by([("process", "ascending"), ("index", "ascending")]).to_pylist():
        own = recorded.setdefault(SnapshotId(snapshots[row["snapshot"]]), {})
        own.setdefault(processes[row["process"]], row["index"])
    return [*apart(restores), *alone(restores, topology), *cut_through(restores, recorded)]


def _of_channel(ends: Ends, rows: np.ndarray, code: int) -> np.ndarray:
    """Return the places in ``rows`` of one channel; they are sorted by channel."""
    channel = ends["channel"][rows]
    return np.arange(*np.searchsorted(channel, (code, code + 1)))

"""Why a snapshot of a stored recording does not end; ``domain.judging.unended`` has the rules."""

import numpy as np

from snapshots.domain.judging.unended import Traces, Unended, unended
from snapshots.domain.model.derived import is_derived
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ChannelId, ProcessId
from snapshots.store.events import snapshot_positions
from snapshots.store.layout import NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import Tables


def why_unended(tables: Tables, snapshot: SnapshotId) -> Unended | None:
    """Return why a snapshot does not end; None if it does, or if nothing tells. Raises: KeyError.

    It looks at the markers of the snapshot, of which there are about as many as channels.
    """
    code = tables.snapshot_code(snapshot)
    codes, sent, received = _markers(tables, code)
    strays = _stray_markers(tables, code)
    if is_derived(tables.manifest.header_extra) or not (len(codes) or strays):
        return None
    arrived = received != NONE
    return unended(
        Traces(
            tables.scope(code),
            _recorded(tables, code),
            _by_channel(tables, codes, _steps(tables, tables.source[codes], sent)),
            strays
            | _by_channel(
                tables,
                codes[arrived],
                _steps(tables, tables.target[codes[arrived]], received[arrived]),
            ),
        )
    )


def _markers(tables: Tables, code: int) -> tuple[Ints, Ints, Ints]:
    """Return the channels on which markers were sent, with where the first was sent and arrived.

    Where it never arrived, or a restore took it back, NONE stands.
    """
    nothing = np.zeros(0, np.int64)
    found = [(nothing, nothing, nothing)]
    for part in tables.markers.table.parts:
        rows = np.flatnonzero(part.numbers("snapshot", slice(0, part.num_rows)) == code)
        sent, received = (part.numbers(name, rows) for name in ("sent_index", "received_index"))
        found.append((part.numbers("channel", rows), sent, received))
    codes, sent, received = (np.concatenate(column) for column in zip(*found, strict=True))
    codes, first = np.unique(codes, return_index=True)
    sent, received = sent[first], received[first]
    received[tables.markers.taken(codes, received)] = NONE
    return codes, sent, received


def _stray_markers(tables: Tables, code: int) -> dict[ChannelId, int]:
    """Return the steps of the markers that arrived without a send, by channel."""
    batch = tables.stray_markers
    rows = np.flatnonzero(batch.column("snapshot").to_numpy() == code)
    process, index, channel = (
        batch.column(name).to_numpy()[rows] for name in ("process", "index", "channel")
    )
    known = channel != NONE
    steps = _steps(tables, process[known], index[known])
    return _by_channel(tables, channel[known][::-1], steps[::-1])  # the first of each channel


def _recorded(tables: Tables, code: int) -> dict[ProcessId, int]:
    positions = snapshot_positions(tables, code)
    processes = np.flatnonzero((positions != NONE) & tables.in_scope(code))
    steps = _steps(tables, processes, positions[processes]).tolist()
    names = tables.topology.processes
    return {names[it].id: step for it, step in zip(processes.tolist(), steps, strict=True)}


def _steps(tables: Tables, processes: Ints, indexes: Ints) -> Ints:
    steps: Ints = tables.events.values("step", processes, indexes)
    return steps


def _by_channel(tables: Tables, codes: Ints, steps: Ints) -> dict[ChannelId, int]:
    channels = tables.topology.channels
    pairs = zip(codes.tolist(), steps.tolist(), strict=True)
    return {channels[code].id: step for code, step in pairs}

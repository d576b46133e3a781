"""Find the states that snapshots recorded; a process's first record of a snapshot counts."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import KINDS, RECORD_STATE
from snapshots.store.layout import NONE


def first_records(records: pa.Table) -> pa.Table:
    """Return the first record_state per snapshot and process; ``records`` are in store order."""
    rows = records.filter(pc.equal(records["kind"], KINDS.index(RECORD_STATE)))
    snapshot, process = rows["snapshot"].to_numpy(), rows["process"].to_numpy()
    first = np.ones(len(snapshot), bool)
    first[1:] = (snapshot[1:] != snapshot[:-1]) | (process[1:] != process[:-1])
    return rows.filter(pa.array(first))


def positions_of(records: pa.Table, snapshots: int, processes: int) -> np.ndarray:
    """Return the index of each process's first record_state: int64[S, P], NONE if there is none."""
    rows = first_records(records.select(["kind", "snapshot", "process", "index"]))
    positions = np.full((snapshots, processes), NONE, np.int64)
    positions[rows["snapshot"].to_numpy(), rows["process"].to_numpy()] = rows["index"].to_numpy()
    return positions

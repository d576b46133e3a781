"""Judge snapshots by their processes: the recorded states, and those in the log."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import APPLICATION_KINDS, KINDS
from snapshots.domain.model.topology import JsonText
from snapshots.store.layout import RECORD_COLUMNS, RECORDS
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import read_batch
from snapshots.store.objects.paths import path_of
from snapshots.store.tables import Tables
from tasks.spark.judge.recorded import first_records
from tasks.spark.task_tables import TaskTables

_APPLICATION = np.array([KINDS.index(kind) for kind in sorted(APPLICATION_KINDS)])

# The first record_state of each process that recorded; sorted by (snapshot, process).
STATES = pa.schema(
    [
        ("snapshot", pa.int32()),
        ("process", pa.int32()),
        ("index", pa.int64()),
        ("at", pa.int64()),
        ("step", pa.int64()),
        ("recorded", pa.large_string()),  # null if unknown
        ("recomputed", pa.large_string()),
    ]
)


@dataclass(frozen=True)
class StateTask:
    """A half-open range of process codes of the store in ``folder``."""

    folder: str
    first: int
    end: int


def judge_states(task: StateTask) -> pa.Table:
    """Return the STATES of the task's processes."""
    folder = path_of(task.folder)
    tables = TaskTables(folder, Manifest.read(folder))
    records = pa.Table.from_batches([read_batch(folder / RECORDS, RECORD_COLUMNS)])
    process = records["process"].to_numpy()
    own = records.filter(pa.array((process >= task.first) & (process < task.end)))
    rows = first_records(own)
    process = rows["process"].to_numpy().astype(np.int64)
    index = rows["index"].to_numpy()
    columns = {name: rows[name] for name in ("snapshot", "process", "index", "at")}
    columns |= {
        "step": pa.array(tables.events.values("step", process, index)),
        "recorded": rows["state"],
        "recomputed": pa.array(states_at(tables, process, index), pa.large_string()),
    }
    return pa.table([columns[name] for name in STATES.names], STATES.names).cast(STATES)


def states_at(tables: Tables, process: np.ndarray, position: np.ndarray) -> list[JsonText | None]:
    """Return the state of each process after its first ``position`` events, None if unknown.

    All processes step back together over events that leave a state unchanged.
    """
    last = position.astype(np.int64) - 1
    moving = np.flatnonzero(last >= 0)
    while len(moving):
        kind = tables.events.values("kind", process[moving], last[moving])
        moving = moving[~np.isin(kind, _APPLICATION)]
        last[moving] -= 1
        moving = moving[last[moving] >= 0]
    start = np.flatnonzero(last < 0)
    states = np.full(len(last), None, object)
    inside = np.flatnonzero(last >= 0)
    states[inside] = tables.events.pick(process[inside], last[inside]).texts("state")
    if len(start):
        processes = tables.topology.processes
        states[start] = [processes[code].state for code in process[start].tolist()]
    return states.tolist()

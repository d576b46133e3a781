"""Build the small tables of a stored recording, which the driver writes at the end of an ingest."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.domain.model.topology import Topology
from snapshots.store.decoding import open_part
from snapshots.store.layout import CHANNEL_COLUMNS, PROCESS_COLUMNS
from snapshots.store.manifest import Extent, Part
from tasks.spark.ingest.times import Clock, with_columns


def process_rows(topology: Topology) -> pa.Table:
    """Return one row of PROCESS_COLUMNS for each process."""
    columns = zip(*((item.id, item.state, item.scope) for item in topology.processes), strict=True)
    return pa.table([list(column) for column in columns], schema=PROCESS_COLUMNS)


def channel_rows(topology: Topology, source: np.ndarray, target: np.ndarray) -> pa.Table:
    """Return one row of CHANNEL_COLUMNS for each channel; ``source`` and ``target`` are codes."""
    channels = topology.channels
    ids, fifo = [channel.id for channel in channels], [channel.fifo for channel in channels]
    overtaking = [channel.overtaking for channel in channels]
    return pa.table([ids, source, target, fifo, overtaking], schema=CHANNEL_COLUMNS)


def extent(store: Path, events: list[Part]) -> Extent:
    """Return the extent of all events, given their parts."""
    instants = (
        open_part(store / part.file, part.table).numbers("at", slice(0, part.rows))
        for part in events
    )
    spans = [(int(at.min()), int(at.max())) for at in instants]
    return Extent(
        min((first for first, _ in spans), default=0),
        max((last for _, last in spans), default=0),
        sum(part.rows for part in events),
    )


def timed_rows(rows: pa.Table, clock: Clock | None) -> pa.Table:
    """Return records or strays with causal times, and snapshots in the order of the steps."""
    if clock is None or not rows.num_rows:
        return rows
    rows_of_events = clock.rows(rows["process"].to_numpy(), rows["index"].to_numpy())
    columns = {
        "at": pa.array(clock.instants()[rows_of_events]),
        "snapshot": clock.codes(rows["snapshot"].to_numpy()),
    }
    return with_columns(rows, columns)

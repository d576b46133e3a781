"""Write stores in the layout of older releases: a plain Arrow array for each column."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.domain.model.recording import Recording
from snapshots.store.bins import Bins
from snapshots.store.layout import FOLLOWING, MANIFEST, MESSAGES, PARTED
from snapshots.store.levels import level, span
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import MappedTable
from snapshots.store.parts import write_table
from snapshots.store.tables import AXES, Tables


def write_older(folder: Path, target: Path, recording: Recording) -> None:
    """Write a stored recording again in version 2 of the layout, with all columns of messages."""
    shutil.copytree(folder, target)
    manifest = Manifest.read(folder)
    tables = Tables(folder, manifest)
    for name, (schema, _) in PARTED.items():
        for number, part in enumerate(manifest.parts_of(name)):
            if name == MESSAGES:
                rows = _messages(tables, number, recording)
            else:
                rows = _table(tables, name).parts[number].table(schema)
            write_table(target / part.file, rows, schema)
    _write_levels(tables, target)
    content = json.loads((target / MANIFEST).read_text()) | {"version": 2}
    (target / MANIFEST).write_text(json.dumps(content))


def _table(tables: Tables, name: str) -> MappedTable:
    flights = (tables.messages, tables.markers)
    all_tables = [
        tables.events,
        *(part for item in flights for part in (item.table, item.disorder)),
    ]
    [table] = [table for table in all_tables if table.name == name]
    return table


def _messages(tables: Tables, number: int, recording: Recording) -> pa.Table:
    """Return the rows of one part with what the recording, not its events, says of each message."""
    part, (schema, _) = tables.messages.table.parts[number], PARTED[MESSAGES]
    rows = part.table(schema)
    picked = tables.messages.table.pick_rows(number, 0, part.num_rows)
    codes = picked.codes
    ordinals = np.arange(part.num_rows) - tables.messages.table.begin[codes]
    channels = [tables.topology.channels[code].id for code in codes.tolist()]
    places = zip(channels, ordinals.tolist(), strict=True)
    messages = [recording.messages[channel][ordinal] for channel, ordinal in places]
    for column in FOLLOWING:
        values = [getattr(item, "id" if column == "message" else column) for item in messages]
        rows = rows.append_column(column, pa.array(values, schema.field(column).type))
    return rows


def _write_levels(tables: Tables, target: Path) -> None:
    manifest = tables.manifest
    for axis in AXES:
        for exponent in manifest.levels[axis]:
            bins = Bins.covering(*span(manifest.extent, axis), exponent)
            for quantity, codes in (
                ("events", tables.all_processes),
                ("depth", tables.all_channels),
            ):
                file = target / "levels" / f"{axis}-{exponent}-{quantity}.arrow"
                np.save(file.with_suffix(".npy"), level(tables, axis, bins, quantity, codes))
                file.unlink()

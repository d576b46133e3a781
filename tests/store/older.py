"""Write stores in the layout of older releases: a plain Arrow array for each column."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.bins import Bins
from snapshots.store.layout import FOLLOWING, MANIFEST, MESSAGES, NONE, PARTED
from snapshots.store.levels import level, span
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import MappedTable
from snapshots.store.parts import write_matrix, write_table
from snapshots.store.tables import AXES, Tables


def write_older(folder: Path, target: Path) -> None:
    """Write a stored recording again in version 2 of the layout, with all columns of messages."""
    shutil.copytree(folder, target)
    manifest = Manifest.read(folder)
    tables = Tables(folder, manifest)
    for name, (schema, _) in PARTED.items():
        for number, part in enumerate(manifest.parts_of(name)):
            if name == MESSAGES:
                rows = _messages(tables.messages.table, number)
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


def _messages(table: MappedTable, number: int) -> pa.Table:
    part, (schema, _) = table.parts[number], PARTED[MESSAGES]
    rows = part.table(schema)
    picked = table.pick_rows(number, 0, part.num_rows)
    in_flight = picked.values("received_index") == NONE
    for column, (end, _) in FOLLOWING.items():
        if pa.types.is_large_string(schema.field(column).type):
            values = picked.array(column)
        else:
            lacking = in_flight if end == "received" else np.zeros(len(in_flight), bool)
            values = pa.array(picked.values(column), mask=lacking)
        rows = rows.append_column(column, values)
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
                write_matrix(file.with_suffix(".npy"), level(tables, axis, bins, quantity, codes))
                file.unlink()

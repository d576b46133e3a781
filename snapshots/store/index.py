"""Write the index: where each process and channel begins and ends in the parts."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.fences import write_fences
from snapshots.store.layout import INDEX, INDEX_COLUMNS, PARTED
from snapshots.store.manifest import Manifest
from snapshots.store.outlines import Runs, kept_outline, merged
from snapshots.store.parts import write_table


def write_index(folder: Path, manifest: Manifest) -> None:
    """Write ``index.arrow`` and the fences, from the outlines of the manifest's parts.

    Raises: StoreDamaged if an outline is missing; OSError.
    """
    tables = [INDEX_COLUMNS.empty_table()]
    for table in PARTED:
        outlines = [kept_outline(folder, part.file) for part in manifest.parts_of(table)]
        runs = merged(outlines)
        write_fences(folder, table, outlines, runs)
        tables.append(_rows(table, runs))
    write_table(folder / INDEX, pa.concat_tables(tables), INDEX_COLUMNS)


def _rows(table: str, runs: Runs) -> pa.Table:
    """Return the rows of INDEX_COLUMNS of one table."""
    names = pa.array(np.full(len(runs.code), table, object), pa.string())
    columns = [names, *map(pa.array, (runs.code, runs.part, runs.begin, runs.end))]
    return pa.table(columns, INDEX_COLUMNS.names).cast(INDEX_COLUMNS)

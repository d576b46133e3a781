"""Write the index: where each process and channel begins and ends in the parts."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.decoding import open_part
from snapshots.store.fences import write_fences
from snapshots.store.layout import INDEX, INDEX_COLUMNS, PARTED
from snapshots.store.manifest import Manifest
from snapshots.store.parts import write_table


def write_index(folder: Path, manifest: Manifest) -> None:
    """Write ``index.arrow`` and the fences, from the sorted columns of the manifest's parts."""
    rows: list[tuple[str, int, int, int, int]] = []
    for table, (_, key) in PARTED.items():
        parts = [open_part(folder / part.file, table) for part in manifest.parts_of(table)]
        runs = sorted(
            (code, number, begin, end)
            for number, part in enumerate(parts)
            for code, begin, end in _runs(part.numbers(key, slice(0, part.num_rows)))
        )
        rows += [(table, *run) for run in runs]
        write_fences(folder, table, parts, [run[1:] for run in runs])
    columns = zip(*rows, strict=True) if rows else ((),) * len(INDEX_COLUMNS)
    arrays = dict(zip(INDEX_COLUMNS.names, map(list, columns), strict=True))
    write_table(folder / INDEX, pa.table(arrays, INDEX_COLUMNS), INDEX_COLUMNS)


def _runs(codes: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Find (code, begin, end) of each run of equal codes in a sorted column, by binary search."""
    begin = 0
    while begin < len(codes):
        end = int(np.searchsorted(codes, codes[begin], side="right"))
        yield int(codes[begin]), begin, end
        begin = end

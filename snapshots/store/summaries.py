"""Keep one summary for each snapshot in a file of JSON, and read one of them without the others.

A second file says where each summary lies. It is an aid: without it, as in older stores, or beside
a newer file of summaries, all of them are read.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.recording import SnapshotId
from snapshots.store.layout import SNAPSHOT_PLACES, SNAPSHOT_PLACES_COLUMNS, SNAPSHOTS
from snapshots.store.mapped import read_batch
from snapshots.store.objects.far import far_file
from snapshots.store.objects.paths import ObjectPath
from snapshots.store.parts import replace_table, write_bytes

_SEPARATOR = b", "


def write_summaries(folder: Path, summaries: Sequence[Mapping[str, Any]]) -> None:
    """Write the places of the summaries and, last, the summaries."""
    texts = [json.dumps(summary, ensure_ascii=False).encode() for summary in summaries]
    _write_places(folder, [summary["snapshot"] for summary in summaries], texts)
    write_bytes(folder / SNAPSHOTS, b"[" + _SEPARATOR.join(texts) + b"]")


def _write_places(folder: Path, names: list[str], texts: list[bytes]) -> None:
    begins, ends, end = [], [], 1 - len(_SEPARATOR)
    for text in texts:
        begins.append(end + len(_SEPARATOR))
        end = begins[-1] + len(text)
        ends.append(end)
    table = pa.table([names, begins, ends], SNAPSHOT_PLACES_COLUMNS.names)
    replace_table(folder / SNAPSHOT_PLACES, table, SNAPSHOT_PLACES_COLUMNS)


def read_summary(folder: Path, snapshot: SnapshotId) -> dict[str, Any] | None:
    """Return the summary of one snapshot, or None if its place is not known.

    Raises: StoreDamaged if the file of places cannot be read.
    """
    if not (folder / SNAPSHOT_PLACES).exists():
        return None
    places = read_batch(folder / SNAPSHOT_PLACES, SNAPSHOT_PLACES_COLUMNS)
    row = pc.index(places.column("snapshot"), pa.scalar(snapshot, pa.large_string())).as_py()
    if row < 0:
        return None
    begin, end = (places.column(name)[row].as_py() for name in ("begin", "end"))
    return _summary_at(folder / SNAPSHOTS, begin, end, snapshot)


def _summary_at(path: Path, begin: int, end: int, snapshot: SnapshotId) -> dict[str, Any] | None:
    """Return what lies between two bytes if it is the summary of that snapshot, else None."""
    try:
        if isinstance(path, ObjectPath):
            found = json.loads(far_file(path).between(begin, end))
            return found if _is_of(found, snapshot) else None
        with path.open("rb") as file:
            if not 0 <= begin <= end <= os.fstat(file.fileno()).st_size:
                return None
            file.seek(begin)
            found = json.loads(file.read(end - begin))
    except (FileNotFoundError, ValueError):
        return None
    return found if _is_of(found, snapshot) else None


def _is_of(found: object, snapshot: SnapshotId) -> bool:
    return isinstance(found, dict) and found.get("snapshot") == snapshot

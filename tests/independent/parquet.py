"""Write a generated recording as a folder of Parquet files with many row groups."""

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("process", pa.string()),
        ("index", pa.int64()),
        ("at", pa.int64()),
        ("channel", pa.string()),
        ("message", pa.string()),
        ("value", pa.string()),
        ("state", pa.string()),
        ("snapshot", pa.string()),
        ("messages", pa.list_(pa.string())),
        ("label", pa.string()),
    ]
)


def write(lines: list[dict], folder: Path, random: Random) -> Path:
    """Write the lines as parts of any size; in any order where indexes say what came first."""
    header, *events = lines
    if all("index" in event for event in events):
        random.shuffle(events)
    folder.mkdir()
    ends = sorted(random.choices(range(len(events) + 1), k=random.randint(0, 5)))
    spans = zip([0, *ends], [*ends, len(events)], strict=True)
    for number, (first, last) in enumerate(spans):
        schema = SCHEMA.with_metadata({} if number else {"cutline": json.dumps(header)})
        rows = pa.Table.from_pylist(list(map(_row, events[first:last])), schema)
        path = folder / f"part-{number:05}.parquet"
        pq.write_table(rows, path, row_group_size=random.randint(1, 20))
    return folder


def _row(event: dict) -> dict:
    """Return an event as a row: states and values are JSON text, and ids are text."""
    row = dict(event)
    for name in ("state", "value"):
        if row.get(name) is not None:
            row[name] = json.dumps(row[name])
    for name in ("message", "snapshot"):
        row[name] = None if row.get(name) is None else str(row[name])
    if "messages" in row:
        row["messages"] = list(map(str, row["messages"]))
    return row

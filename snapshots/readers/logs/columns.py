"""Defines the columns that every reader yields: one row an event, in the order of the source."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.formats.numerals import Numerals

NONE = -1  # the code of a channel that is not there
BATCH_ROWS = 65_536

RAW = pa.schema(
    [
        pa.field("line", pa.int64(), nullable=False),  # 1-based line, or row, of the source
        pa.field("process", pa.int32(), nullable=False),  # place in the header's processes
        pa.field("kind", pa.string(), nullable=False),
        ("index", pa.int64()),  # null where the log leaves it out
        ("at", pa.int64()),  # null likewise
        pa.field("channel", pa.int32(), nullable=False),  # place in the header's channels, or NONE
        ("message", pa.string()),
        ("value", pa.string()),  # canonical JSON
        ("state", pa.string()),  # canonical JSON
        ("snapshot", pa.string()),
        ("messages", pa.list_(pa.string())),
        ("label", pa.string()),
        ("extra", pa.string()),  # a JSON object of the fields that mean nothing here
    ]
)


Row = tuple[
    int, int, str, int | None, int | None, int, str | None, str | None, str | None, str | None,
    list[str] | None, str | None, str | None,
]  # fmt: skip
"""One event; the fields stand in the order of RAW."""


def raw_columns(columns: Mapping[str, pa.Array | Numerals]) -> pa.RecordBatch:
    """Build a batch of RAW from its columns, of which some may be held as numbers or by codes."""
    arrays, fields = [], []
    for field in RAW:
        column = columns[field.name]
        if isinstance(column, Numerals):
            arrays.append(column.numbers)
            fields.append(column.field(field.name))
        else:
            arrays.append(column)
            fields.append(field.with_type(column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def raw_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Build a batch of RAW from rows."""
    columns = zip(*rows, strict=True) if rows else [()] * len(RAW)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(column, field.type, size=len(rows))
            for column, field in zip(columns, RAW, strict=True)
        ],
        schema=RAW,
    )


def logged_events(batches: Iterable[pa.RecordBatch], header: Header) -> Iterator[LoggedEvent]:
    """Yield the rows as events of the domain, which the plain-Python reference takes."""
    processes = [process.id for process in header.topology.processes]
    channels = [*(channel.id for channel in header.topology.channels), None]  # None: code NONE
    for batch in batches:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            line, process, kind, index, at, channel, message, value, state, snapshot = row[:10]
            messages, label, extra = row[10:]
            yield LoggedEvent(
                line=line,
                process=processes[process],
                kind=kind,
                index=index,
                at=at,
                channel=channels[channel],
                message=message,
                value=value,
                state=state,
                snapshot=snapshot,
                messages=None if messages is None else tuple(messages),
                label=label,
                extra=extra,
            )

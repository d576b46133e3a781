"""Write a log of any size as parts of Parquet: ``python -m bench.large_log FOLDER EVENTS``.

With a third argument, ``lines``, the same log is written as parts of JSON lines. Its memory is that
of one part, and its time about a second for a million events. On FIFO channels every message takes
the channel's own time, so all processes can be written slice by slice. At ten instants all
processes record their states. ``manage.py ingest FOLDER --no-limits`` reads it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model import shapes
from snapshots.domain.model.recording import INTERNAL, RECEIVE, RECORD_STATE, SEND
from snapshots.domain.model.topology import Topology
from snapshots.readers.logs.headers import header_text
from snapshots.readers.logs.native_parquet import METADATA_KEY

KINDS = (SEND, RECEIVE, INTERNAL, RECORD_STATE)
SNAPSHOTS = 10
ROWS = 1_000_000  # of a part
PAUSE = 10  # time units between two events
DELAY = 6_000  # time units that a message takes at most: 300 are in flight

SCHEMA = pa.schema(
    [
        ("process", pa.dictionary(pa.int32(), pa.string())),
        ("kind", pa.dictionary(pa.int32(), pa.string())),
        ("channel", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.int64()) for name in ("index", "at", "message", "value", "state")),
        ("snapshot", pa.string()),
    ]
)


@dataclass(frozen=True)
class Shape:
    """How the events of a log are spread.

    Attributes:
        busiest_process: the share of all internal events that process 0 has.
        busiest_channel: the share of all messages that channel 0 carries.
        slow_messages: so many messages are under way from the first instant to the last.
    """

    busiest_process: float = 0
    busiest_channel: float = 0
    messages: float = 0.45  # sends, as a share of all events
    slow_messages: int = 0


@dataclass
class Slice:
    """Columns of some events; a channel, message or snapshot is -1 where there is none."""

    at: np.ndarray
    process: np.ndarray
    kind: np.ndarray
    channel: np.ndarray
    message: np.ndarray
    snapshot: np.ndarray

    def taken(self, rows: np.ndarray) -> "Slice":
        return Slice(*(column[rows] for column in vars(self).values()))

    @classmethod
    def joined(cls, parts: "list[Slice]") -> "Slice":
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))


class Log:
    """Writes the parts of one log, each with what follows in time."""

    def __init__(self, topology: Topology, events: int, shape: Shape, seed: int = 1) -> None:
        self.random = np.random.default_rng(seed)
        self.topology, self.events, self.shape = topology, events, shape
        codes = {process.id: code for code, process in enumerate(topology.processes)}
        self.source = np.array([codes[channel.source] for channel in topology.channels])
        self.target = np.array([codes[channel.target] for channel in topology.channels])
        self.delay = self.random.integers(1, DELAY, len(self.source))
        self.counts = np.zeros(len(codes), np.int64)
        self.sent = 0
        self.pending = self._slow()

    def _slow(self) -> Slice:
        """Return the receives of messages that are under way until the end, on the last channel."""
        count = self.shape.slow_messages
        last = np.full(count, len(self.source) - 1)
        ends = np.full(count, self.events * PAUSE - 1)
        self.sent = count
        return self._slice(ends, self.target[last], RECEIVE, last, np.arange(count))

    def _slice(self, at, process, kind: str, channel=-1, message=-1, snapshot=-1) -> Slice:
        full = [np.broadcast_to(item, at.shape) for item in (channel, message, snapshot)]
        return Slice(at, process, np.full(len(at), KINDS.index(kind)), *full)

    def slice(self, first: int, count: int) -> Slice:
        """Return about ``count`` events, sorted, that follow ``first`` earlier ones."""
        begin, end = first * PAUSE, (first + count) * PAUSE
        sends = self._sends(begin, end, int(count * self.shape.messages), first)
        receives = Slice.joined([self.pending, self._receives(sends)])
        due = receives.at < end
        self.pending = receives.taken(~due)
        internal = self._internal(begin, end, count - 2 * int(count * self.shape.messages))
        records = [self._records(n) for n in range(SNAPSHOTS) if begin <= self._instant(n) < end]
        found = Slice.joined([sends, receives.taken(due), internal, *records])
        return found.taken(np.argsort(found.at, kind="stable"))

    def _sends(self, begin: int, end: int, count: int, first: int) -> Slice:
        channels = len(self.source) - (1 if self.shape.slow_messages else 0)
        channel = self.random.integers(0, channels, count)
        channel[self.random.random(count) < self.shape.busiest_channel] = 0
        at = np.sort(self.random.integers(begin, end, count))
        sends = self._slice(at, self.source[channel], SEND, channel, self.sent + np.arange(count))
        self.sent += count
        if first or not self.shape.slow_messages:
            return sends
        last = np.full(self.shape.slow_messages, len(self.source) - 1)
        slow = self._slice(last * 0, self.source[last], SEND, last, np.arange(len(last)))
        return Slice.joined([slow, sends])

    def _receives(self, sends: Slice) -> Slice:
        new = sends.taken(np.flatnonzero(sends.message >= self.shape.slow_messages))
        at = new.at + self.delay[new.channel]
        return self._slice(at, self.target[new.channel], RECEIVE, new.channel, new.message)

    def _internal(self, begin: int, end: int, count: int) -> Slice:
        process = self.random.integers(0, len(self.counts), count)
        process[self.random.random(count) < self.shape.busiest_process] = 0
        return self._slice(self.random.integers(begin, end, count), process, INTERNAL)

    def _instant(self, snapshot: int) -> int:
        return self.events * PAUSE * (snapshot + 1) // (SNAPSHOTS + 1)

    def _records(self, snapshot: int) -> Slice:
        process = np.arange(len(self.counts))
        at = np.full(len(process), self._instant(snapshot))
        return self._slice(at, process, RECORD_STATE, snapshot=snapshot)

    def table(self, events: Slice) -> pa.Table:
        """Return the events as rows of SCHEMA."""
        by_process = np.argsort(events.process, kind="stable")
        held = np.bincount(events.process, minlength=len(self.counts))
        index = np.empty(len(by_process), np.int64)
        within = np.arange(len(by_process)) - np.repeat(np.cumsum(held) - held, held)
        index[by_process] = within + np.repeat(self.counts, held)
        self.counts += held
        is_record = events.kind == KINDS.index(RECORD_STATE)
        carries = events.message >= 0
        columns = [
            _named(events.process, [process.id for process in self.topology.processes]),
            _named(events.kind, KINDS),
            _named(events.channel, [channel.id for channel in self.topology.channels]),
            pa.array(index),
            pa.array(events.at),
            pa.array(events.message, mask=~carries),
            pa.array(events.message % 100, mask=~carries),
            pa.array((index - is_record) % 10_000),  # recording does not change a state
            pa.array(events.snapshot, mask=~is_record).cast(pa.string()),
        ]
        return pa.table(columns, SCHEMA)


def _named(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
    places = pa.array(codes, pa.int32(), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(places, pa.array(names, pa.string()))


def write_parts(
    folder: Path,
    events: int,
    shape: Shape | None = None,
    topology: Topology | None = None,
    *,
    as_lines: bool = False,
) -> None:
    """Write a log of about ``events`` events as parts of ROWS into an empty folder."""
    topology = topology or shapes.random_connected(50, 16, 1)
    header = header_text(Header(f"{events:,} events", "us", topology))
    log = Log(topology, events, shape or Shape())
    for number, first in enumerate(range(0, events, ROWS)):
        rows = log.table(log.slice(first, min(ROWS, events - first)))
        if as_lines:
            _write_lines(folder / f"part-{number:05}.jsonl", rows, b"" if number else header)
        else:
            _write_parquet(folder / f"part-{number:05}.parquet", rows, header)


def _write_parquet(path: Path, rows: pa.Table, header: bytes) -> None:
    schema = SCHEMA.with_metadata({METADATA_KEY: header})
    with pq.ParquetWriter(path, schema) as writer:
        writer.write_table(rows.cast(schema), row_group_size=200_000)


def _write_lines(path: Path, rows: pa.Table, header: bytes) -> None:
    """Write the header, if there is one, and the rows as JSON lines."""
    with path.open("wb") as sink:
        if header:
            sink.write(header + b"\n")
        for batch in rows.to_batches():
            sink.write(_lines_of(batch).buffers()[2])


def _lines_of(rows: pa.RecordBatch) -> pa.Array:
    """Return each row as a line of JSON; what is null is left out."""
    fields = []
    for name in SCHEMA.names:
        column = rows.column(name)
        quote = "" if pa.types.is_integer(column.type) else '"'
        comma = "," if fields else ""
        fields.append(_joined(f'{comma}"{name}":{quote}', column.cast(pa.string()), quote))
    return _joined("{", *fields, "}\n", null_handling="replace")


def _joined(*pieces: object, **options: str) -> pa.Array:
    """Return texts put one behind another; by default null if one of them is."""
    return pc.binary_join_element_wise(*pieces, "", **options)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir()
    write_parts(target, int(float(sys.argv[2])), as_lines=sys.argv[3:] == ["lines"])

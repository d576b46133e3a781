"""Compares the Spark jobs with DuckDB: ``python -m bench.jobs [EVENTS …]``.

Beside each ratio stands what must hold: for the ingest of Parquet and of JSON the same read, sort,
match and write by DuckDB, for the snapshots its best SQL. Both run in the same process with a warm
Spark session, and the best of some rounds counts. Processor time is that of this process and of all
that it started. DuckDB does not compute verdicts, check the input or read the recorded lists: it
finds the contents of every channel and every state, at every snapshot.

The disk at its peak is the most that the folder of the recording held during the ingest of Parquet.
The store takes at most 4 times the bytes of the upload, and 35 bytes an event.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import duckdb
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from bench.large_log import write_parts
from bench.recordings import write_log
from snapshots.domain.model.defects import Defects
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import RAW
from snapshots.readers.logs.headers import header_text
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import METADATA_KEY, ParquetReader
from snapshots.store.decoding import open_part
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    EVENT_COLUMNS,
    EVENTS,
    OUTLINES,
    RECORD_COLUMNS,
    RECORDS,
)
from snapshots.store.manifest import Manifest
from snapshots.store.mapped import read_batch
from tasks.spark import session
from tasks.spark.ingest.job import ingest
from tasks.spark.judge.job import judge_snapshots
from tasks.spark.reorder.job import reorder_snapshot

SIZES = (10**5, 10**6, 10**7)
ROUNDS = 3
LARGE = 10**7  # events, from which on logs are written without a simulation
ROUNDS_OF_LARGE = 1
STORE_AGAINST_UPLOAD = 4.0
BYTES_AN_EVENT = 35.0
LIMITS = Limits(total_bytes=2**40)

SECONDS_BETWEEN_LOOKS = 0.02  # at the disk

AS_LINES = """
COPY (
  SELECT '{{"process":"' || process || '","kind":"' || kind || '","index":' || "index"
      || ',"at":' || "at" || coalesce(',"channel":"' || channel || '"', '')
      || coalesce(',"message":' || message, '') || coalesce(',"value":' || value, '')
      || ',"state":' || state || coalesce(',"snapshot":"' || snapshot || '"', '') || '}}'
  FROM read_parquet('{log}/*.parquet'))
TO '{lines}' (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01')"""
IN_PARQUET = "read_parquet('{log}/*.parquet')"
IN_JSON = """(
  SELECT *, row_number() OVER (PARTITION BY process ORDER BY line) - 1 AS "index" FROM (
    SELECT *, row_number() OVER () AS line FROM read_json('{log}/*.jsonl',
      format = 'newline_delimited', maximum_object_size = 67108864, columns = {{
        kind: 'VARCHAR', process: 'VARCHAR', channel: 'VARCHAR', message: 'VARCHAR',
        value: 'VARCHAR', state: 'VARCHAR', "at": 'BIGINT', snapshot: 'VARCHAR',
        messages: 'VARCHAR[]', label: 'VARCHAR'}}))
  WHERE kind <> 'header')"""
READ = "CREATE OR REPLACE TEMP TABLE log AS SELECT * FROM {source}"
SORTED = """
COPY (SELECT * FROM {source} ORDER BY process, "index")
TO '{folder}/events.parquet' (FORMAT parquet, COMPRESSION uncompressed)"""
MATCHED = """
COPY (
  WITH ends AS (
    SELECT kind, channel, message, value, process, "index", "at",
           row_number() OVER (PARTITION BY kind, channel, message ORDER BY "index") AS nth
    FROM {source} WHERE kind IN ('send', 'receive'))
  SELECT s.channel, s."index" AS sent_index, r."index" AS received_index,
         s."at" AS sent_at, r."at" AS received_at, s.message, s.value
  FROM (SELECT * FROM ends WHERE kind = 'send') s
  LEFT JOIN (SELECT * FROM ends WHERE kind = 'receive') r USING (channel, message, nth)
  ORDER BY s.channel, sent_index)
TO '{folder}/messages.parquet' (FORMAT parquet, COMPRESSION uncompressed)"""

LANES = """
WITH ends AS (
  SELECT channel, kind, "index", message,
         row_number() OVER (PARTITION BY channel, kind ORDER BY "index") AS nth
  FROM read_parquet('{folder}/plain.parquet') WHERE kind IN (1, 2)),
lanes AS (
  SELECT s.snapshot, c.code AS channel, s.position AS source_at, t.position AS target_at
  FROM channels c JOIN positions s ON s.process = c.source
  JOIN positions t ON t.process = c.target AND t.snapshot = s.snapshot)"""
BY_ASOF = (
    LANES
    + """,
counted AS (
  SELECT l.snapshot, l.channel, coalesce(s.nth, 0) AS sent, coalesce(r.nth, 0) AS received
  FROM lanes l
  ASOF LEFT JOIN (SELECT * FROM ends WHERE kind = 1) s
    ON s.channel = l.channel AND l.source_at > s."index"
  ASOF LEFT JOIN (SELECT * FROM ends WHERE kind = 2) r
    ON r.channel = l.channel AND l.target_at > r."index")
SELECT c.snapshot, c.channel, c.sent, c.received, list(m.message ORDER BY m.nth)
FROM counted c LEFT JOIN (SELECT * FROM ends WHERE kind = 1) m
  ON m.channel = c.channel AND m.nth > c.received AND m.nth <= c.sent
GROUP BY ALL"""
)
BY_EPOCH = (
    LANES
    + """,
epochs AS (
  SELECT e.channel, e.kind, e.nth, e.message, coalesce(b.epoch, 0) AS epoch
  FROM ends e JOIN channels c ON c.code = e.channel
  ASOF LEFT JOIN bounds b
    ON b.process = CASE e.kind WHEN 1 THEN c.source ELSE c.target END AND e."index" >= b.position),
sums AS (SELECT channel, kind, epoch, count(*) AS n FROM epochs GROUP BY ALL),
counted AS (
  SELECT l.snapshot, l.channel,
    coalesce(sum(n) FILTER (kind = 1 AND s.epoch < bs.epoch), 0) AS sent,
    coalesce(sum(n) FILTER (kind = 2 AND s.epoch < bt.epoch), 0) AS received
  FROM lanes l JOIN channels c ON c.code = l.channel
  JOIN bounds bs ON bs.process = c.source AND bs.snapshot = l.snapshot
  JOIN bounds bt ON bt.process = c.target AND bt.snapshot = l.snapshot
  LEFT JOIN sums s ON s.channel = l.channel GROUP BY ALL)
SELECT c.snapshot, c.channel, c.sent, c.received, list(m.message ORDER BY m.nth)
FROM counted c LEFT JOIN (SELECT * FROM epochs WHERE kind = 1) m
  ON m.channel = c.channel AND m.nth > c.received AND m.nth <= c.sent
GROUP BY ALL"""
)
STATES = """
SELECT p.snapshot, p.process, e.state FROM positions p
LEFT JOIN read_parquet('{folder}/plain.parquet') e
  ON e.process = p.process AND e."index" = p.position - 1"""


def main() -> None:
    sizes = [int(float(text)) for text in sys.argv[1:]] or list(SIZES)
    session.warm()
    print(
        f"{'events':>10} {'job':16} {'Spark':>9} {'DuckDB':>9} {'ratio':>7}  {'hold':>6}"
        f" {'processor':>10} {'DuckDB':>9} {'ratio':>7}"
    )
    for size in sizes:
        folder = Path(tempfile.mkdtemp(prefix="cutline-bench-"))
        try:
            _measure(folder, size)
        finally:
            shutil.rmtree(folder)
    children = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"memory of this process at its peak: {children:,} MB")
    session.stop()


def _measure(folder: Path, size: int) -> None:
    lines, log, store = folder / "lines", folder / "log", folder / "store"
    lines.mkdir()
    log.mkdir()
    _write_logs(size, lines, log)
    rounds = ROUNDS if size < LARGE else ROUNDS_OF_LARGE
    json_source, parquet = IN_JSON.format(log=lines), IN_PARQUET.format(log=log)
    read = [READ.format(source=json_source), *_ingest_by_duckdb("log", folder)]
    text = _best(rounds, lambda: _ingest(lines, store))
    _print(size, "ingest JSON", text, _best(rounds, lambda: _run(duckdb.connect(), read)), 1.5)
    spark = _best(rounds, lambda: _ingest(log, store))
    queries = _ingest_by_duckdb(parquet, folder)
    duck = _best(rounds, lambda: _run(duckdb.connect(), queries))
    _print(size, "ingest Parquet", spark, duck, 1.5 if size < LARGE else 1.0)
    _print_bytes(log, store)
    _measure_disk(log, store)
    connection = _snapshot_inputs(folder, store)
    spark = _best(rounds, lambda: judge_snapshots(store, _silent))
    states = STATES.format(folder=folder)
    ways = [
        _best(rounds, lambda query=query: _run(connection, [query.format(folder=folder), states]))
        for query in (BY_ASOF, BY_EPOCH)
    ]
    duck = min(ways, key=lambda way: way.clock)
    _print(size, "snapshots", spark, duck, 1.0 if size < LARGE else 0.3)
    _compare(connection, folder, store)
    _measure_reordering(store, rounds)


def _write_logs(size: int, lines: Path, log: Path) -> None:
    """Write the same log as JSON lines and as Parquet, each into an empty folder."""
    if size < LARGE:
        write_log(lines / "log.jsonl", size)
        to_parquet(lines / "log.jsonl", log / "log.parquet")
        return
    write_parts(log, size)
    header = ParquetReader().header(log, LIMITS)
    (lines / "0.jsonl").write_bytes(header_text(header) + b"\n")
    duckdb.execute(AS_LINES.format(log=log, lines=lines / "1.jsonl"))


def _measure_reordering(store: Path, rounds: int) -> None:
    """Measure Theorem 1 on the first snapshot. DuckDB could only sort, so there is no
    comparison."""
    snapshot = Manifest.read(store).snapshots[0]
    between = reorder_snapshot(store, snapshot, _silent).events_total
    spark = _best(rounds, lambda: reorder_snapshot(store, snapshot, _silent)).clock
    print(f"{'':10} {'reordering':16} {spark:8.2f}s  of {between:,} events between start and end")


def _measure_disk(log: Path, store: Path) -> None:
    """Compare the most that the folder of a recording holds during its ingest with what is left."""
    done = threading.Event()
    peak = 0

    def look() -> None:
        nonlocal peak
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            peak = max(peak, bytes_of(store))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        _ingest(log, store)
    finally:
        done.set()
        looking.join()
    left = bytes_of(store)
    print(
        f"{'':10} {'disk':16} {peak / 1e6:,.0f} MB at its peak, {left / 1e6:,.0f} MB in the end:"
        f" {max(peak, left) / left:.2f}  <= 1.3",
        flush=True,
    )


@dataclass(frozen=True)
class Seconds:
    """What a job took: on the clock, and of processor time of all processes."""

    clock: float
    processor: float


def _print(size: int, job: str, spark: Seconds, duck: Seconds, hold: float) -> None:
    print(
        f"{size:10,} {job:16} {spark.clock:8.2f}s {duck.clock:8.2f}s"
        f" {spark.clock / duck.clock:7.2f}  <= {hold:.1f}"
        f" {spark.processor:9.2f}s {duck.processor:8.2f}s {spark.processor / duck.processor:7.2f}",
        flush=True,
    )


def _print_bytes(upload: Path, store: Path) -> None:
    """Compare the bytes of the store, before any snapshot is judged, with those of the upload."""
    stored = bytes_of(store)
    ratio = stored / bytes_of(upload)
    events = Manifest.read(store).counts["events"]
    print(f"{'':10} {'store against upload':39} {ratio:7.2f}  <= {STORE_AGAINST_UPLOAD:.1f}")
    print(f"{'':10} {'bytes an event':39} {stored / events:7.2f}  <= {BYTES_AN_EVENT:.1f}")


def bytes_of(folder: Path) -> int:
    """Return the bytes of all files in a folder that stay when it is published.

    Files and folders may go while they are counted.
    """
    size = 0
    for at, _, names in os.walk(folder):
        for path in (Path(at, name) for name in names if OUTLINES not in Path(at).parts):
            with suppress(FileNotFoundError):
                size += path.stat().st_size
    return size


def _silent(phase: str, done: int, total: int) -> None:
    """Ignore progress."""


def _best(rounds: int, job: Callable[[], object]) -> Seconds:
    """Return the least time of some rounds."""
    taken = []
    for _ in range(rounds):
        began, used = perf_counter(), _processor_time()
        job()
        taken.append(Seconds(perf_counter() - began, _processor_time() - used))
    return Seconds(min(item.clock for item in taken), min(item.processor for item in taken))


_seen: dict[int, float] = {}  # seconds by process


def _processor_time() -> float:
    """Return the seconds of this process and of all that descend from it.

    A process that has ended counts as it was last seen.
    """
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            _seen[process.pid] = times.user + times.system
    return sum(_seen.values())


def _ingest(source: Path, store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    ingest(source, store, limits=LIMITS, progress=_silent)


def _ingest_by_duckdb(source: str, folder: Path) -> list[str]:
    return [query.format(source=source, folder=folder) for query in (SORTED, MATCHED)]


def _run(connection, queries: list[str]) -> None:
    for query in queries:
        connection.execute(query).fetchall()


def to_parquet(lines: Path, target: Path) -> None:
    """Write the same log as Parquet with the names of the native format."""
    reader = NativeReader()
    header = reader.header(lines, LIMITS)
    processes = pa.array([process.id for process in header.topology.processes])
    channels = pa.array([channel.id for channel in header.topology.channels])
    fields = [
        pa.field(field.name, pa.string() if field.name in ("process", "channel") else field.type)
        for field in RAW
        if field.name not in ("line", "extra")
    ]
    schema = pa.schema(fields, {METADATA_KEY: header_text(header)})
    with pq.ParquetWriter(target, schema) as writer:
        for batch in reader.batches(lines, header, LIMITS, Defects()):
            columns = {name: batch[name] for name in schema.names}
            columns["process"] = processes.take(batch["process"])
            channel = batch["channel"]
            known = pa.array(
                [None if code < 0 else code for code in channel.to_pylist()], pa.int32()
            )
            columns["channel"] = channels.take(known)
            writer.write_table(pa.table(columns, schema=schema))


def _snapshot_inputs(folder: Path, store: Path) -> duckdb.DuckDBPyConnection:
    """Write the inputs of DuckDB's query, and return the connection.

    ``plain.parquet``: the sorted events with codes. Small tables in memory: ``channels``,
    ``positions`` of the snapshots, and ``bounds``, the same with their rank at each process.
    """
    manifest = Manifest.read(store)
    connection = duckdb.connect()
    parts = [open_part(store / part.file, EVENTS) for part in manifest.parts_of(EVENTS)]
    events = pa.concat_tables([part.table(EVENT_COLUMNS) for part in parts])
    channels = pa.Table.from_batches([read_batch(store / CHANNELS, CHANNEL_COLUMNS)])
    records = pa.Table.from_batches([read_batch(store / RECORDS, RECORD_COLUMNS)])
    connection.register("stored_events", events)
    connection.register("stored_channels", channels)
    connection.register("stored_records", records)
    connection.execute(f"""
        COPY (SELECT process, kind, channel, message, value, state,
                     row_number() OVER (PARTITION BY process ORDER BY step) - 1 AS "index"
              FROM stored_events ORDER BY process, "index")
        TO '{folder}/plain.parquet' (FORMAT parquet)""")
    connection.execute("""
        CREATE TABLE channels AS
        SELECT row_number() OVER () - 1 AS code, source, target FROM stored_channels""")
    connection.execute("""
        CREATE TABLE positions AS
        SELECT snapshot, process, min("index") AS position
        FROM stored_records WHERE kind = 5 GROUP BY ALL""")
    connection.execute("""
        CREATE TABLE bounds AS
        SELECT *, row_number() OVER (PARTITION BY process ORDER BY position) AS epoch
        FROM positions""")
    return connection


def _compare(connection, folder: Path, store: Path) -> None:
    """Require that both find the same number of messages in flight."""
    totals = {
        sum(sent - received for _, _, sent, received, _ in rows)
        for rows in (
            connection.sql(query.format(folder=folder)).fetchall() for query in (BY_ASOF, BY_EPOCH)
        )
    }
    found = pa.ipc.open_file(store / "snapshot_channels.arrow").read_all()
    totals.add(sum(len(ordinals or ()) for ordinals in found["recomputed"].to_pylist()))
    if len(totals) != 1:
        raise SystemExit(f"Spark and DuckDB do not agree: {json.dumps(sorted(totals))} in flight")


if __name__ == "__main__":
    main()

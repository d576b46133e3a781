"""Compares the Spark jobs with DuckDB: ``python -m bench.jobs [EVENTS …]``.

Requirements (design, section 8): all snapshots of 10^7 events no slower than DuckDB's best SQL on
the same Parquet; ingest within twice the time of DuckDB for the same sort, match and write. Both
run in the same process with a warm Spark session, and the best of some rounds counts. DuckDB does
not compute verdicts, check the input or read the recorded lists: it finds the contents of every
channel and every state, at every snapshot.
"""

import json
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bench.recordings import write_log
from snapshots.domain.model.defects import Defects
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.columns import RAW
from snapshots.readers.logs.headers import header_text
from snapshots.readers.logs.native import NativeReader
from snapshots.readers.logs.native_parquet import METADATA_KEY
from snapshots.store.decoding import open_part
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    EVENT_COLUMNS,
    EVENTS,
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
ROUNDS_OF_LARGE = 1  # from 10^7 events on
STORE_AGAINST_UPLOAD = 4.0
BYTES_AN_EVENT = 35.0
LIMITS = Limits()

SORTED = """
COPY (SELECT * FROM read_parquet('{log}') ORDER BY process, "index")
TO '{folder}/events.parquet' (FORMAT parquet, COMPRESSION uncompressed)"""
MATCHED = """
COPY (
  WITH ends AS (
    SELECT kind, channel, message, value, process, "index", "at",
           row_number() OVER (PARTITION BY kind, channel, message ORDER BY "index") AS nth
    FROM read_parquet('{log}') WHERE kind IN ('send', 'receive'))
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
    print(f"{'events':>10} {'job':12} {'Spark':>9} {'DuckDB':>9} {'ratio':>7}  {'hold':>6}")
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
    lines, log, store = folder / "log.jsonl", folder / "log.parquet", folder / "store"
    write_log(lines, size)
    to_parquet(lines, log)
    rounds = ROUNDS if size < 10**7 else ROUNDS_OF_LARGE
    text = _best(rounds, lambda: _ingest(lines, store))
    spark = _best(rounds, lambda: _ingest(log, store))
    duck = _best(rounds, lambda: _run(duckdb.connect(), [SORTED, MATCHED], folder, log=log))
    _print(size, "ingest", spark, duck, 2.0)
    _print_bytes(log, store)
    print(f"{'':10} {'from JSON':12} {text:8.2f}s")
    connection = _snapshot_inputs(folder, store)
    spark = _best(rounds, lambda: judge_snapshots(store, _silent))
    duck = min(
        _best(rounds, lambda query=query: _run(connection, [query, STATES], folder))
        for query in (BY_ASOF, BY_EPOCH)
    )
    _print(size, "snapshots", spark, duck, 1.0)
    _compare(connection, folder, store)
    _measure_reordering(store, rounds)


def _measure_reordering(store: Path, rounds: int) -> None:
    """Measure Theorem 1 on the first snapshot. DuckDB could only sort, so there is no
    comparison."""
    snapshot = Manifest.read(store).snapshots[0]
    between = reorder_snapshot(store, snapshot, _silent).events_total
    spark = _best(rounds, lambda: reorder_snapshot(store, snapshot, _silent))
    print(f"{'':10} {'reordering':12} {spark:8.2f}s  of {between:,} events between start and end")


def _print(size: int, job: str, spark: float, duck: float, hold: float) -> None:
    ratio = spark / duck
    print(f"{size:10,} {job:12} {spark:8.2f}s {duck:8.2f}s {ratio:7.2f}  <= {hold:.1f}", flush=True)


def _print_bytes(upload: Path, store: Path) -> None:
    """Compare the bytes of the store, before any snapshot is judged, with those of the upload."""
    stored = bytes_of(store)
    ratio = stored / upload.stat().st_size
    events = Manifest.read(store).counts["events"]
    print(f"{'':10} {'store against upload':39} {ratio:7.2f}  <= {STORE_AGAINST_UPLOAD:.1f}")
    print(f"{'':10} {'bytes an event':39} {stored / events:7.2f}  <= {BYTES_AN_EVENT:.1f}")


def bytes_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _silent(phase: str, done: int, total: int) -> None:
    """Ignore progress."""


def _best(rounds: int, job: Callable[[], object]) -> float:
    """Return the seconds of the quickest of some rounds."""
    seconds = []
    for _ in range(rounds):
        began = perf_counter()
        job()
        seconds.append(perf_counter() - began)
    return min(seconds)


def _ingest(source: Path, store: Path) -> None:
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    ingest(source, store, limits=LIMITS, progress=_silent)


def _run(connection, queries: list[str], folder: Path, **names: object) -> None:
    for query in queries:
        connection.execute(query.format(folder=folder, **names)).fetchall()


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

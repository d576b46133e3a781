"""Recordings of unusual shapes at growing sizes: ``python -m bench.shapes [EVENTS]``.

Each shape is written, ingested and judged in this process at a fourth of EVENTS, half of it and
EVENTS (default 400,000). Printed are the processor time at each size, and the growth: the time at
twice the events divided by the time before. No shape may take more than LINEAR times as much, apart
from what every ingest takes. Then a cut, a window and an event of the largest one are asked for.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.jobs import bytes_of
from bench.large_log import SCHEMA, Shape, write_parts
from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.topology import Process, Topology
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.headers import header_text
from snapshots.readers.logs.native_parquet import METADATA_KEY, ParquetReader
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import write_snapshots
from tasks.spark.ingest.job import ingest_here
from tasks.spark.ingest.sources import IngestTask
from tasks.spark.judge.job import Judge
from tasks.spark.stages import StagesHere

EVENTS = 400_000
HALVINGS = 2
LINEAR = 2.2  # times as much for twice the events
LIMITS = Limits()
LONG_TEXT = 2**20  # bytes of a value
EVENTS_OF_A_TEXT = 10_000  # one long value for so many


@dataclass(frozen=True)
class Measured:
    """What a recording of one size took.

    Attributes:
        events: how many there are.
        ingest, judge: seconds of processor time.
        upload, stored: bytes.
    """

    events: int
    ingest: float
    judge: float
    upload: int
    stored: int


def spread(shape: Shape) -> Callable[[Path, int], None]:
    """Return what writes a log of a shape."""
    return lambda folder, events: write_parts(folder, events, shape)


def long_values(folder: Path, events: int) -> None:
    """Write a log in which the same long value occurs again and again, as a dictionary stores it.

    A Parquet file of a megabyte can hold hundreds of them.
    """
    count = max(events // EVENTS_OF_A_TEXT, 4)
    texts = [f'"{letter * LONG_TEXT}"' for letter in "abc"]
    topology = Topology((Process("a"), Process("b")), ())
    fields = [field for field in SCHEMA if field.name in ("process", "kind", "at")]
    value = pa.field("value", pa.dictionary(pa.int32(), pa.string()))
    header = {METADATA_KEY: header_text(Header("long values", "us", topology))}
    rows = np.arange(count)
    columns = [
        _coded(rows % 2, ["a", "b"]),
        _coded(rows * 0, ["internal"]),
        pa.array(rows),
        _coded(rows % 3, texts),
    ]
    pq.write_table(pa.table(columns, pa.schema([*fields, value], header)), folder / "0.parquet")


def _coded(codes: np.ndarray, names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), names)


SHAPES = {
    "as usual": spread(Shape()),
    "one process has 90 % of the events": spread(Shape(busiest_process=0.95, messages=0.02)),
    "one channel has 90 % of the messages": spread(Shape(busiest_channel=0.9)),
    "a message in flight for the whole run": spread(Shape(slow_messages=1)),
    "10,000 messages in flight for the whole run": spread(Shape(slow_messages=10_000)),
    "values of 1 MB": long_values,
}


def main() -> None:
    events = int(float(sys.argv[1])) if sys.argv[1:] else EVENTS
    for words, write in SHAPES.items():
        measure(words, write, events)


def measure(words: str, write: Callable[[Path, int], None], events: int) -> None:
    """Measure one shape at all sizes, and print the figures."""
    print(f"\n{words}", flush=True)
    seen: list[Measured] = []
    for halvings in range(HALVINGS, -1, -1):
        folder = Path(tempfile.mkdtemp(prefix="cutline-bench-"))
        try:
            seen.append(_measured(folder, write, events >> halvings))
            if not halvings:
                _ask(folder / "store")
        finally:
            shutil.rmtree(folder)
    for before, now in zip([None, *seen], seen, strict=False):
        _print(now, before)


def _measured(folder: Path, write: Callable[[Path, int], None], events: int) -> Measured:
    log, store = folder / "log", folder / "store"
    for path in (log, store):
        path.mkdir()
    write(log, events)
    task = IngestTask(log, ParquetReader.name, ParquetReader().header(log, LIMITS), store, LIMITS)
    began = process_time()
    manifest = ingest_here(task).manifest
    ingested = process_time()
    judge = Judge(store)
    reports = judge.reports(*judge.facts(StagesHere(), lambda *progress: None))
    summaries = [report.summary() for report in reports]
    write_snapshots(store, summaries, judge.state_rows(), judge.contents)
    judged = process_time()
    sizes = bytes_of(log), bytes_of(store)
    return Measured(manifest.counts["events"], ingested - began, judged - ingested, *sizes)


def _ask(store: Path) -> None:
    """Ask what a workbench asks, in the middle of the recording."""
    recording = StoredRecording.open(store)
    extent = recording.manifest.extent
    middle = (extent.from_ + extent.to) // 2
    width = (extent.to - extent.from_) / 100

    def cut() -> None:
        answer = recording.cut(recording.positions_at(at=middle))
        answer.all_contents()
        assert answer.consistent

    for words, ask in (
        ("a cut", cut),
        ("a window of all", lambda: recording.window(extent.from_, extent.to, 1200, "time")),
        ("a window of a part", lambda: recording.window(middle, middle + width, 1200, "time")),
    ):
        ask()
        began = process_time()
        ask()
        print(f"  {words:24} {(process_time() - began) * 1000:8.0f} ms", flush=True)


def _print(now: Measured, before: Measured | None) -> None:
    growth = "" if before is None else f"  growth {_growth(now, before):.2f} (hold {LINEAR})"
    print(
        f"  {now.events:10,} events: ingest {now.ingest:6.2f} s, judging {now.judge:6.2f} s,"
        f" upload {now.upload / 1e6:7.2f} MB, store {now.stored / 1e6:7.2f} MB{growth}",
        flush=True,
    )


def _growth(now: Measured, before: Measured) -> float:
    return (now.ingest + now.judge) / (before.ingest + before.judge)


if __name__ == "__main__":
    main()

"""Folders of parts: the same store as from one file, with Spark and with the reference."""

import gzip
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.domain.simulators.script import Log
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import write_lines
from snapshots.store.layout import CHANNELS, PARTED, PROCESSES, RECORDS, STRAYS
from snapshots.store.parts import map_batch
from tasks.spark.ingest.job import IngestResult, ingest
from tests.builders import simulated
from tests.spark.agreement import LIMITS, agree, assert_same_rows, ingested, silent, table

TEXTS = ("process", "kind", "channel", "message", "value", "state", "snapshot", "label")
COUNTS = ("index", "at")


@pytest.fixture(scope="module")
def log() -> Log:
    return simulated(events=6_000, snapshots=((8_000, ("p1",)), (90_000, ("p2",))))


@pytest.fixture(scope="module")
def lines(log) -> list[bytes]:
    """Return the lines of a log, the header first."""
    return b"".join(write_lines(log.header, log.events)).splitlines(keepends=True)


def cut(items: Sequence, count: int) -> list[Sequence]:
    """Cut items into parts of different sizes."""
    ends = sorted(random.Random(count).sample(range(1, len(items)), count - 1))
    return [items[a:b] for a, b in zip([0, *ends], [*ends, len(items)], strict=True)]


def folder_of(folder: Path, parts: Iterable[bytes], ending: str = ".jsonl") -> Path:
    """Write parts whose names tell their order."""
    folder.mkdir()
    for number, part in enumerate(parts):
        content = gzip.compress(part) if ending.endswith(".gz") else part
        (folder / f"part-{number:05}{ending}").write_bytes(content)
    (folder / "_SUCCESS").touch()
    return folder


def as_table(lines: Iterable[bytes]) -> pa.Table:
    """Return the events of lines as columns, with states and values as JSON text."""
    events = [json.loads(line) for line in lines]

    def cell(event: dict, name: str):
        value = event.get(name)
        return json.dumps(value) if name in ("value", "state") and value is not None else value

    columns = {name: pa.array([cell(e, name) for e in events], pa.string()) for name in TEXTS}
    columns |= {name: pa.array([e.get(name) for e in events], pa.int64()) for name in COUNTS}
    messages = pa.array([e.get("messages") for e in events], pa.list_(pa.string()))
    return pa.table({**columns, "messages": messages})


def write_parquet(path: Path, lines: Sequence[bytes], header: bytes | None, **options) -> None:
    metadata = {} if header is None else {"cutline": header.strip()}
    pq.write_table(as_table(lines).replace_schema_metadata(metadata), path, **options)


def assert_same_tables(one: tuple[Path, IngestResult], other: tuple[Path, IngestResult]) -> None:
    """Compare two stores table by table."""
    for name in PARTED:
        assert_same_rows(name, *(table(place, made.manifest, name) for place, made in (one, other)))
    for name in (PROCESSES, CHANNELS, RECORDS, STRAYS):
        assert_same_rows(name, *(map_batch(place / name) for place, _ in (one, other)))


@pytest.mark.parametrize("kind", ["one header", "each its header", "packed", "no last newline"])
def test_parts_of_json_lines_are_the_recording_of_one_file(spark, tmp_path, lines, kind):
    header, events = lines[0], lines[1:]
    parts = [b"".join(part) for part in cut(events, 9)]
    if kind == "no last newline":
        parts = [part.rstrip(b"\n") for part in parts]
    parts = [header + part if n == 0 or kind == "each its header" else part
             for n, part in enumerate(parts)]  # fmt: skip
    folder = folder_of(tmp_path / "log", parts, ".jsonl.gz" if kind == "packed" else ".jsonl")
    agree(folder, tmp_path / "agreement", spark)
    single = tmp_path / "log.jsonl"
    single.write_bytes(b"\n".join([header.strip(), *(line.strip() for line in events)]))
    stored = tmp_path / "parts", ingested(folder, tmp_path / "parts", spark)
    assert stored[1].manifest.counts["events"] == len(events)
    if kind != "each its header":  # there the lines have other numbers
        assert_same_tables((tmp_path / "one", ingested(single, tmp_path / "one", spark)), stored)


def test_row_groups_in_any_order_are_the_recording_of_one_file(spark, tmp_path, lines):
    header, events = lines[0], lines[1:]
    numbered = in_any_order(events)
    folder = folder_of(tmp_path / "log", [])
    for number, part in enumerate(cut(numbered, 9)):
        told = header if number in (0, 4) else None
        write_parquet(folder / f"{number}.parquet", part, told, row_group_size=97 + number)
    agree(folder, tmp_path / "agreement", spark)
    single = tmp_path / "log.parquet"
    write_parquet(single, numbered, header)
    stores = [(tmp_path / name, ingested(source, tmp_path / name, spark))
              for name, source in (("one", single), ("parts", folder))]  # fmt: skip
    assert_same_tables(*stores)


def in_any_order(events: Iterable[bytes]) -> list[bytes]:
    """Give each event its index and put blocks of events in another order."""
    counts: dict[str, int] = {}
    numbered = []
    for line in events:
        event = json.loads(line)
        event["index"] = counts.setdefault(event["process"], 0)
        counts[event["process"]] += 1
        numbered.append(json.dumps(event).encode() + b"\n")
    blocks = cut(numbered, 40)
    random.Random(1).shuffle(blocks)
    return [line for block in blocks for line in block]


def test_the_header_may_lie_beside_the_parts(spark, tmp_path, lines):
    folder = folder_of(tmp_path / "log", (b"".join(part) for part in cut(lines[1:], 4)))
    header = tmp_path / "header.json"
    header.write_bytes(lines[0])
    (tmp_path / "store").mkdir()
    result = ingest(
        *(folder, tmp_path / "store"),
        limits=LIMITS, progress=silent, header_file=header, spark=spark,
    )  # fmt: skip
    assert result.manifest.counts["events"] == len(lines) - 1


def test_parts_with_different_headers_are_not_one_recording(spark, tmp_path, lines):
    other = lines[0].replace(b'"version":1', b'"version":1,"more":1')
    half = len(lines) // 2
    parts = [b"".join(lines[:half]), other + b"".join(lines[half:])]
    folder = folder_of(tmp_path / "log", parts)
    with pytest.raises(InputRefused) as caught:
        ingested(folder, tmp_path / "store", spark)
    assert (caught.value.defects[0].code, caught.value.defects[0].line) == (
        "header-twice",
        half + 1,
    )


@pytest.mark.parametrize(
    ("change", "code"), [("header", "header-twice"), ("label", "missing-field")]
)
def test_parquet_parts_agree(spark, tmp_path, lines, change, code):
    folder = folder_of(tmp_path / "log", [])
    write_parquet(folder / "1.parquet", lines[1:50], lines[0])
    other = lines[0].replace(b"version", b" version") if change == "header" else None
    metadata = {} if other is None else {"cutline": other}
    rows = as_table(lines[50:90])
    rows = rows if change == "header" else rows.drop_columns([change])
    pq.write_table(rows.replace_schema_metadata(metadata), folder / "2.parquet")
    with pytest.raises(InputRefused) as caught:
        ingested(folder, tmp_path / "store", spark)
    assert caught.value.defects[0].code == code
    assert '"2.parquet"' in caught.value.defects[0].sentence


def test_the_limit_holds_for_all_parts_together(spark, tmp_path, lines):
    parts = [b"".join(part) for part in cut(lines, 5)]
    folder = folder_of(tmp_path / "log", parts)
    limits = Limits(total_bytes=sum(map(len, parts)) - 1)
    (tmp_path / "store").mkdir()
    with pytest.raises(InputRefused) as caught:
        ingest(folder, tmp_path / "store", limits=limits, progress=silent, spark=spark)
    assert caught.value.defects[0].code == "too-large"

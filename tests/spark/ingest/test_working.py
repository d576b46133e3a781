"""Working files are small, hold what was written, and go as soon as nothing needs them."""

import gzip
import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from snapshots.domain.model import shapes
from snapshots.jobs import postponing
from snapshots.passing import DISK_FULL, passing
from snapshots.readers import recognition
from snapshots.store.layout import OUTLINES, PARTED
from tasks.spark.capacity import Capacity
from tasks.spark.ingest import job, working
from tasks.spark.ingest.job import Ingest, ingest_here
from tasks.spark.ingest.parse import for_disk, from_disk
from tasks.spark.ingest.room import NoRoom
from tasks.spark.ingest.schemas import STAGED
from tasks.spark.ingest.sources import IngestTask, least_room
from tasks.spark.ingest.working import read_all, read_codes, write_sorted
from tasks.spark.stages import StagesHere
from tests.builders import a_run, simulated
from tests.spark.agreement import LIMITS, silent, written


@pytest.mark.parametrize("rows", [1, 7, 8, 100])
def test_a_range_of_codes_is_read_from_the_batches_that_hold_it(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(working, "ROWS_PER_BATCH", 7)
    codes = np.sort(np.random.default_rng(rows).integers(-1, 12, rows))
    texts = [f"text {number}" for number in range(rows)]
    table = pa.table({"code": pa.array(codes, pa.int32()), "text": texts})
    write_sorted(tmp_path / "file", table, "code")
    assert read_all(tmp_path / "file") == table
    for first in range(-1, 13):
        for end in range(first, 14):
            chosen = table.filter(pa.array((codes >= first) & (codes < end)))
            assert read_codes(tmp_path / "file", "code", first, end).to_pydict() == (
                chosen.to_pydict()
            )


def test_numbers_of_any_size_come_back_in_their_types(tmp_path):
    sizes = [0, 127, 128, -128, -129, 2**15, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), None]
    fields = [pa.field(f"number {n}", pa.int64(), metadata={"n": str(n)}) for n in range(11)]
    schema = pa.schema([("code", pa.int32()), ("text", pa.large_string()), *fields])
    table = pa.table([[0, 0, 3], ["", None, "x"], *([0, size, None] for size in sizes)], schema)
    write_sorted(tmp_path / "file", table, "code")
    for found, rows in (
        (read_all(tmp_path / "file"), table),
        (read_codes(tmp_path / "file", "code", 3, 4), table.slice(2)),
        (read_codes(tmp_path / "file", "code", 1, 2), table.slice(0, 0)),
    ):
        assert found == rows
        assert found.schema.equals(schema, check_metadata=True)


def test_numbers_come_back_as_they_were_and_are_small_on_disk():
    rows = STAGED.empty_table().to_pydict() | {
        "process": [0, 0, 0, 2, 2],
        "rank": [0, 2, 4, 1, 3],
        "line": [7, 9, 11, 8, 10],
        "index": [5, 6, 7, None, 3],
        "at": [4, None, 9, None, 3],
    }
    nothing = [None] * 5
    staged = pa.table({name: values or nothing for name, values in rows.items()}, STAGED)
    on_disk = for_disk(staged)
    assert on_disk["line"].to_pylist() == [7] * 5
    assert on_disk["index"].to_pylist() == [5, 5, 5, None, 2]
    assert on_disk["rank"].to_pylist() == [0, 2, 2, 1, 2]
    assert on_disk["at"].to_pylist() == [4, None, 5, None, 3]
    assert from_disk(on_disk.slice(3)) == staged.slice(3)
    assert from_disk(on_disk) == staged


class Watched(StagesHere):
    """Notes how many bytes a folder holds at the end of each stage, when it holds the most."""

    def __init__(self, folder: Path) -> None:
        super().__init__(Capacity(1, most_rows=1_000))
        self.folder = folder
        self.sizes: list[tuple[str, int]] = []
        self.working: dict[str, list[str]] = {}

    def run(self, kernel, tasks, **options):
        results = super().run(kernel, tasks, **options)
        self.sizes.append((kernel.__name__, size_of(self.folder)))
        folders = (self.folder / ".work").glob("*/")
        self.working[kernel.__name__] = sorted(path.name for path in folders if path.is_dir())
        return results


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def watched_ingest(log, folder: Path) -> tuple[Watched, int]:
    """Ingest a log, and return its stages with the bytes of what is left."""
    source = written(log, folder / "log.jsonl")
    store = folder / "store"
    store.mkdir()
    stages = Watched(store)
    result = Ingest(task_of(source, store), stages, silent).run()
    assert_only_the_store_is_left(store, result.manifest)
    return stages, size_of(store)


def task_of(source: Path, store: Path) -> IngestTask:
    reader = recognition.sniff(source, LIMITS).reader
    return IngestTask(source, reader.name, reader.header(source, LIMITS), store, LIMITS)


def assert_only_the_store_is_left(store: Path, manifest) -> None:
    assert not (store / ".work").exists()
    left = {
        path.relative_to(store).as_posix() for table in PARTED for path in (store / table).glob("*")
    }
    assert left == {part.file for part in manifest.parts}
    assert len(list((store / OUTLINES).iterdir())) == 2 * len(left)


@pytest.mark.slow
def test_the_disk_at_its_peak_holds_less_than_a_third_more_than_the_store(tmp_path):
    stages, left = watched_ingest(simulated(events=20_000, seed=3), tmp_path)
    assert [name for name, _ in stages.sizes] == ["parse_text", "order_processes", "match_channels"]
    assert max(size for _, size in stages.sizes) <= 1.3 * left
    assert stages.working["order_processes"] == ["ends", "records", "staged"]
    assert stages.working["match_channels"] == ["ends", "records"]


@pytest.mark.slow
def test_parts_that_get_other_times_are_never_there_twice(tmp_path):
    log = simulated(shapes.complete(16), events=20_000, seed=3)
    by_process = sorted(log.events, key=lambda event: event.process)
    stages, left = watched_ingest(log._replace(events=tuple(by_process)), tmp_path)
    assert [name for name, _ in stages.sizes].count("retime") > 2
    assert max(size for _, size in stages.sizes) <= 1.6 * left
    assert stages.working["set_clock"] == stages.working["retime"] == ["records"]


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 1.5 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "mode=700,size=1500k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a small disk is mounted by root alone, and not on every machine")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True)


def native(tmp_path: Path, events: int, name: str = "log.jsonl") -> Path:
    return written(simulated(events=events, seed=3), tmp_path / name)


@pytest.mark.slow
def test_what_cannot_fit_is_refused_before_anything_is_written(small_disk, tmp_path):
    source = native(tmp_path, 2_000)
    os.truncate(source, 200_000_000)
    with pytest.raises(
        NoRoom, match=r"at least \d\.\d MB .* only 1\.\d MB of it are free"
    ) as refused:
        ingest_here(task_of(source, small_disk))
    assert not list(small_disk.iterdir())
    assert postponing.reason(refused.value).sentence == str(refused.value)


@pytest.mark.slow
def test_what_turns_out_not_to_fit_ends_like_any_full_disk(small_disk, tmp_path):
    source = native(tmp_path, 120_000)
    with pytest.raises(OSError, match="No space left on device") as full:
        ingest_here(task_of(source, small_disk))
    assert passing(full.value) is DISK_FULL
    assert not (small_disk / ".work").exists()


@pytest.mark.slow
def test_what_is_found_too_large_when_its_events_are_known_is_refused_for_good(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(job, "LEAST_BYTES_PER_EVENT", 10**12)
    store = tmp_path / "store"
    store.mkdir()
    with pytest.raises(NoRoom) as refused:
        ingest_here(task_of(native(tmp_path, 2_000), store))
    assert postponing.reason(refused.value) is None
    assert not list(store.rglob("*.arrow"))


def test_a_compressed_text_needs_the_room_to_unpack_it(tmp_path):
    plain = native(tmp_path, 2_000)
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert least_room(task_of(packed, tmp_path)) == packed.stat().st_size
    assert least_room(task_of(plain, tmp_path)) == plain.stat().st_size // 100


@pytest.mark.slow
def test_an_unpacked_text_goes_when_it_was_parsed(tmp_path):
    packed, store = tmp_path / "log.jsonl.gz", tmp_path / "store"
    packed.write_bytes(gzip.compress(native(tmp_path, 2_000).read_bytes()))
    store.mkdir()
    seen = []

    class Noted(StagesHere):
        def run(self, kernel, tasks, **options):
            texts = list((store / ".work" / "staged").glob("text-*"))
            seen.append((kernel.__name__, len(texts)))
            return super().run(kernel, tasks, **options)

    Ingest(task_of(packed, store), Noted(), silent).run()
    assert seen[:2] == [("parse_text", 1), ("order_processes", 0)]


@pytest.mark.slow
def test_long_texts_make_more_parts_than_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(job, "ROWS_PER_PART", 1_000)
    run = a_run(dict.fromkeys("abcdef", 0), {})
    for process in "abcdef":
        run.internal(process, "x" * 200_000)
    store = tmp_path / "store"
    store.mkdir()
    source = written(run.log(), tmp_path / "log.jsonl")
    manifest = Ingest(task_of(source, store), StagesHere(), silent).run().manifest
    assert len(manifest.parts_of("events")) > 1

"""The index and the fences, put together from outlines, say what the rows of the parts say."""

import resource
import shutil

import numpy as np
import pyarrow as pa
import pytest

from snapshots.store import levels
from snapshots.store.decoding import open_part
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import EVENT_COLUMNS, EVENTS, FENCES, INDEX, OUTLINES, PARTED
from snapshots.store.locations import Store
from snapshots.store.manifest import Manifest
from snapshots.store.outlines import FENCE, SEARCHED, outline_of, save
from snapshots.store.parts import map_batch, write_blocks
from snapshots.store.publish import publish
from snapshots.store.writer import finish, write_recording
from tests.builders import a_run, recorded, simulated
from tests.store.folders import scatter


@pytest.fixture(params=[None, 1, 2], ids=["whole", "scattered", "scattered otherwise"])
def folder(request, tmp_path):
    """A recording with runs of many lengths, and with messages and markers that overtake."""
    manifest = write_recording(recorded(simulated(events=2_000, seed=4)), tmp_path)
    if request.param is not None:
        scatter(tmp_path, manifest, request.param)
    return tmp_path


def runs_of(folder, table) -> list[tuple[int, int, int, int]]:
    """Return (code, part, begin, end) of a table, found by looking at each row."""
    runs: dict[tuple[int, int], list[int]] = {}
    for number, part in enumerate(Manifest.read(folder).parts_of(table)):
        stored = open_part(folder / part.file, table)
        codes = stored.numbers(PARTED[table][1], slice(0, part.rows)).tolist()
        for row, code in enumerate(codes):
            runs.setdefault((code, number), []).append(row)
    return sorted((*place, rows[0], rows[-1] + 1) for place, rows in runs.items())


def test_the_index_lists_every_run_of_every_part_by_code(folder):
    listed = [(table, *run) for table in PARTED for run in runs_of(folder, table)]
    index = map_batch(folder / INDEX).to_pydict()
    assert list(zip(*index.values(), strict=True)) == listed
    assert len(listed) > 20


@pytest.mark.parametrize("table", PARTED)
def test_fences_are_the_last_values_of_whole_blocks_by_code(folder, table):
    parts = [open_part(folder / part.file, table) for part in Manifest.read(folder).parts_of(table)]
    expected = [
        [
            int(parts[part].numbers(name, slice(row + FENCE - 1, row + FENCE))[0])
            for _, part, begin, end in runs_of(folder, table)
            for row in range(begin, end - FENCE + 1, FENCE)
        ]
        for name in SEARCHED[table]
    ]
    assert np.load(folder / FENCES / f"{table}.npy").tolist() == expected


def test_levels_that_are_counted_elsewhere_in_any_number_of_tasks_are_the_same(
    folder, tmp_path_factory, monkeypatch
):
    def elsewhere(count, tasks):
        assert len(tasks) > 8
        for task in tasks:
            count(task)  # a task that runs twice leaves files that do not count
        return [count(task) for task in tasks]

    once = finish(folder, Manifest.read(folder), levels_above=0)
    kept = shutil.copytree(folder / "levels", tmp_path_factory.mktemp("kept") / "levels")
    shutil.rmtree(folder / "levels")
    monkeypatch.setattr(levels, "_CHUNK", 700)
    assert finish(folder, once, levels_above=0, run=elsewhere).levels == once.levels
    names = sorted(path.name for path in kept.iterdir())
    assert names == sorted(path.name for path in (folder / "levels").iterdir())
    for name in names:
        assert (folder / "levels" / name).read_bytes() == (kept / name).read_bytes()


def test_a_matrix_written_by_blocks_is_the_file_that_numpy_writes(tmp_path):
    matrix = np.arange(12, dtype=np.uint8).reshape(4, 3)
    np.save(tmp_path / "whole.npy", matrix.astype(np.uint16))
    blocks = (matrix[:1], matrix[1:1], matrix[1:])
    write_blocks(tmp_path / "blocks.npy", (4, 3), np.dtype(np.uint16), blocks)
    assert (tmp_path / "blocks.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_a_published_recording_has_no_outlines_and_cannot_be_finished_again(tmp_path):
    store = Store.at(tmp_path.as_uri())
    folder = store.temporary("7")
    write_recording(recorded(a_run().send("p->q", "m", value=1)), folder)
    assert (folder / OUTLINES).is_dir()
    publish(folder, store.folder("7"))
    published = store.folder("7")
    assert not (published / OUTLINES).exists()
    with pytest.raises(StoreDamaged, match="finished before that"):
        finish(published, Manifest.read(published))


def test_a_part_whose_times_are_not_known_yet_has_an_outline(tmp_path):
    manifest = write_recording(recorded(simulated()), tmp_path)
    [part] = manifest.parts_of(EVENTS)
    rows = open_part(tmp_path / part.file, EVENTS).table(EVENT_COLUMNS)
    place = rows.schema.get_field_index("at")
    untimed = rows.set_column(place, rows.field("at"), pa.nulls(rows.num_rows, pa.int64()))
    outline, timed = outline_of(EVENTS, untimed), outline_of(EVENTS, rows)
    assert outline.end.tolist() == timed.end.tolist()
    assert outline.fences[1].tolist() == timed.fences[1].tolist()


def test_an_outline_that_the_disk_did_not_take_is_an_error(tmp_path):
    """The header fits, and the numbers do not: ``np.save`` returns as if they were written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save(tmp_path / "numbers.npy", np.arange(100))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

"""A damaged store is refused with what is wrong, where and why; it never answers wrongly."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.store import parts
from snapshots.store.errors import StoreDamaged, StoreError, StoreMissing
from snapshots.store.layout import MESSAGE_COLUMNS
from snapshots.store.manifest import Manifest
from snapshots.store.reader import StoredRecording
from snapshots.store.windows import Limits, window
from snapshots.store.writer import finish, write_recording
from tests.builders import a_run, recorded, simulated

EVERY_FILE = (
    "channels.arrow",
    "events/*.arrow",
    "fences/events.npy",
    "fences/messages.npy",
    "index.arrow",
    "markers/*.arrow",
    "messages/*.arrow",
    "processes.arrow",
    "records.arrow",
    "strays.arrow",
)


@pytest.fixture(scope="session")
def undamaged(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undamaged")
    write_recording(recorded(simulated()), folder)
    return folder


@pytest.fixture
def folder(undamaged, tmp_path) -> Path:
    return shutil.copytree(undamaged, tmp_path, dirs_exist_ok=True)


def the_file(folder: Path, pattern: str) -> Path:
    [file] = folder.glob(pattern)
    return file


def opening(folder: Path) -> StoreDamaged:
    with pytest.raises(StoreDamaged) as caught:
        StoredRecording.open(folder)
    return caught.value


@pytest.mark.parametrize("pattern", EVERY_FILE)
def test_a_file_cut_short_is_named(folder, pattern):
    file = the_file(folder, pattern)
    file.write_bytes(file.read_bytes()[:-100])
    assert opening(folder).where == str(file.relative_to(folder))


@pytest.mark.parametrize("pattern", EVERY_FILE)
def test_a_missing_file_is_named(folder, pattern):
    file = the_file(folder, pattern)
    file.unlink()
    assert opening(folder).where == str(file.relative_to(folder))


@pytest.mark.parametrize("pattern", EVERY_FILE)
def test_a_file_of_something_else_is_named(folder, pattern):
    file = the_file(folder, pattern)
    file.write_bytes(b"not what it was" * 100)
    assert opening(folder).where == str(file.relative_to(folder))


def test_files_of_another_recording_are_noticed(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write_recording(recorded(simulated(seed=2, events=200)), other)
    for pattern in ("events/*.arrow", "index.arrow", "fences/events.npy"):
        copy = the_file(folder, pattern)
        kept = copy.read_bytes()
        shutil.copy(the_file(other, pattern), copy)
        assert opening(folder).where
        copy.write_bytes(kept)
    assert StoredRecording.open(folder)


def test_a_table_with_other_columns_is_named(folder):
    shutil.copy(folder / "channels.arrow", folder / "processes.arrow")
    error = opening(folder)
    assert error.where == "processes.arrow"
    assert "another release" in error.cause


def test_a_row_that_refers_to_a_missing_row_is_an_error(tmp_path):
    manifest = write_recording(recorded(a_run().send("p->q", "m", value=1)), tmp_path)
    row = {
        "channel": [0],
        "sent_index": [0],
        "received_index": [99],
        "sent_at": [100],
        "received_at": [200],
        "message": ["m"],
        "value": ["1"],
    }
    schema = MESSAGE_COLUMNS.remove(MESSAGE_COLUMNS.get_field_index("received_reach"))
    [part] = parts.write_messages(tmp_path, pa.table(row, schema))
    finish(tmp_path, replace(manifest, parts=(manifest.parts[0], part)))
    with pytest.raises(StoreDamaged, match="points at another one that does not exist"):
        StoredRecording.open(tmp_path).window(0, 100)


def test_a_level_cut_short_is_named(folder):
    manifest = finish(folder, Manifest.read(folder), levels_above=0)
    finest = manifest.levels["time"][0]
    file = folder / "levels" / f"time-{finest}-depth.arrow"
    file.write_bytes(file.read_bytes()[:-1])
    limits = Limits(events=-1, counted=-1)
    with pytest.raises(StoreDamaged) as caught:
        window(StoredRecording.open(folder).tables, 0, 10**9, 4096, "time", limits)
    assert caught.value.where == f"levels/{file.name}"


def test_a_folder_without_a_manifest_is_no_recording(tmp_path):
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(StoreMissing, match="did the job that writes it not finish"):
            StoredRecording.open(place)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 99},
        {"extent": None},
        {"kinds": None},
        {"counts": {}},
        {"parts": [{"table": "events", "file": "../../etc/passwd", "rows": 1}]},
        {"parts": [{"table": "party", "file": "party/x.arrow", "rows": 1}]},
    ],
)
def test_a_changed_manifest_is_refused(folder, change):
    file = folder / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    assert opening(folder).where == "manifest.json"


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"format": "cutline-store"}'])
def test_a_file_that_is_no_manifest_is_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    assert opening(folder).where == "manifest.json"


def test_a_manifest_comes_back_as_it_was_written(folder):
    manifest = Manifest.read(folder)
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert manifest.counts["processes"] == 4


def test_summaries_that_are_no_json_are_named(folder):
    (folder / "snapshots.json").write_text("[")
    with pytest.raises(StoreDamaged, match=r"snapshots\.json"):
        StoredRecording.open(folder).snapshots()


def test_every_error_of_the_store_is_final():
    assert StoreError.permanent
    assert "what" in str(StoreDamaged("where", "what", "cause"))

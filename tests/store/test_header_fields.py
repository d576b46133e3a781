"""Very many further fields of a header lie beside the manifest and are parsed when needed."""

import json
from dataclasses import replace
from pathlib import Path
from time import process_time

import orjson
import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.simulators.samples import two_banks
from snapshots.store.errors import StoreDamaged
from snapshots.store.layout import HEADER_FIELDS, MANIFEST
from snapshots.store.manifest import Manifest
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import finish, write_recording

MANY = {f"key {number}": {"n": number} for number in range(50_000)}


def written(folder: Path, extra: dict[str, object]) -> Path:
    log = two_banks()
    assembly = assemble(replace(log.header, extra=extra), log.events)
    write_recording(assembly.recording, folder, assembly.defects)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return written(tmp_path_factory.mktemp("many"), MANY | {"derived": True, "wide": 2**70})


def test_all_fields_come_back(folder):
    extra = Manifest.read(folder).header_extra
    assert dict(extra) == MANY | {"derived": True, "wide": 2**70}
    assert len(extra) == len(MANY) + 2


def test_fields_that_nobody_reads_are_not_parsed(folder):
    """Parsing all fields takes at least as long as orjson does."""
    text = orjson.dumps(MANY)
    began = process_time()
    orjson.loads(text)
    parsing = process_time() - began
    began = process_time()
    assert StoredRecording.open(folder).manifest.header_extra.get("derived") is True
    assert process_time() - began < parsing
    assert (folder / MANIFEST).stat().st_size < 10_000


def test_a_missing_field_is_absent(folder):
    extra = Manifest.read(folder).header_extra
    assert extra.get("notes") is None
    assert "notes" not in extra
    assert 7 not in extra
    with pytest.raises(KeyError):
        extra["notes"]


def test_few_fields_stay_in_the_manifest(tmp_path):
    written(tmp_path, {"notes": ["a note"]})
    assert not (tmp_path / HEADER_FIELDS).exists()
    assert json.loads((tmp_path / MANIFEST).read_bytes())["header_extra"] == {"notes": ["a note"]}


def test_one_long_field_is_kept_beside_the_manifest(tmp_path):
    written(tmp_path, {"long": "x" * 100_000})
    assert Manifest.read(tmp_path).header_extra["long"] == "x" * 100_000
    assert (tmp_path / MANIFEST).stat().st_size < 10_000


def test_a_recording_that_is_finished_again_keeps_its_fields(tmp_path):
    written(tmp_path, {"long": "x" * 100_000})
    finish(tmp_path, Manifest.read(tmp_path))
    assert dict(Manifest.read(tmp_path).header_extra) == {"long": "x" * 100_000}


@pytest.mark.parametrize("content", [None, b"", b"no Arrow file"])
def test_a_table_that_is_damaged_or_gone_is_named(tmp_path, content):
    written(tmp_path, {"long": "x" * 100_000})
    (tmp_path / HEADER_FIELDS).unlink()
    if content is not None:
        (tmp_path / HEADER_FIELDS).write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"header_fields\.arrow: It cannot be read"):
        StoredRecording.open(tmp_path)

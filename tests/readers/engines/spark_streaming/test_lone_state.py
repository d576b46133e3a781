"""The folder ``state/`` of a checkpoint by itself: its entries are read, and nothing is claimed."""

import shutil

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.inventory.model import UNKNOWN
from snapshots.domain.inventory.restore_check import RESTORABLE
from snapshots.domain.judging.verdicts import judge
from snapshots.readers.engines import registry
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.timeline import NO_LOGS
from tests.readers.engines.spark_streaming.cases import MAIN, unpack

CASES = ("window-agg-hdfs", "plain-agg-rocksdb-v2", "join-inner-hdfs")


@pytest.fixture(params=CASES)
def folders(request, shared_data, tmp_path):
    """Return the folders of a whole checkpoint and of a copy of its state alone."""
    whole, _ = unpack(shared_data / "spark-streaming" / f"{request.param}.zip", tmp_path / "whole")
    shutil.copytree(whole / MAIN / "state", tmp_path / "alone" / "state")
    return whole, tmp_path / "alone"


def entries_of(upload: SparkUpload) -> set[tuple]:
    """Return the entries, with the number of their batch."""
    entries = list(upload.entries())
    batch_of = [checkpoint.id for checkpoint in upload.inventory().checkpoints]
    return {
        (batch_of[one.checkpoint], one.operator, one.state, one.subtask, one.identity, one.digest)
        for one in entries
    }


def test_the_entries_are_those_of_the_whole_checkpoint(folders):
    whole, alone = map(SparkUpload, folders)
    expected = entries_of(whole)
    assert expected
    assert entries_of(alone) == expected


def test_it_is_recognised_by_the_names_of_its_files(folders):
    names = [path for path in folders[1].rglob("*") if path.is_file()]
    files = tuple(path.relative_to(folders[1]).as_posix() for path in names)
    recognised = registry.recognise(folders[1], files, registry.PACKAGE)
    assert recognised.reader is registry.READERS["spark-streaming"]
    assert "files of state" in recognised.reason


def test_nothing_is_claimed_of_batches_and_their_restore(folders):
    upload = SparkUpload(folders[1])
    entries = list(upload.entries())
    inventory = upload.inventory()
    assert entries
    assert {one.status for one in inventory.checkpoints} == {UNKNOWN}
    assert all(NO_LOGS in (one.problem or "") for one in inventory.checkpoints)
    assert {one.in_flight for one in inventory.checkpoints} == {None}
    assert RESTORABLE not in {one.answer for one in upload.restore_check().checks}
    header, events = upload.recording()
    assert judge(assemble(header, list(events)).recording) == ()

"""Damaged and hostile checkpoints: named damage or a refusal, never another error, never a hang."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.documents import NotReadable, parse
from snapshots.readers.engines.spark_streaming.files import DamagedFile, list_files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.blocks import unpack as unpack_blocks
from snapshots.readers.engines.spark_streaming.state.operators import MOST_PARTITIONS
from snapshots.readers.engines.spark_streaming.state.private_copy import PrivateCopy
from snapshots.readers.engines.spark_streaming.state.readings import readings_of
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    NotDecodable,
    read_changes,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.upload import read_checkpoint, read_upload
from tests.effort import FAST
from tests.readers.engines.spark_streaming.cases import MAIN, unpack
from tests.readers.engines.spark_streaming.rows import lz4_stream
from tests.readers.mutated import MANY, mutated

LIMITS = SparkLimits(state_bytes=2**20)
LONGEST = 5  # seconds for one checkpoint
SEEDS = {
    "flatmap-groups-with-state-scala": 3,
    "plain-agg-rocksdb-v2": 2,
    "join-inner-rocksdb-vcf": 1,
    "tws-pandas-ttl": 1,
    "commit-log-v3-sink-evolution": 1,
    "stateless-file-to-parquet": 1,
}
"""Cases, and how often one is taken compared with the others."""


@pytest.fixture
def cases(shared_data, tmp_path) -> list[Path]:
    """Return folders with the seeds, to be damaged one file at a time."""
    folders = {
        name: unpack(shared_data / "spark-streaming" / f"{name}.zip", tmp_path)[0] for name in SEEDS
    }
    return [folders[name] for name, often in SEEDS.items() for _ in range(often)]


def test_any_damage_to_any_file_is_named_or_refused(cases, tmp_path):
    count = MANY // 10 if FAST else MANY
    damaged = 0
    for number in range(count):
        folder = cases[number % len(cases)]
        path = _chosen(folder, number)
        whole = path.read_bytes()
        path.write_bytes(_damaged(path, whole, number))
        began = time.monotonic()
        copy = None if number % 3 else tmp_path / "copy"
        damaged += _read_everything(folder, copy)
        assert time.monotonic() - began < LONGEST, (number, path)
        path.write_bytes(whole)
    assert damaged > count / 5


def _chosen(folder: Path, number: int) -> Path:
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.endswith(".crc")]
    return paths[number * 7919 % len(paths)]


def _damaged(path: Path, whole: bytes, number: int) -> bytes:
    """Damage a file; every second state file is damaged inside its blocks, with right checksums."""
    if number % 2 and path.suffix in (".delta", ".changelog", ".snapshot"):
        content = unpack_blocks(whole, "lz4", LIMITS.state_bytes).content
        return lz4_stream(next(mutated([content], 1, number)))
    return next(mutated([whole], 1, number))


def _read_everything(folder: Path, scratch: Path | None) -> bool:
    """Read all that can be read, and tell whether anything was reported as damaged.

    A private copy is made in ``scratch``, unless that is None.
    """
    try:
        upload = read_upload(folder, LIMITS)
    except InputRefused:
        return True
    is_damaged = bool(upload.damaged)
    for checkpoint in upload.checkpoints.values():
        assert checkpoint.roles.keys() == checkpoint.files.entries.keys()
        problems = [*checkpoint.damaged, *_read_state(checkpoint)]
        if scratch is not None:
            problems += _copy(checkpoint, scratch)
        is_damaged = is_damaged or bool(problems)
    return is_damaged


def _read_state(checkpoint: SparkCheckpoint) -> Iterator[Exception]:
    newest = max((batch.batch for batch in checkpoint.batches), default=0)
    for operator in checkpoint.operators:
        for reading in readings_of(operator, checkpoint.versions):
            partitions = checkpoint.versions.get(operator.id, {}).get(reading.store, {})
            for partition in partitions:
                state = (checkpoint, operator.id, reading, partition)
                for read, which in ((read_partition, newest + 1), (read_changes, range(newest))):
                    try:
                        read(*state, which, LIMITS)
                    except DamagedFile as error:
                        yield error
                    except NotDecodable:
                        pass


def _copy(checkpoint: SparkCheckpoint, folder: Path) -> list[DamagedFile]:
    copy = PrivateCopy(checkpoint, folder, LIMITS)
    damaged = []
    for operator in checkpoint.operators:
        newest = max((batch.batch for batch in checkpoint.batches), default=0)
        damaged += copy.add_state(operator.id, 1, newest + 1)
    for path in folder.rglob("*"):
        assert not path.is_symlink()
    shutil.rmtree(folder)
    return damaged


@pytest.fixture
def checkpoint_folder(shared_data, tmp_path) -> Path:
    folder, _ = unpack(shared_data / "spark-streaming" / "window-agg-hdfs.zip", tmp_path)
    return folder / MAIN


def _rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_huge_number_of_partitions_is_damage(checkpoint_folder):
    path = checkpoint_folder / "state/0/_metadata/metadata"
    _rewrite(path, '"numPartitions":2', f'"numPartitions":{MOST_PARTITIONS + 1}')
    checkpoint = read_checkpoint(checkpoint_folder)
    (damaged,) = checkpoint.damaged
    assert damaged.file == "state/0/_metadata/metadata"
    assert checkpoint.operators[0].partitions == 2  # as the settings of the query have it


def test_a_batch_of_a_huge_number_costs_nothing(checkpoint_folder):
    for folder in ("offsets", "commits"):
        (checkpoint_folder / folder / "11").rename(
            checkpoint_folder / folder / "999999999999999999"
        )
    (checkpoint_folder / "state/0/0/12.delta").rename(
        checkpoint_folder / "state/0/0/999999999999999999.delta"
    )
    checkpoint = read_checkpoint(checkpoint_folder)
    assert checkpoint.batches[-1].batch == 999_999_999_999_999_999
    with pytest.raises(NotDecodable, match="more files"):
        read_partition(
            checkpoint,
            0,
            readings_of(checkpoint.operators[0], checkpoint.versions)[0],
            0,
            checkpoint.batches[-1].state_version,
            LIMITS,
        )


def test_a_source_log_of_a_huge_range_costs_nothing(checkpoint_folder):
    path = checkpoint_folder / "offsets/11"
    _rewrite(path, '{"logOffset":5}', '{"logOffset":9223372036854775807}')
    last = read_checkpoint(checkpoint_folder).batches[-1]
    assert last.sources[0].files is None


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, '{"a":' * 40 + "1" + "}" * 40])
def test_json_nested_too_deep_is_not_read(text):
    with pytest.raises(NotReadable):
        parse(text, 32)


def test_more_files_than_the_limit_are_refused(checkpoint_folder):
    with pytest.raises(InputRefused, match="more than 10 files"):
        list_files(checkpoint_folder, 10)


def test_a_store_with_a_name_that_leads_elsewhere_is_damage(checkpoint_folder):
    path = checkpoint_folder / "state/0/_metadata/metadata"
    _rewrite(path, '"storeName":"default"', '"storeName":"../../.."')
    (damaged,) = read_checkpoint(checkpoint_folder).damaged
    assert "name of a folder" in damaged.what

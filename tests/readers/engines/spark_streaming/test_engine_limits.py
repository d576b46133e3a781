"""Uploads of Spark's checkpoints that are large, odd or damaged."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines import picture
from snapshots.readers.engines.spark_streaming.adapter import events as engine_events
from snapshots.readers.engines.spark_streaming.adapter import graph as engine_graph
from snapshots.readers.engines.spark_streaming.adapter import inventory as engine_inventory
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.adapter.sizes import StoredVersions
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.state.store_files import (
    DELTA,
    SNAPSHOT,
    VersionFile,
    chain,
)
from snapshots.readers.engines.spark_streaming.state.store_files import PartitionFiles as Listed
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.native import write_lines
from tests.effort import FAST, examples
from tests.readers.engines.spark_streaming.cases import MAIN
from tests.readers.inputs import read as read_log
from tests.readers.mutated import MANY, mutated

LONGEST = 5  # seconds for one upload
SEEDS = ("incident-state-ahead", "plain-agg-rocksdb-v2", "stateless-file-to-parquet")
LIMITS = SparkLimits(state_bytes=2**20)


def checkpoint(folder: Path, batches: dict[int, list[str]], settings: dict | None = None) -> Path:
    """Write a checkpoint whose batches have these source lines; the last has no commit."""
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"q"}')
    for batch, lines in batches.items():
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 10**12 + batch, "conf": {}}
        text = "\n".join(["v1", json.dumps(metadata | (settings or {})), *lines])
        (folder / "offsets" / str(batch)).write_text(text)
        if batch != max(batches):
            (folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    return folder


def ingestable(upload: SparkUpload, folder: Path) -> None:
    """Check that the derived log is read without a defect and makes a recording."""
    header, events = upload.recording()
    path = folder / "derived.jsonl"
    path.write_bytes(b"".join(write_lines(header, events)))
    read, events, _ = read_log(path, Limits())
    assemble(read, events)


versions = st.dictionaries(st.integers(1, 12), st.sampled_from([1, 2, 3]), max_size=12)


@settings(max_examples=examples(300), deadline=None)
@given(found=versions, batches=st.sets(st.integers(0, 12), min_size=1))
def test_a_version_takes_the_chain_of_its_files(found, batches):
    """``found`` maps versions to 1 for changes, 2 for a snapshot, 3 for both."""
    files = [VersionFile(v, DELTA, None, f"{v}.delta") for v, kinds in found.items() if kinds & 1]
    files += [
        VersionFile(v, SNAPSHOT, None, f"{v}.snapshot") for v, kinds in found.items() if kinds & 2
    ]
    sizes = {file.path: 10 ** (file.version % 6) + len(file.path) for file in files}
    wanted = sorted(batch + 1 for batch in batches)
    stored = StoredVersions(tuple(files), sizes, wanted, {})
    chains = {version: chain(Listed(0, tuple(files)), version) for version in wanted}
    users = [file.path for one in chains.values() for file in one.files]
    for version, one in chains.items():
        load = stored.load(version)
        assert (load.lacking, load.missing) == (one.lacking, one.missing)
        paths = [file.path for file in one.files]
        assert load.bytes == sum(sizes[path] for path in paths)
        assert load.shared == sum(sizes[path] for path in paths if users.count(path) > 1)
    for file in files:
        takers = [version for version, one in chains.items() if file in one.files]
        assert [wanted[place] for place in stored.users(file)] == takers


ODD_OFFSETS = [
    "18446744073709551615",
    '{"logOffset":9223372036854775808}',
    '{"logOffset":-5}',
    '{"offset":1e300,"timestamp":1e300}',
    '{"t":{"0":18446744073709551615}}',
    '"text \\u0000"',
    "[[[[[[[[[[1]]]]]]]]]]",
    "-",
]


@pytest.mark.parametrize("offset", ODD_OFFSETS)
def test_an_offset_may_be_anything(tmp_path, offset):
    folder = checkpoint(tmp_path / "up", {0: [offset], 1: [offset, offset]})
    upload = SparkUpload(folder)
    assert len(upload.inventory().checkpoints) == 2
    ingestable(upload, tmp_path)


@pytest.mark.parametrize("at", [-(2**63), -1, 2**63 - 1])
def test_a_time_may_be_anything(tmp_path, at):
    folder = checkpoint(tmp_path / "up", {0: ["1"], 1: ["2"]})
    path = folder / "offsets/1"
    path.write_text(path.read_text().replace(str(10**12 + 1), str(at)))
    path.write_text(path.read_text().replace('"batchWatermarkMs": 0', f'"batchWatermarkMs": {at}'))
    ingestable(SparkUpload(folder), tmp_path)


@pytest.mark.parametrize(
    "name", ["coordinator", "x" * 500, "tab\\there", "a[0]", "op:0", "sink", "two\u2028lines"]
)
def test_names_of_sources_and_operators_may_be_odd(tmp_path, name):
    folder = checkpoint(tmp_path / "up", {0: [f"{name}:1", "b:1"], 1: [f"{name}:2", "b:1"]})
    for path in (folder / "offsets").iterdir():
        path.write_text(path.read_text().replace("v1", "v2", 1))
    for operator in range(2):
        inner = folder / f"state/{operator}/_metadata"
        inner.mkdir(parents=True)
        store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}
        info = {"operatorId": operator, "operatorName": name}
        document = {"operatorInfo": info, "stateStoreInfo": [store]}
        (inner / "metadata").write_text("v1\n" + json.dumps(document))
    upload = SparkUpload(folder)
    upload.inventory()
    ingestable(upload, tmp_path)


def with_state(folder: Path, operators: int, partitions: int, versions: int) -> Path:
    for operator in range(operators):
        for partition in range(partitions):
            inner = folder / f"state/{operator}/{partition}"
            inner.mkdir(parents=True)
            for version in range(1, versions + 1):
                (inner / f"{version}.delta").write_bytes(b"x" * version)
    return folder


def test_too_many_partitions_are_one_process_for_each_operator(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_graph, "MOST_TASKS", 5)
    batches = {0: ["1"], 1: ["2"], 2: ["3"]}
    folder = with_state(checkpoint(tmp_path / "up", batches), 2, 3, 3)
    upload = SparkUpload(folder)
    header, events = upload.recording()
    names = [process.id for process in header.topology.processes]
    assert names == [*["source 0[0]", "operator 0[0]", "operator 1[0]", "sink[0]", "coordinator"]]
    assert engine_graph.ONE_PROCESS in header.extra["notes"]
    ends = [event.snapshot for event in events if event.kind == "task_end"]
    assert ends == ["0", "0", "1", "1", "2", "2"]
    ingestable(upload, tmp_path)


def test_a_huge_partition_number_makes_no_huge_number_of_processes(tmp_path):
    folder = with_state(checkpoint(tmp_path / "up", {0: ["1"], 1: ["2"]}), 1, 1, 1)
    (folder / "state/0/0").rename(folder / "state/0/99999999999")
    header, events = SparkUpload(folder).recording()
    assert len(header.topology.processes) == 4
    assert len(list(events)) < 50


def test_channels_are_left_out_where_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "MOST_CHANNELS", 8)
    folder = with_state(checkpoint(tmp_path / "up", {0: ["1"], 1: ["2"]}), 2, 3, 2)
    header, _ = SparkUpload(folder).recording()
    assert len(header.topology.channels) == 6
    assert engine_graph.NO_CHANNELS in header.extra["notes"]
    assert len(header.extra["dataflow"]["edges"]) == 3


def test_empty_channels_are_not_logged_where_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_events, "MOST_CHANNEL_RECORDS", 3)
    folder = with_state(checkpoint(tmp_path / "up", {0: ["1"], 1: ["2"]}), 1, 3, 2)
    header, events = SparkUpload(folder).recording()
    assert not any(event.kind == "record_channel" for event in events)
    assert "not logged one by one" in header.extra["notes"][-1]


def test_the_newest_batches_of_a_long_history_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_events, "MOST_EVENTS", 18)
    upload = SparkUpload(checkpoint(tmp_path / "up", {batch: ["1"] for batch in range(4)}))
    header, events = upload.recording()
    assert {event.snapshot for event in events if event.snapshot} == {"2", "3"}
    assert "The 2 earliest batches are left out" in header.extra["notes"][-1]
    assert len(upload.inventory().checkpoints) == 4
    ingestable(upload, tmp_path)


def test_only_the_newest_batches_list_operators_where_there_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_inventory, "MOST_PARTS", 12)
    batches = {batch: ["1"] for batch in range(5)}
    folder = with_state(checkpoint(tmp_path / "up", batches), 1, 3, 5)
    inventory = SparkUpload(folder).inventory()
    assert [len(one.operators) for one in inventory.checkpoints] == [0, 0, 0, 1, 1]
    reasons = [one.why_state_unknown for one in inventory.checkpoints]
    assert reasons == [*[engine_inventory.NOT_LISTED] * 3, None, None]
    assert [one.bytes for one in inventory.checkpoints] == [None, None, None, 30, 45]
    assert "Only the newest batches" in inventory.notes[-1]


def test_a_long_history_with_much_state_takes_no_long_time(tmp_path):
    batches = {batch: [str(batch)] for batch in range(400)}
    folder = with_state(checkpoint(tmp_path / "up", batches), 1, 5, 400)
    began = time.monotonic()
    upload = SparkUpload(folder)
    inventory = upload.inventory()
    assert time.monotonic() - began < LONGEST
    # there is no snapshot, so the oldest file is needed by all; the newest 100 are named
    uses = {use.path: use.checkpoints for use in inventory.files}
    assert uses["state/0/0/1.delta"] == tuple(range(300, 400))
    assert "the newest 100 batches" in inventory.notes[0]


def test_links_and_files_that_lie_too_deep_are_listed(tmp_path):
    folder = checkpoint(tmp_path / "up", {0: ["1"], 1: ["2"]})
    (folder / "offsets/7").symlink_to("/etc/passwd")
    (use,) = [use for use in SparkUpload(folder).inventory().files if use.role == "left out"]
    assert (use.path, use.bytes) == ("offsets/7", 0)


def test_any_damage_is_described_or_refused(case, tmp_path):
    folders = [case(name) for name in SEEDS]
    refused = 0
    for number in range(MANY // 10 if FAST else MANY * 2 // 3):
        folder = folders[number % len(folders)]
        path = _chosen(folder, number)
        whole = path.read_bytes()
        path.write_bytes(next(mutated([whole], 1, number)))
        began = time.monotonic()
        try:
            _all_of(folder, tmp_path)
        except InputRefused:
            refused += 1
        assert time.monotonic() - began < LONGEST, (number, path)
        path.write_bytes(whole)
    assert refused < MANY / 100


def _chosen(folder: Path, number: int) -> Path:
    paths = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.endswith(".crc")]
    paths = [p for p in paths if MAIN in p.parts or p.name == "progress.jsonl" or "sink" in p.parts]
    return paths[number * 7919 % len(paths)]


def _all_of(folder: Path, scratch: Path) -> None:
    upload = SparkUpload(folder, LIMITS)
    found = list(upload.entries())
    inventory = upload.inventory()
    places = {
        (number, operator.id, state.name)
        for number, one in enumerate(inventory.checkpoints)
        for operator in one.operators
        for state in operator.states
    }
    assert {(one.checkpoint, one.operator, one.state) for one in found} <= places
    paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert sorted(use.path for use in inventory.files) == sorted(paths)
    ingestable(upload, scratch)

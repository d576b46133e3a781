"""What the logs of a Spark query show, whatever its sources and wherever its folder lies."""

import json
from pathlib import Path

import pytest

from snapshots.domain.inventory.model import AHEAD, TO_WATCH, WENT_WRONG
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload

PLAN = '{"batchWatermarkMs":0,"batchTimestampMs":%d}'


def query(folder: Path, offsets: dict[int, list[object]], commits: list[int]) -> None:
    """Write the logs of a query without state."""
    for name, content in (("metadata", '{"id":"q"}'),):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for batch, ends in offsets.items():
        texts = ["-" if end is None else json.dumps(end) for end in ends]
        _write(folder / f"offsets/{batch}", "\n".join(["v1", PLAN % (5_000 + batch), *texts]))
    for batch in commits:
        _write(folder / f"commits/{batch}", "v1\n{}")


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def shown(root: Path) -> list[tuple[str, str]]:
    facts = SparkUpload(root).inventory().jobs[0].facts
    return [(one.name, str(one.value)) for one in facts if one.name in (WENT_WRONG, TO_WATCH)]


@pytest.mark.parametrize(
    ("offset", "log", "what"),
    [
        ({"t": {"0": 7}}, b'\0v1\n{"t":{"0":3}}', "initial offsets"),
        (9, b"v1\n1795878839993", "started at"),
        ({"reservoirId": "r"}, b"\x93NUMPY", None),
        ({"shard-0": "4958"}, b"v3\n{}", None),
    ],
)
def test_the_log_of_a_source_that_reads_no_files_is_not_damaged(tmp_path, offset, log, what):
    query(tmp_path, {0: [offset]}, [0])
    _write(tmp_path / "sources/0/0", log)
    upload = SparkUpload(tmp_path)
    checkpoint = upload.jobs[0].checkpoint
    assert checkpoint.damaged == ()
    assert checkpoint.own_logs["0"].what == what
    assert checkpoint.unknown_files == ()


def test_an_empty_log_of_a_rate_source_is_damaged_and_a_broken_log_of_files_is(tmp_path):
    query(tmp_path / "rate", {0: [4]}, [0])
    _write(tmp_path / "rate/sources/0/0", b"")
    query(tmp_path / "file", {0: [{"logOffset": 0}]}, [0])
    _write(tmp_path / "file/sources/0/0", b"v1\n12")
    jobs = SparkUpload(tmp_path).jobs
    assert [[one.file for one in job.checkpoint.damaged] for job in jobs] == [["sources/0/0"]] * 2


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        ({"t": {"0": 300}}, "Batch 1 is to go back from 500 to 300 in t-0."),
        ({"t": {"0": 900}}, None),
    ],
)
def test_a_kafka_offset_that_goes_back_is_said(tmp_path, after, sentence):
    query(tmp_path, {0: [{"t": {"0": 500}}], 1: [after]}, [0])
    texts = [text for _, text in shown(tmp_path)]
    assert (sentence is None and not texts) or texts[0].startswith(sentence)


def test_a_source_that_a_batch_gained_is_said(tmp_path):
    query(tmp_path, {0: [1], 1: [2, None]}, [0, 1])
    assert shown(tmp_path) == [(TO_WATCH, "Batch 1 gained source 1 without an offset.")]


def test_a_gap_in_both_logs_leaves_a_restart_not_known(tmp_path):
    query(tmp_path, {0: [1], 3: [5]}, [0, 3])
    assert "batches 1 and 2" in shown(tmp_path)[0][1]
    check = SparkUpload(tmp_path).restore_check().checks[-1]
    assert check.answer == "not-known"
    assert any("asynchronous progress tracking" in sentence for sentence in check.unknown)


def test_a_sink_that_had_the_batches_before_threw_them_away(tmp_path):
    query(tmp_path / "checkpoint", {0: [1], 1: [2]}, [0, 1])
    for number in range(4):
        entry = {"path": f"p{number}", "modificationTime": 100 + number, "action": "add"}
        _write(tmp_path / f"sink/_spark_metadata/{number}", f"v1\n{json.dumps(entry)}")
    level, text = shown(tmp_path)[0]
    assert level == WENT_WRONG
    assert "already had batches 0 and 1" in text
    assert text.endswith("from batch 4 on.")


def test_a_hole_in_the_log_of_a_sink_is_said(tmp_path):
    query(tmp_path / "checkpoint", {n: [n] for n in range(4)}, [0, 1, 2, 3])
    for number in (0, 1, 3):
        entry = {"path": f"p{number}", "modificationTime": 9_000 + number, "action": "add"}
        _write(tmp_path / f"sink/_spark_metadata/{number}", f"v1\n{json.dumps(entry)}")
    assert "lacks batch 2" in shown(tmp_path)[0][1]


def test_a_checkpoint_inside_of_another_is_a_query_of_its_own(tmp_path):
    query(tmp_path, {0: [1]}, [0])
    query(tmp_path / "inner", {0: [1]}, [0])
    query(tmp_path / "sources/0", {0: [1]}, [0])
    assert [job.folder for job in SparkUpload(tmp_path).jobs] == ["", "inner"]


def test_of_the_versions_of_a_flow_the_newest_decides(tmp_path):
    for version in (0, 1):
        query(tmp_path / f"_checkpoints/c/s/table/flow/{version}", {0: [1]}, [0])
    upload = SparkUpload(tmp_path)
    names = [job.name for job in upload.inventory().jobs]
    assert names == ["flow flow of table", "flow flow of table, version 1"]
    assert "version 1 of the flow counts" in shown(tmp_path)[0][1]


def test_a_query_that_stopped_in_its_first_batch_lacks_no_partition(tmp_path):
    query(tmp_path, {0: [1]}, [])
    info = {
        "operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"},
        "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 3}],
    }
    _write(tmp_path / "state/0/_metadata/metadata", f"v1\n{json.dumps(info)}")
    assert SparkUpload(tmp_path).jobs[0].checkpoint.missing_partitions == {}


def test_state_of_a_batch_without_offsets_is_said(tmp_path):
    query(tmp_path, {0: [1]}, [0])
    for version, ahead in ((1, False), (2, True)):
        _write(tmp_path / f"state/0/0/{version}.delta", b"\0")
        facts = {one.name: one.value for one in SparkUpload(tmp_path).inventory().jobs[0].facts}
        assert (AHEAD in facts) == ahead
        assert facts["processing"] == (None if ahead else "micro-batches")


@pytest.mark.parametrize(
    ("description", "answer"),
    [
        ("RateStreamV2[rowsPerSecond=20]", "not-restorable"),
        ("MemoryStream[value#1]", "restorable"),
        (None, "not-known"),
    ],
)
def test_a_rate_source_needs_the_log_of_its_start(tmp_path, description, answer):
    query(tmp_path / "checkpoint", {0: [4]}, [0])
    if description is not None:
        source = {"description": description, "endOffset": 4, "numInputRows": 4}
        report = {"id": "q", "runId": "r", "batchId": 0, "timestamp": "2026-11-28T10:00:00.000Z"}
        report |= {"durationMs": {"addBatch": 1}, "sources": [source], "stateOperators": []}
        _write(tmp_path / "progress.jsonl", json.dumps(report | {"sink": {"description": "Noop"}}))
    assert SparkUpload(tmp_path).restore_check().answer == answer

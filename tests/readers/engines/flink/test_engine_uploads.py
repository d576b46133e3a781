"""Which uploads are Flink's, and those that are odd or damaged."""

import json
import shutil
from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines import registry
from snapshots.readers.engines.base import START_BYTES, Beginnings
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from tests.readers.engines.flink import engine as given
from tests.readers.mutated import MANY, mutated


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["job/chk-1/_metadata", "job/shared/a"], b""),
        (["_metadata"], bytes.fromhex("4960672d00000006")),
        (["anything"], bytes.fromhex("4960672d00000006")),
        (["rest/checkpoint-1-subtasks-" + "a" * 32 + ".json", "rest/plan.json"], b""),
        (["jobs/" + "a" * 32 + "/checkpoints.json", "config.json"], b""),
        (["a" * 32, "b" * 32], b""),
        (["a" * 32], b'{"archive":[{"path":"/jobs/overview","json":"{}"}]}'),
        (
            ["job.json"],
            b'{"jid":"' + b"a" * 32 + b'","name":"bank","state":"RUNNING","vertices":[]}',
        ),
        (["checkpoints.json"], b'{"counts":{"restored":0},"summary":{},"latest":{},"history":[]}'),
        (
            ["one.json"],
            b'{"id":1,"status":"COMPLETED","is_savepoint":false,"trigger_timestamp":1,"tasks":{}}',
        ),
    ],
)
def test_files_of_flink_are_recognised_with_a_reason(names, start):
    reason = FlinkReader().recognises(begun(names, start))
    assert reason.endswith(".")
    assert "Flink" in reason


@pytest.mark.parametrize(
    ("names", "start"),
    [
        (["metadata", "offsets/0", "commits/0", "state/0/0/1.delta"], b""),
        (["log.jsonl"], b'{"kind":"header","format":"cutline"'),
        (["job.json"], b'{"jobId":"1"}'),
        (["_spark_metadata/0"], b"v1"),
        ([], b""),
    ],
)
def test_files_of_others_are_not_recognised(names, start):
    assert FlinkReader().recognises(begun(names, start)) is None


def test_each_real_answer_is_recognised_by_itself(shared_data):
    rest = given.folder_of(shared_data, "failures") / "rest"
    for name in ("job.json", "plan.json", "checkpoints.json", "checkpoint-3.json"):
        data = (rest / name).read_bytes()
        pretty = json.dumps(json.loads(data), indent=4).encode()
        for content in (data, pretty, b"\n" + pretty):
            assert FlinkReader().recognises(begun(["a.txt"], content)), name


def test_a_long_answer_is_recognised_by_its_beginning():
    subtasks = [{"index": index, "status": "completed"} for index in range(5000)]
    answer = {"id": 7, "status": "COMPLETED", "summary": {}, "subtasks": subtasks}
    start = json.dumps(answer, indent=2).encode()[:START_BYTES]
    assert len(start) == START_BYTES
    assert FlinkReader().recognises(begun(["subtasks"], start))


def test_answers_with_any_names_are_read_as_one_upload(shared_data, tmp_path):
    rest = given.folder_of(shared_data, "failures") / "rest"
    for number, path in enumerate(sorted(rest.glob("*.json"))):
        if path.name not in ("job.json", "index.json"):
            answer = json.loads(path.read_bytes())
            (tmp_path / f"{number}.json").write_text(json.dumps(answer, indent=4))
    names = tuple(path.name for path in tmp_path.iterdir())
    recognised = registry.recognise(tmp_path, names, registry.PACKAGE)
    assert isinstance(recognised.reader, FlinkReader)
    inventory = recognised.reader.read(tmp_path).inventory()
    expected = FlinkReader().read(rest).inventory()
    assert [each.status for each in inventory.checkpoints] == [
        each.status for each in expected.checkpoints
    ]


def begun(names: list[str], start: bytes) -> Beginnings:
    return Beginnings(tuple(names), lambda _: start)


def test_it_is_one_of_the_readers():
    assert registry.READERS["flink"].title == "Flink checkpoints"


def test_a_timeout_that_no_log_can_hold_is_not_known(shared_data, tmp_path):
    folder = tmp_path / "types"
    shutil.copytree(given.folder_of(shared_data, "types") / "rest", folder / "rest")
    path = folder / "rest" / "checkpoints-config.json"
    config = json.loads(path.read_text())
    for timeout, known in ((2**63 - 1, 2**63 - 1), (2**63, None), (10**40, None), (-1, None)):
        path.write_text(json.dumps(config | {"timeout": timeout}))
        _, events = FlinkReader().read(folder).recording()
        triggers = [event for event in events if event.kind == "cp_trigger"]
        assert triggers
        assert {json.loads(event.extra).get("timeout") for event in triggers} == {known}


DAMAGED = {
    "sql-group-agg": ("rest", "files"),
    "two-pipelines": ("rest", "files"),
    "v5-unaligned-bank": ("rest", "files"),
    "failures": ("rest",),
}

DAMAGES = MANY if MANY >= 10_000 else MANY // 5


def _whole_way(folder: Path) -> None:
    """Do all that a worker does with an upload, by the reference."""
    upload = FlinkReader().read(folder)
    header, events = upload.recording()
    assembly = assemble(header, events)
    assert assembly.defects == ()
    for report in judge(assembly.recording):
        assert {finding.verdict for finding in report.findings} <= {"unknown", "incomplete"}
    checkpoints(assembly.recording)
    for entry in upload.entries():
        assert entry.bytes >= 0
    inventory = upload.inventory()
    assert len({one.path for one in inventory.files}) == len(inventory.files)
    for channel in upload.channel_bytes():
        own = inventory.checkpoints[channel.checkpoint].channels[channel.number]
        assert own.bytes == len(channel.data)


def test_damaged_uploads_are_refused_or_described(shared_data, tmp_path):
    """No false claim follows when one file of an upload is damaged, each in turn."""
    refused = told = 0
    originals = []
    for name, parts in DAMAGED.items():
        folder = tmp_path / name
        for part in parts:
            shutil.copytree(given.folder_of(shared_data, name) / part, folder / part)
        useful = ("checkpoint", "plan", "job.json", "_metadata")
        paths = [path for path in sorted(folder.rglob("*")) if path.name.startswith(useful)]
        originals += [(folder, path, path.read_bytes()) for path in paths if path.is_file()]
    for number in range(DAMAGES):
        folder, path, data = originals[number * 7919 % len(originals)]
        (damaged,) = mutated([data], 1, number)
        path.write_bytes(damaged)
        try:
            _whole_way(folder)
            told += 1
        except InputRefused:
            refused += 1
        finally:
            path.write_bytes(data)
    assert told > refused


@pytest.mark.parametrize("separator", ["_", "%2F", ":", "-", "\\", "__"])
@pytest.mark.parametrize("case", ["bank-unaligned", "rocksdb-incremental", "savepoint-native"])
def test_names_of_an_object_store_without_folders_are_read(shared_data, tmp_path, case, separator):
    files = given.folder_of(shared_data, case) / "files"
    for path in files.rglob("*"):
        if path.is_file():
            flat = separator.join(path.relative_to(files).parts)
            shutil.copyfile(path, tmp_path / f"backup{separator}{flat}")
    names = tuple(path.name for path in tmp_path.iterdir())
    recognised = registry.recognise(tmp_path, names, registry.PACKAGE)
    assert isinstance(recognised.reader, FlinkReader)
    flattened, expected = (FlinkReader().read(root) for root in (tmp_path, files))
    assert comparable(flattened.inventory()) == comparable(expected.inventory())
    assert [entry.value for entry in flattened.entries()] == [
        entry.value for entry in expected.entries()
    ]


def comparable(inventory):
    """Return what does not name the files of an inventory's checkpoints."""
    return [
        (
            each.id,
            each.kind,
            each.job,
            each.missing,
            each.bytes,
            len(each.operators),
            len(each.channels),
        )
        for each in inventory.checkpoints
    ]

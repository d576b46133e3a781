"""What people bring, by kind: each report of ../shared/data/reports, and others of its kind.

The packages are of tests/data, made by real engines; what stands in this file was written by hand
in the documented shape. Each upload gets its right sentence, and none of it is called damaged.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from snapshots.answers.first_answer import of_inventory
from snapshots.domain.model.defects import InputRefused
from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits
from snapshots.readers.together import joined
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory
from tests.readers.logs.test_documents import TRACE, a_span, a_trace

DATA = Path(__file__).parents[1] / "data"
JOB = "a3f1c27be5d24f0b9c6a1e8d7f402b15"
Files = Mapping[str, str | bytes]


def said(folder: Path, scratch: Path) -> str:
    """Return all that an upload of a folder's files is told, or why it is refused."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    names = [name for name in names if name != "expected.md"]
    try:
        found = registry.recognise(folder, tuple(names), registry.PACKAGE)
        if found.reader is not None:
            scratch.mkdir(exist_ok=True)
            write_inventory(scratch, found.reader.read(folder))
            subjects = of_inventory(StoredInventory(scratch)).subjects
            return "\n".join(item.text for one in subjects for item in one.sentences)
        if len(names) > 1:
            path = joined(folder, names, scratch, Limits()).path
        else:
            path = folder / names[0]
        reader = recognition.recognised(read_head(path, Limits())).reader
        header = reader.header(path, Limits())
        list(recognition.events(reader, path, header, Limits(), defects := recognition.Defects()))
        told = header.extra.get("told", [])
        texts = [item["text"] for item in told] if isinstance(told, list) else []
        return "\n".join([*texts, *(item.sentence for item in defects.listed)])
    except InputRefused as refused:
        return f"refused: {refused}"


def written(folder: Path, files: Files) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


REPORTS = {
    "flink-checkpointing-off": "Needs a look: Flink says that checkpointing is not enabled; the "
    "job was running",
    "flink-debug-dump": "3 of 4 subtasks acknowledged it. Not acknowledged by 1 subtask of "
    "vertex c2c2c2c2; which of them is not known.",
    "flink-debug-dump-json": "Checkpoint 11 completed after 1.2 s with 4 of 4 subtasks",
    "flink-job-not-found": "not found”. Is the id right, and is it a job of this cluster?",
    "flink-job-only": "Not well: the job had failed when Flink answered",
    "flink-lone-checkpoints-1.14": "The last checkpoint that ended, 1914, completed after 89 ms; "
    "none of 1,914 checkpoints failed",
    "govector-one-of-two": 'The clock names "backend", whose events are in another file',
    "jaeger-kafka-one-file": "1 message: orders-0@17 from shop (2 ms) to billing (50 ms).",
    "p-checker-trace": "The assertion fails: Server(3)",
    "seatunnel-no-checkpoint-after-savepoint": "Since it was restored from savepoint 41 no "
    "checkpoint was triggered: 0 in 1.02 h, at an interval of 10 s.",
    "seatunnel-restart-count": "Pipeline 1 was restored 2 times; the job gives up after 3.",
    "shiviz-holes-json": '3 events of "0" (3 to 5) are not in the log.',
    "spark-2.1-offsets": "Batch 1 gained source 1 without an offset.\nBatch 1, the last one, was "
    "committed",
    "spark-delta-no-new-data": "No-data batch 38 was in flight and reads nothing new: the offset "
    "of its source is that of the batch before.",
    "spark-dstream": "This is a checkpoint of Spark's old DStream API",
    "spark-kafka-reset-in-flight": "Batch 1 is to go back from 500 to 300 in test-topic-0.",
    "spark-progress-only": "The watermark stands at 1970-01-01 in all 3 batches with rows",
    "spark-rate-real": "Batch 2, the last one, was committed, and so were all before it from 0 on",
    "spark-sink-new-checkpoint": "already had batches 0 to 2 when this query planned them",
}


@pytest.mark.parametrize("name", REPORTS)
def test_each_report_gets_its_right_answer(shared_data, tmp_path, name):
    text = said(shared_data / "reports" / name, tmp_path / "store")
    assert REPORTS[name] in text
    assert "Damaged" not in text
    assert text.startswith("refused: ") == (name in REFUSED)


REFUSED = {"flink-job-not-found", "govector-one-of-two", "spark-dstream"}
PLAN = {"batchWatermarkMs": 0, "batchTimestampMs": 1_760_000_000_000}


def query(*ends: str, committed: int | None = None, plan: object = PLAN, **more: str | bytes):
    """Return the logs of a query whose batches end at these offsets, of one source each."""
    files: dict[str, str | bytes] = {"metadata": '{"id":"5f0c0010-9a1b-4c2d-8e3f-0123456789ab"}'}
    for batch, end in enumerate(ends):
        files[f"offsets/{batch}"] = f"v1\n{json.dumps(plan)}\n{end}"
    for batch in range(len(ends) if committed is None else committed):
        files[f"commits/{batch}"] = "v1\n{}"
    return files | {name.replace("__", "/"): data for name, data in more.items()}


def packed(package: str, *names: str) -> Files:
    with zipfile.ZipFile(DATA / f"{package}.zip") as opened:
        members = [name for name in opened.namelist() if not name.endswith("/")]
        return {name: opened.read(name) for name in members if not names or name in names}


def dump(number: int, status: str, acknowledged: int, **more: object) -> str:
    tasks = {
        letter * 32: {"num_subtasks": 2, "num_acknowledged_subtasks": own, "status": status}
        for letter, own in (("b", 2), ("c", acknowledged - 2))
    }
    return json.dumps(
        {"className": status.lower(), "id": number, "status": status, "is_savepoint": False,
         "trigger_timestamp": 1_760_000_000_000, "latest_ack_timestamp": 1_760_000_001_000,
         "state_size": 1, "end_to_end_duration": 1000, "num_subtasks": 4,
         "num_acknowledged_subtasks": acknowledged, "checkpoint_type": "CHECKPOINT",
         "tasks": tasks, **more}
    )  # fmt: skip


def old_checkpoints(**latest: object) -> str:
    """Return Flink's answer about checkpoints in the form of 1.2 to 1.4."""
    counts = {"restored": 0, "total": 3, "in_progress": 0, "completed": 2, "failed": 1}
    each = {"is_savepoint": False, "trigger_timestamp": 1_488_270_000_000, "state_size": 0,
            "num_subtasks": 4, "tasks": {}}  # fmt: skip
    failed = {**each, "id": 2, "status": "FAILED", "latest_ack_timestamp": -1,
              "end_to_end_duration": 9000, "num_acknowledged_subtasks": 0,
              "failure_message": None}  # fmt: skip
    done = {**each, "id": 3, "status": "COMPLETED", "latest_ack_timestamp": 1_488_270_000_050,
            "end_to_end_duration": 50, "num_acknowledged_subtasks": 4}  # fmt: skip
    return json.dumps(
        {"counts": counts, "summary": {}, "history": [done, failed],
         "latest": {"completed": {**done, **latest}, "failed": failed, "savepoint": None,
                    "restored": None}}
    )  # fmt: skip


LINE = "2025-10-09 08:04:21,207 DEBUG org.apache.flink.runtime.checkpoint.CheckpointStatsTracker"
DUMP = f"{LINE}   [] - CheckpointStatistics (for jobID={JOB}, jobName=orders) dump = "
TWO = a_trace("t", "shop billing", a_span("02", 0, "producer"),
              a_span("03", 5, "consumer", ("t", "02"), process="p2"))  # fmt: skip
GOING_BACK = '{"t":{"0":500,"1":7}}', '{"t":{"0":300,"1":9}}'

OTHERS: dict[str, dict[str, tuple[Files, str]]] = {
    "checkpointing is off": {
        "a whole job": (packed("flink-rest/off"), "the job triggers no checkpoints by itself"),
        "only its configuration": (
            packed("flink-rest/off", "checkpoints-config.json", "job.json"),
            "There is no point to restore from: no checkpoint completed, and the job triggers none",
        ),
        "a bounded job": (packed("flink-rest/finished-off"), "the job had finished"),
    },
    "statistics of a checkpoint": {
        "failed": ({"d.json": dump(5, "FAILED", 2)}, "Not acknowledged by 2 subtasks of "),
        "in a log": ({"jm.log": f"{DUMP}{dump(6, 'FAILED', 3)} \n"}, "by 1 subtask of "),
        "completed": ({"d": dump(7, "COMPLETED", 4)}, "completed after 1 s with 4 of 4 subtasks"),
        "nobody": (
            {"d": dump(8, "FAILED", 2, tasks={}, num_acknowledged_subtasks=0)},
            "None of 4 subtasks acknowledged it.",
        ),
    },
    "an answer with an error": {
        "no path": (packed("flink-rest/not-found", "bad-path.json"), "has no such path"),
        "a name as an id": (packed("flink-rest/not-found", "bad-id.json"), "32 hexadecimal digits"),
        "a savepoint": (
            {"s": json.dumps({"status": {"id": "COMPLETED"}, "operation": {"failure-cause": {
                "stack-trace": "java.lang.X: Not all required tasks are currently running."}}})},
            "Flink takes a savepoint only while all tasks of the job run",
        ),
    },
    "an answer about a job alone": {
        "running": (packed("flink-rest/running", "job.json"), "The job was running when Flink"),
        "restored": (packed("flink-rest/restored-failed", "job.json"), "the job had failed"),
        "finished": (packed("flink-rest/finished-empty", "job.json"), "The job had finished"),
    },
    "checkpoints alone in an old form": {
        "of 1.2": ({"c": old_checkpoints()}, "3, completed after 50 ms"),
        "without a reason": ({"c.json": old_checkpoints()}, "Flink gives no reason."),
        "in the memory of the JobManager": (
            {"c.json": old_checkpoints(external_path="<checkpoint-not-externally-addressable>")},
            "not externally addressable",
        ),
    },
    "a log of one of several processes": {
        "the other one": (
            {"b": 'got\nbackend {"backend":1, "frontend":1}\n'}, 'names "frontend", whose events',
        ),
        "three processes": (
            {"a.txt": 'x\na {"a":1}\ny\na {"a":2, "b":1, "c":4}\n'}, 'names "b" and "c", whose',
        ),
        "JSON lines": (
            {"a": '{"host":"a","clock":{"a":1}}\n{"host":"a","clock":{"a":2,"b":1}}\n'},
            'names "b", whose events are in another file',
        ),
    },
    "a trace": {
        "of one trace": ({"t.json": json.dumps({"data": [TWO]})}, "1 message: 03 from shop"),
        "without its envelope": ({"t.json": json.dumps(TWO)}, "1 message: 03 from shop"),
        "in a list, indented": ({"t": json.dumps([TWO], indent=1)}, "1 message: 03 from shop"),
        "of P": ({"p.json": json.dumps(TRACE, indent=2)}, "eReq#1 from Client(2) to Server(3)"),
    },
    "a clock with a hole": {
        "at its beginning": (
            {"l": '{"host":"a","vc":{"a":3}}\n{"host":"a","vc":{"a":4}}\n'},
            '2 events of "a" (1 to 2) are not in the log.',
        ),
        "of numbers": (
            {"l": '{"host":0,"vc":{"0":1}}\n{"host":0,"vc":{"0":4}}\n'},
            '2 events of "0" (2 to 3) are not in the log.',
        ),
        "at a receive": (
            {"l": '{"host":"a","vc":{"a":1}}\n{"host":"b","vc":{"a":1,"b":3}}\n'},
            '2 events of "b" (1 to 2) are not in the log.',
        ),
    },
    "offsets of an old Spark": {
        "without a plan": (query("4", "9", plan={}), "Batch 1, the last one, was committed"),
        "a source without data": (
            {**query("4", "9"), "offsets/1": f"v1\n{json.dumps(PLAN)}\n9\n-"},
            "Batch 1 gained source 1 without an offset.",
        ),
        "a source that is gone": (
            {**query("4", "9"), "offsets/0": f"v1\n{json.dumps(PLAN)}\n4\n7"},
            "Batch 1 no longer has source 1.",
        ),
    },
    "a batch that reads nothing new": {
        "Delta": (
            query(*['{"reservoirVersion":3733,"index":-1}'] * 2, committed=1), "reads nothing new",
        ),
        "Iceberg": (
            query(*['{"version":1,"snapshot_id":7,"position":2}'] * 2, committed=1),
            "reads nothing new",
        ),
        "Kafka": (query(*['{"t":{"0":5}}'] * 2, committed=1), "reads nothing new"),
        "Paimon": (query(*['{"snapshotId":134491,"index":29}'] * 2, committed=1), "nothing new"),
    },
    "Spark's old API": {
        "a backup": ({"ckp/checkpoint-1700000000000.bk": b"?", "ckp/x": b"?"}, "old DStream API"),
        "its write-ahead log": ({"receivedBlockMetadata/log-1-2": b"x", "a": b"y"}, "DStream API"),
        "one file": (
            {"checkpoint-17": b"\xac\xed\x00\x05sr\x00 org.apache.spark.streaming.Checkpoint"},
            "old DStream API",
        ),
    },
    "offsets that go back": {
        "in flight": (query(*GOING_BACK, committed=1), "Batch 1 is to go back from 500 to 300"),
        "committed": (query(*GOING_BACK), "Batch 1 went back from 500 to 300 in t-0."),
        "two partitions": (
            query('{"t":{"0":500,"1":9}}', '{"t":{"0":300,"1":2}}'),
            "from 500 to 300 in t-0 and from 9 to 2 in t-1",
        ),
        "numbers": (query("12", "4"), "Batch 1 went back from 12 to 4"),
    },
    "a source with a log of its own": {
        "Kafka": (query('{"t":{"0":5}}', sources__0__0=b'\0v1\n{"t":{"0":5}}'), "Batch 0"),
        "rate by batches": (query("7", sources__0__0=b"v1\n0"), "Batch 0, the last one"),
        "Kinesis": (
            query('{"shard-0":"4"}', **{"sources__0__shard-commit__0": b"v1\n{}"}), "was committed",
        ),
        "a source of Python": (query('{"n":1}', sources__0__0=b"v1\n\x00\x01"), "was committed"),
    },
    "a sink that has the batches already": {
        "real": (packed("spark-logs/sink-new-checkpoint"), "output appears from batch 12 on"),
    },
}  # fmt: skip
CASES = [
    pytest.param(files, sentence, id=f"{kind}: {case}")
    for kind, cases in OTHERS.items()
    for case, (files, sentence) in cases.items()
]


@pytest.mark.parametrize(("files", "sentence"), CASES)
def test_others_of_a_kind_get_their_right_answer(tmp_path, files, sentence):
    text = said(written(tmp_path / "files", files), tmp_path / "store")
    assert sentence in text
    assert "Damaged" not in text

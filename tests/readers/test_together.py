"""Several files as one log: one for each process, or what they are instead."""

import gzip
import json
import sqlite3

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.mapped.lines import format_of
from snapshots.readers.logs.mapped.mapping import parse
from snapshots.readers.together import joined
from tests.readers.inputs import HEADER, RECEIVE, SEND, read, text

FRONTEND = b"""frontend {"frontend":1}
Initialization Complete
frontend {"frontend":2}
INFO call backend
frontend {"backend":3, "frontend":3}
INFO answer from backend
"""
BACKEND = b"""backend {"backend":1}
Initialization Complete
backend {"backend":2, "frontend":2}
INFO called
backend {"backend":3, "frontend":2}
INFO answer
"""
PARSER = b"(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n\n"


def lines(host, *clocks):
    return text(*({"host": host, "vc": clock} for clock in clocks))


def part(process, *events):
    own = [item for item in HEADER["processes"] if item["id"] == process]
    header = HEADER | {"processes": own, "channels": HEADER["channels"]}
    return text(header, *events)


def folder_of(tmp_path, files):
    for name, data in files.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "files"


def join(tmp_path, files, **options):
    folder = folder_of(tmp_path, files)
    return joined(folder, tuple(files), tmp_path / "joined", Limits(), **options)


TOGETHER = {
    "GoVector": {"frontend-Log.txt": FRONTEND, "backend-Log.txt": BACKEND},
    "GoVector, one packed": {"a.txt.gz": gzip.compress(FRONTEND), "b.txt": BACKEND},
    "ShiViz with its expressions": {"a.log": PARSER + FRONTEND, "b.log": PARSER + BACKEND},
    "without a newline at the end": {"a.log": FRONTEND.rstrip(), "b.log": BACKEND.rstrip()},
    "with an empty file beside": {"a.log": FRONTEND, "b.log": BACKEND, "c.log": b""},
    "JSON lines": {
        "x/a.jsonl": lines("a", {"a": 1}, {"a": 2}, {"a": 3, "b": 2}),
        "x/b.jsonl": lines("b", {"b": 1, "a": 1}, {"b": 2, "a": 1}),
    },
    "native": {"A.jsonl": part("A", SEND), "B.jsonl": part("B", RECEIVE)},
    "native, with one header": {"A.jsonl": text(HEADER, SEND), "B.jsonl": text(RECEIVE)},
    "native, with the same header": {"1": text(HEADER, SEND), "2": text(HEADER, RECEIVE)},
}


@pytest.mark.parametrize("files", TOGETHER.values(), ids=TOGETHER)
def test_one_file_for_each_process_is_one_log(tmp_path, files):
    log = join(tmp_path, files)
    header, events, _ = read(log.path, Limits())
    assert len(header.topology.processes) == 2
    assert any(event.kind == "receive" for event in events)
    assemble(header, events)
    assert log.reason.startswith("One log of ")


@pytest.mark.parametrize("front", [b"", PARSER])
def test_a_merged_log_beside_its_parts_is_read_alone(tmp_path, front):
    files = {"a-Log.txt": FRONTEND, "all.log": front + FRONTEND + BACKEND, "b-Log.txt": BACKEND}
    log = join(tmp_path, files)
    assert log.path.name == "all.log"
    assert len(read(log.path, Limits())[0].topology.processes) == 2


def test_a_mapping_reads_all_files_as_one_log(tmp_path):
    mapping = {"process": "p", "kind": "k", "peer": "to", "message": "m"}
    files = {
        "a": text({"p": "a", "k": "send", "to": "b", "m": 1}),
        "b": text({"p": "b", "k": "receive", "to": "a", "m": 1}),
    }
    log = join(tmp_path, files, is_mapped=True)
    header, events, _ = read(log.path, Limits(), format_of(parse(mapping)))
    assert [(event.kind, event.channel) for event in events] == [
        *(("send", "a->b"), ("receive", "a->b"))
    ]
    assert [item.id for item in header.topology.processes] == ["a", "b"]


def test_a_fault_is_named_with_its_file_and_the_line_there(tmp_path):
    files = {"a.log": FRONTEND, "b.log": BACKEND + b'backend {"backend":3}\nagain\n'}
    log = join(tmp_path, files)
    with pytest.raises(InputRefused) as caught:
        read(log.path, Limits())
    first = log.placed(caught.value).defects[0]
    assert (first.line, first.code) == (7, "bad-clock")
    assert first.sentence.startswith('The file "b.log" of the package: The clock of "backend"')


def test_a_single_log_is_read_and_what_lies_beside_it_is_named(tmp_path):
    log = join(tmp_path, {"README.md": b"How to run it.\n", "run.jsonl": text(HEADER, SEND)})
    assert log.path.name == "run.jsonl"
    assert log.reason == 'The only log of the package. Left out, since no log: "README.md".'


APART = {
    "two whole recordings": {"1.jsonl": text(HEADER, SEND), "2.jsonl": text(HEADER, SEND)},
    "two formats": {"1.jsonl": text(HEADER, SEND), "2.log": b'x\na {"a":1}\n'},
    "a clock and a header": {"1": lines("a", {"a": 1}), "2": text(HEADER)},
}


@pytest.mark.parametrize("files", APART.values(), ids=APART)
def test_each_by_itself_is_only_said_where_each_is_read(tmp_path, files):
    with pytest.raises(InputRefused) as caught:
        join(tmp_path, files)
    assert "Upload each by itself" in str(caught.value)
    for name in files:
        read(tmp_path / "files" / name, Limits())


def test_headers_that_contradict_each_other_are_refused_with_the_field(tmp_path):
    other = json.loads(part("B").splitlines()[0]) | {"time_unit": "ms"}
    with pytest.raises(InputRefused) as caught:
        join(tmp_path, {"a": part("A", SEND), "b": text(other, RECEIVE)})
    assert caught.value.defects[0].field == "time_unit"


def sqlite() -> bytes:
    database = sqlite3.connect(":memory:")
    database.execute("create table x (y)")
    return database.serialize()


JAVA = b"\xac\xed\x00\x05sr\x00 org.apache.spark.streaming.Checkpoint"
JAVA_OF_FLINK = b"\xac\xed\x00\x05sr\x00<org.apache.flink.runtime.state.Retrievable"
FOLDERS = {
    "Spark's old DStream API": {
        "checkpoint-1447000000000": JAVA, "checkpoint-1447000010000": b"\xac\xed\x00\x05sr",
        "receivedBlockMetadata/log-1447000000000-1447000060000": b"x",
    },
    "old DStream API (Spark Streaming)": {"a/checkpoint-1700000000000.bk": b"?", "a/b": b"?"},
    "Kafka Streams": {"app/0_1/.checkpoint": b"0\n0\n", "app/0_1/rocksdb/s/CURRENT": b"M"},
    "a Kafka broker": {"t-0/00000000000000000000.log": b"x", "t-0/leader-epoch-checkpoint": b"0"},
    "RocksDB or LevelDB": {"CURRENT": b"MANIFEST-000004\n", "MANIFEST-000004": b"x"},
    "local state of a Flink task": {
        "localState/aid_7/jid_8/vtx_9_sti_0/chk_1/x": b"x", "localState/aid_7/y": b"x",
    },
    "a Delta table": {"t/_delta_log/00000000000000000000.json": b"{}", "t/p.parquet": b"PAR1"},
    "offsets of a Spark checkpoint": {
        f"offsets/{name}": b'v1\n{"batchWatermarkMs":0}\n{"logOffset":1}' for name in ("0", "1")
    } | {f"offsets/.{number}.crc": b"crc\x00" for number in range(30)},
    "commits of a Spark checkpoint": {"0": b"v1\n{}", "1": b"v1\n{}"},
    "a folder of state of a Spark query": {"1.delta": b"LZ4Block", "2.delta": b"LZ4Block"},
    "folder of state of a Spark query": {"x/3.snapshot": b"x", "x/_metadata/schema": b"v2"},
    "folder of state": {"7_3f0e1d2c-0000-4000-8000-000000000000.changelog": b"x", "8": b"x"},
    "high availability storage": {"default/completedCheckpoint6a5c1b2d": b"?", "default/x": b"?"},
    "Flink's high availability storage": {"a": JAVA_OF_FLINK, "b": JAVA_OF_FLINK},
    "a part of an assignment of COS 418": {
        "2nodes.snap": b"0\nN1 1\nN2 0\n", "2nodes.events": b"send N1 N2 1\nsnapshot N2\n",
    },
    "an Iceberg table": {"t/metadata/v1.metadata.json": b"{}", "t/data/p.parquet": b"PAR1"},
}  # fmt: skip


@pytest.mark.parametrize(("name", "files"), FOLDERS.items(), ids=FOLDERS)
def test_a_folder_of_others_is_named(tmp_path, name, files):
    with pytest.raises(InputRefused) as caught:
        join(tmp_path, files)
    sentence = str(caught.value)
    assert name in sentence
    assert "by itself" not in sentence
    assert "mapping" not in sentence


def test_an_unknown_file_among_several_is_named_with_what_it_is(tmp_path):
    with pytest.raises(InputRefused) as caught:
        join(tmp_path, {"a.db": sqlite(), "b.txt": b"hello\n"})
    assert '"a.db" is not text, and of no format known here' in str(caught.value)
    assert "A text log is read if a parser expression" in str(caught.value)
    assert "by itself" not in str(caught.value)


FILES = {
    "old DStream API": JAVA,
    "a serialised Java object": b"\xac\xed\x00\x05ur\x00\x02[B",
    "Kafka Connect and Debezium keep": b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap\x05",
    "a heap dump of a JVM": b"JAVA PROFILE 1.0.2\x00\x00\x00\x00\x08",
    "a Python pickle": b"\x80\x04\x95\x1a",
    "an SQLite database": sqlite(),
    "Avro": b"Obj\x01\x04\x16avro.schema",
    "a segment of a Kafka topic": bytes(11) + b"\x40" + bytes(4) + b"\x02" + bytes(60),
    "a web page": b"<!DOCTYPE html>\n<html><body>Sign in</body></html>",
    "an XML document": b"<?xml version='1.0'?>\n<a/>",
    "output of TLC": b"TLC2 Version 2.18 of Day Month 20??\nRunning breadth-first\n",
    "OpenTelemetry data (OTLP)": b'{"resourceSpans": [{"resource": {}}]}',
    "Zipkin's JSON": b'[{"traceId": "a", "id": "b", "timestamp": 5, "localEndpoint": {}}]',
    "change events of Debezium": text({"before": None, "after": {}, "source": {}, "op": "c"}),
    "the offsets of a connector": b'{"offsets": [{"partition": {"p": 1}, "offset": {"o": 2}}]}',
    "the metadata of an Iceberg table": b'{\n  "format-version": 2,\n  "table-uuid": "x"\n}',
    "a commit of a Delta table": text({"commitInfo": {"timestamp": 1}}, {"add": {"path": "p"}}),
    "an answer that reports an error": b'{"error": "unauthorized", "message": "Sign in"}',
    "an object of Kubernetes": b'{"apiVersion": "v1", "kind": "Pod", "metadata": {}}',
    "an object of Kubernetes with its status": text(
        {
            "apiVersion": "flink.apache.org/v1beta1",
            "kind": "FlinkDeployment",
            "metadata": {},
            "status": {"jobStatus": {"state": "RUNNING"}},
        }
    ),
    "Flink's high availability storage": JAVA_OF_FLINK,
    "the offsets of a Spark checkpoint": b'v1\n{"batchWatermarkMs":0,"conf":{}}\n{"logOffset":1}',
    "the commits of a Spark checkpoint": b'v1\n{"nextBatchWatermarkMs":0}',
    "a log that a source": b'\x00v1\n{"clicks":{"0":5}}',
    "a log that a source or a sink": b'v1\n{"path":"file:/in/a.json","timestamp":1,"batchId":0}',
    "a part of an assignment of COS 418": b"0\nN1 4\nN2 1\nN1 N2 token(3)\n",
    "A .snap file has the totals": b"2\nN1 1\nN2 0\nN1 N2\nN2 N1\n",
    "an .events file only commands": b"# note\nsend N1 N2 1\nsnapshot N2\n",
    "dictionaries as Python prints them": b"{'host': 'a', 'clock': {'a': 1}}\n",
    "OpenTelemetry's console exporter": b'{\n "name": "foo",\n "context": {"trace_id": "0x1"},\n'
    b' "kind": "SpanKind.INTERNAL", "parent_id": null\n}\n',
    "_last_checkpoint of a Delta table": b'{"version":150,"size":10}',
    "OTLP": b'{"resource": {}, "scopeSpans": []}\n',
    "a text with a vector in each line": b"id 0 : snapshot 0 : logical 60 : vector 45 21 : money 5",
    "a text of no format known here": b"P1 recorded 900\n",
    "The file is empty": b"",
    "a counterexample of a model checker": b'{"action": [], "state": [[1, {"x": 0}]]}',
    "EDN, as Jepsen": b"{:type :invoke, :f :read, :value nil, :process 0, :time 1}\n",
    "a thread dump": b"2026-01-01 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM\n",
}


@pytest.mark.parametrize(("name", "data"), FILES.items(), ids=FILES)
def test_a_file_of_others_is_named_and_no_mapping_is_proposed(tmp_path, name, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(InputRefused) as caught:
        read(path, Limits())
    assert name in str(caught.value)
    assert "/mappings" not in str(caught.value)
    assert "instead" not in caught.value.members


MAPPABLE = {
    "two lines": text({"who": "a"}, {"who": "b"}),
    "one line": text({"who": "a", "what": "go", "more": {"x": 1}}),
    "lines with lists": text({"who": "a", "l": [1]}, {"who": "b", "l": [2]}),
}


@pytest.mark.parametrize("data", MAPPABLE.values(), ids=MAPPABLE)
def test_a_mapping_is_proposed_where_one_could_read_the_file(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(InputRefused) as caught:
        read(path, Limits())
    assert caught.value.members["instead"] == "/mappings"

"""Names files and folders of others that are not read here, and says which way does work.

One table is for single files, by their first bytes or the fields of their JSON. The other is for
folders, by the names in them. The first row that fits counts. Nothing else of such a file is read.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.head import Head

_LOOKED_AT = 4096  # bytes of a file
_MOST_LOOKED_INTO = 20  # files of a folder
_JAVA = b"\xac\xed\x00\x05"
_NEVER = "Objects that a program serialised are never deserialised here."
_STREAMING = (
    "Upload the checkpoint directory of a Structured Streaming query instead, the folder with "
    "offsets and commits."
)
_LOG = "Log the events of your processes as JSON lines instead (docs/formats/native.md)."
_JAEGER = "Export the traces from Jaeger as JSON: that file is read."
_TABLE = "It holds rows of a table and no checkpoint."
_ROCKSDB = "It is the working copy of a process that runs, without the engine's own metadata."
_CHECKPOINT = "Upload the checkpoint or savepoint folder, the one with _metadata."
_WHOLE_QUERY = (
    "Upload the checkpoint directory of the query, the folder that holds offsets, commits and "
    "metadata."
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A kind of file or folder of others.

    Attributes:
        name: what it is, as the end of ``This is …``.
        why: why it is not read, as a sentence.
        way: what does work, as a sentence.
    """

    name: str
    why: str
    way: str

    @property
    def sentence(self) -> str:
        """Say what it is, why it is not read, and what does work."""
        return f"This is {self.name}. {self.why} {self.way}"


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(starts)


def _found(expression: str) -> Callable[[bytes], bool]:
    search = re.compile(expression.encode(), re.IGNORECASE | re.MULTILINE).search
    return lambda data: search(data[:_LOOKED_AT]) is not None


_DSTREAM = Foreign(
    "a checkpoint of Spark's old DStream API (Spark Streaming)",
    f"It is a Java object. {_NEVER}",
    _STREAMING,
)
_OFFSETS = Foreign(
    "a file of the offsets of a Spark checkpoint, up to which one batch was to read",
    "Alone it tells neither whether the batch was committed nor what the state holds.",
    _WHOLE_QUERY,
)
_COMMIT = Foreign(
    "a file of the commits of a Spark checkpoint",
    "Alone it tells only that one batch ended.",
    _WHOLE_QUERY,
)
_SOURCE_LOG = Foreign(
    "a file of a log that a source or a sink of Spark keeps",
    "Alone it tells neither what was committed nor what was in flight.",
    _WHOLE_QUERY,
)
_STATE_FILES = Foreign(
    "a folder of state of a Spark query, as a partition of one operator keeps it",
    "Its types, and which batch was committed, are in folders above it.",
    _WHOLE_QUERY,
)
_HIGH_AVAILABILITY = Foreign(
    "a file of Flink's high availability storage",
    f"It is a serialised Java object that only points to a checkpoint or a job. {_NEVER}",
    _CHECKPOINT,
)
_COS418_PART = Foreign(
    "a part of an assignment of COS 418",
    "A .snap file has the totals of one snapshot, an .events file only commands, and a .top file "
    "only the nodes: none says in which order the events of the processes happened.",
    "Upload the event log of the run (docs/formats/native.md). A .top file makes a topology on "
    "/topologies, from which a run can be simulated.",
)
_PYTHON = Foreign(
    "text with dictionaries as Python prints them, and no JSON",
    "The single quotes make it something that only Python reads.",
    "Write each line with print(json.dumps(event)).",
)
_ERROR = Foreign(
    "an answer that reports an error, and not the data that was asked for",
    "The request failed at the other side.",
    "Read its message, ask again, and upload the answer to that.",
)
_BYTES: tuple[tuple[Callable[[bytes], bool], Foreign], ...] = (
    (
        lambda data: data.startswith(_JAVA) and b"org.apache.spark.streaming" in data[:_LOOKED_AT],
        _DSTREAM,
    ),
    (
        lambda data: data.startswith(_JAVA) and b"java.util.HashMap" in data[:200],
        Foreign(
            "a serialised Java map, as Kafka Connect and Debezium keep their offsets in a file",
            _NEVER,
            "Ask Kafka Connect for the offsets over REST if you need them; they are no snapshot.",
        ),
    ),
    (
        lambda data: data.startswith(_JAVA) and b"org.apache.flink.runtime." in data[:_LOOKED_AT],
        _HIGH_AVAILABILITY,
    ),
    (_begins(_JAVA), Foreign("a serialised Java object", _NEVER, _LOG)),
    (_found(r"\Av\d+\r?\n\{\"batchWatermarkMs\""), _OFFSETS),
    (_found(r"\Av\d+\r?\n(\{\"nextBatchWatermarkMs\"|\{\}\s*\Z)"), _COMMIT),
    (_found(r"\A\0?v\d+\r?\n(\{|\d)"), _SOURCE_LOG),
    (_found(r"\A\d+\r?\n(N\d+ \d+\r?\n)+(N\d+ N\d+( |\r?$))?"), _COS418_PART),
    (_found(r"\A(#[^\n]*\n|\s)*(send N\d+ N\d+ \d+|snapshot N\d+|tick( \d+)?)\r?$"), _COS418_PART),
    (_found(r"\A\s*\{'[\w.-]+': "), _PYTHON),
    (
        _found(r"\A[^\n{}]{0,200}\bvector\b[^\n\w]{0,3}\d+([ ,]+\d+)+\b"),
        Foreign(
            "a text with a vector in each line",
            "No format known here has such lines.",
            "Leave only the numbers of the vectors, in a file for each process with a line for "
            "each snapshot (docs/formats/vector-clocks.md), and upload all files together.",
        ),
    ),
    (
        _found(r'"kind": "SpanKind\.\w+"'),
        Foreign(
            "output of OpenTelemetry's console exporter",
            "Its spans name no service each, and are not read.",
            _JAEGER,
        ),
    ),
    (
        _begins(b"JAVA PROFILE 1.0"),
        Foreign("a heap dump of a JVM", "It holds the memory of one process.", _LOG),
    ),
    (
        _begins(b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\n\r\r\n\x1a\x2b", b"\n\r\r\n\x4d\x3c"),
        Foreign("a capture of network packets", "Packets are no events of a process.", _LOG),
    ),
    (
        lambda data: (
            len(data) > 61 and data[16] == 2 and data[:4] == b"\x00" * 4 == data[12:14] * 2
        ),
        Foreign(
            "a segment of a Kafka topic",
            "It holds records, and no state of those who read them.",
            "Upload the checkpoint of the job that reads the topic.",
        ),
    ),
    (
        _found(r"\A\s*(<!doctype html|<html)"),
        Foreign(
            "a web page",
            "A page is no data; a sign-in page or an error page often takes the place of a file.",
            "Open it in a browser to see what the server said, and download the file again.",
        ),
    ),
    (_found(r"\A\s*<\?xml"), Foreign("an XML document", "No XML is read here.", _LOG)),
    (
        _found(r"^(TLC2 Version|@!@!@STARTMSG)"),
        Foreign(
            "output of TLC, the model checker of TLA+",
            "Its states name no process and no vector clock, so that nothing tells whose event a "
            "step is.",
            "Print Host and Clock in each state, as ShiViz asks for (docs/formats/shiviz.md).",
        ),
    ),
    (
        _found(r"^Full thread dump "),
        Foreign("a thread dump of a JVM", "It shows one process at one moment.", _LOG),
    ),
    (
        _found(r"\A\s*(\[|\()?\{:(process|id|type|index|f|time) "),
        Foreign(
            "EDN, as Jepsen and Maelstrom write histories",
            "EDN is not read.",
            "Write the history as JSON lines: a mapping then reads it.",
        ),
    ),
    (
        _found(r"\A# (HELP|TYPE) \w"),
        Foreign("a page of Prometheus metrics", "Numbers are no events.", _LOG),
    ),
)

Fields = frozenset[str]


def _has(*names: str) -> Callable[[Fields], bool]:
    wanted = set(names)
    return lambda fields: wanted <= fields


_COUNTEREXAMPLE = Foreign(
    "a counterexample of a model checker of TLA+, as JSON",
    "Its states name no process, so that nothing tells whose event a step is.",
    "Write the steps as JSON lines with a process and a vector clock (docs/formats/shiviz.md).",
)
_LAST_CHECKPOINT = {"version", "size", "parts", "sizeInBytes", "numOfAddFiles", "checkpointSchema",
                    "v2Checkpoint", "checksum", "tags"}  # fmt: skip
_OTLP = Foreign("OpenTelemetry data (OTLP)", "OTLP is not read.", _JAEGER)
_FIELDS: tuple[tuple[Callable[[Fields], bool], Foreign], ...] = (
    (_has("resourceSpans"), _OTLP),
    (_has("resourceLogs"), _OTLP),
    (_has("resourceMetrics"), _OTLP),
    (_has("scopeSpans"), _OTLP),
    (
        lambda names: {"version", "size"} <= names <= _LAST_CHECKPOINT,
        Foreign("the file _last_checkpoint of a Delta table", _TABLE, _STREAMING),
    ),
    (
        lambda names: {"traceId", "id"} <= names and bool(names & {"localEndpoint", "timestamp"}),
        Foreign("Zipkin's JSON of a trace", "Zipkin's form is not read.", _JAEGER),
    ),
    (
        lambda names: names in ({"action", "state"}, {"state"}, {"vars", "states", "#meta"}),
        _COUNTEREXAMPLE,
    ),
    (
        _has("traceEvents"),
        Foreign("a trace for Chrome's viewer", "It shows threads of one program.", _LOG),
    ),
    (
        lambda fields: {"op", "source"} <= fields and bool(fields & {"before", "after"}),
        Foreign(
            "change events of Debezium", _TABLE, "Upload the checkpoint of the job that reads them."
        ),
    ),
    (
        lambda fields: fields == {"schema", "payload"},
        Foreign(
            "a message of Kafka Connect or Debezium",
            _TABLE,
            "Upload the checkpoint of the job that reads them.",
        ),
    ),
    (
        lambda fields: "offsets" in fields and fields <= {"offsets", "name", "connector"},
        Foreign(
            "the offsets of a connector, as Kafka Connect or Debezium give them",
            "They say how far one reader came, and hold no state.",
            "Upload the checkpoint of the job that reads the topic.",
        ),
    ),
    (
        _has("format-version", "table-uuid"),
        Foreign("the metadata of an Iceberg table", _TABLE, _CHECKPOINT),
    ),
    (
        lambda fields: bool(fields) and fields <= {"commitInfo", "protocol", "metaData", "add",
                                                    "remove", "txn"},
        Foreign("a commit of a Delta table", _TABLE, _STREAMING),
    ),
    (
        _has("apiVersion", "kind", "metadata", "status"),
        Foreign(
            "an object of Kubernetes with its status",
            "It says what an operator knows of a job, and holds no events. That of a "
            "FlinkDeployment names the last savepoint, in jobStatus.",
            "Upload the folder of that savepoint, or Flink's answers of /jobs/ID and "
            "/jobs/ID/checkpoints.",
        ),
    ),
    (
        _has("apiVersion", "kind", "metadata"),
        Foreign("an object of Kubernetes", "It describes what runs, and holds no events.", _LOG),
    ),
    (
        lambda fields: (bool(fields & {"error", "errors", "errorCode", "error_code"})
        and len(fields) <= 6)
        or {"title", "status", "detail"} <= fields
        or {"status", "message"} <= fields <= {"status", "message", "code", "path", "timestamp"},
        _ERROR,
    ),
)  # fmt: skip

_FOLDERS: tuple[tuple[str, Foreign], ...] = (
    (r"(^|/)(completedCheckpoint|(submitted)?[jJ]obGraph)[0-9a-f]{6,}$", _HIGH_AVAILABILITY),
    (r"(^|/)\d+(_[0-9a-f-]{36})?\.(delta|snapshot|changelog)$", _STATE_FILES),
    (r"(^|/)(checkpoint-\d{10,}(\.bk)?$|receivedBlockMetadata/)", _DSTREAM),
    (
        r"(^|/)(kafka-streams-process-metadata$|\d+_\d+/(rocksdb/|\.checkpoint$|\.lock$))",
        Foreign(
            "a state directory of Kafka Streams",
            "It is a cache of changelog topics; the topics hold the state.",
            "There is no file of Kafka Streams that holds a whole snapshot.",
        ),
    ),
    (
        r"(^|/)(\d{20}\.(log|index|timeindex)$|recovery-point-offset-checkpoint$)",
        Foreign(
            "a data directory of a Kafka broker",
            "It holds records, and no state of those who read them.",
            "Upload the checkpoint of the job that reads the topics.",
        ),
    ),
    (
        r"(^|/)(localState/|aid_[0-9a-f]+/|jid_[0-9a-f]+/|job_[0-9a-f]{32}_op_[^/]*/)",
        Foreign("the local state of a Flink task", _ROCKSDB, _CHECKPOINT),
    ),
    (
        r"(^|/)_delta_log/",
        Foreign("a Delta table", _TABLE, "Upload the checkpoint of the query that reads it."),
    ),
    (
        r"(^|/)metadata/[^/]*(\.metadata\.json|snap-[^/]*\.avro)$",
        Foreign("an Iceberg table", _TABLE, "Upload the checkpoint of the job that writes it."),
    ),
    (
        r"(^|/)\.hoodie/",
        Foreign("a Hudi table", _TABLE, "Upload the checkpoint of the job that writes it."),
    ),
    (
        r"(^|/)MANIFEST-\d{6}$",
        Foreign("a database folder of RocksDB or LevelDB", _ROCKSDB, _CHECKPOINT),
    ),
    (
        r"(^|/)(version-2/(snapshot|log)\.|member/(snap|wal)/)",
        Foreign("a data directory of ZooKeeper or etcd", "It is the store of one server.", _LOG),
    ),
    (
        r"(^|/)\.git/HEAD$",
        Foreign("a Git repository", "Source code is no recording.", _LOG),
    ),
)


def named(head: Head) -> Foreign | None:
    """Return what a file is, if it is a known one of others; None if it is not."""
    for fits, what in _BYTES:
        if fits(head.start):
            return what
    fields = _fields(head)
    for fits_fields, what in _FIELDS:
        if fields and fits_fields(fields):
            return what
    return None


def named_in_folder(folder: Path, names: Sequence[str]) -> Foreign | None:
    """Return what a folder is, by the names of its files or by their first bytes."""
    for expression, what in _FOLDERS:
        if any(re.search(expression, name) for name in names):
            return what
    shown = [name for name in names if not name.rpartition("/")[2].startswith(".")]
    for name in shown[:_MOST_LOOKED_INTO]:
        with (folder / name).open("rb") as file:
            start = file.read(_LOOKED_AT)
        for fits, what in _BYTES:
            if fits(start):
                return what
    return None


def _fields(head: Head) -> frozenset[str]:
    """Return the names of the fields of a JSON document, or of the first object in its list."""
    if head.not_text is not None:
        return frozenset()
    value: object = None
    with suppress(InputRefused):
        value = head.fields
    if value is None:
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(head.start)
    while isinstance(value, list) and value:
        value = value[0]
    return frozenset(value) if isinstance(value, dict) else frozenset(_outer(head.start))


def _outer(start: bytes) -> list[str]:
    """Return the first fields of a document that goes on behind its head, or is cut short."""
    if not re.match(rb"\s*[\[{]", start):
        return []
    found = re.findall(rb'^[\s\[]*\{\s*"([A-Za-z-]{1,40})"\s*:', start)
    return [name.decode() for name in found]

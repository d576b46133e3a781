"""Small valid uploads of every format: what hostile ones are made of."""

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from snapshots.domain.simulators.samples import two_banks
from snapshots.readers.logs.native import write_lines
from tests.answers.test_engine_logs import FAILING, INIT, done, engine
from tests.answers.test_listings import aws, hdfs
from tests.readers.inputs import text
from tests.readers.logs.test_cos418 import RECEIVE, SEND, START, STOP, log
from tests.readers.logs.test_mapped_lines import RECEIVE as MAPPED_RECEIVE
from tests.readers.logs.test_mapped_lines import SEND as MAPPED_SEND
from tests.readers.logs.test_mapped_lines import SNAP
from tests.readers.logs.test_raft_trace import VOTE, a_line, receive, send
from tests.stack import ROOT

SHARED = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
LOGS = Path(__file__).parents[1] / "data" / "logs"
LARGEST_FILE = 60_000  # bytes; larger ones of a case are left out
MOST_FILES = 24
DATA = Path(__file__).resolve().parents[1] / "data"
MAPPED = "MAPPED"  # stands for the format that names the saved mapping


@dataclass(frozen=True)
class Seed:
    """files: by path, one for a log. name: of the upload, without an archive's suffix.

    format: what the form says; MAPPED for the saved mapping.
    """

    name: str
    files: dict[str, bytes]
    format: str = ""


@cache
def seeds(format: str) -> tuple[Seed, ...]:
    """Never empty."""
    return tuple(_SEEDS[format]())


def _native() -> list[Seed]:
    found = two_banks()
    whole = b"".join(write_lines(found.header, found.events))
    return [_one("banks.jsonl", whole), _one("banks.jsonl.gz", gzip.compress(whole))]


def _parquet() -> list[Seed]:
    header = {
        "kind": "header", "format": "cutline", "version": 1, "name": "p", "time_unit": "us",
        "processes": [{"id": "A"}, {"id": "B"}],
        "channels": [{"id": "A->B", "source": "A", "target": "B"}],
    }  # fmt: skip
    rows = []
    for n in range(20):
        message = {"channel": "A->B", "message": f"m{n}"}
        rows.append({"process": "A", "kind": "send", "at": 10 * n, "state": f"{n}", **message})
        rows.append({"process": "B", "kind": "receive", "at": 10 * n + 5, "state": None, **message})
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"cutline": json.dumps(header)})
    found = []
    for compression in ("snappy", "zstd", "none"):
        file = io.BytesIO()
        pq.write_table(table, file, row_group_size=16, compression=compression)
        found.append(_one(f"{compression}.parquet", file.getvalue()))
    return found


def _cos418() -> list[Seed]:
    real = SHARED / "cos418" / "original" / "3nodes-bidirectional-messages.log.jsonl"
    return [
        _one("run.jsonl", log(SEND, START, RECEIVE, STOP)),
        _one("nodes.jsonl", real.read_bytes()),
    ]


def _shiviz() -> list[Seed]:
    folder = SHARED / "shiviz"
    names = ("facebook-multiple.log", "simple-reliable-broadcast.log", "slack-execution1.log")
    chord = (folder / "chord.log").read_bytes().splitlines(keepends=True)[:40]
    return [*(_one(n, (folder / n).read_bytes()) for n in names), _one("c.log", b"".join(chord))]


def _json_clocks() -> list[Seed]:
    lines = [
        {"host": 0, "vc": {"0": 1}},
        {"host": 1, "vc": {"0": 1, "1": 1}},
        {"host": 0, "vc": {"0": 6, "1": 1}},
    ]
    return [_one("clocks.jsonl", text(*lines))]


def _jaeger() -> list[Seed]:
    def trace(name: str, service: str, kind: str, references: list) -> dict:
        span = {
            "traceID": name, "spanID": name, "operationName": "orders", "references": references,
            "startTime": 1_760_000_000_000_000, "duration": 5, "processID": "p1",
            "tags": [{"key": "span.kind", "value": kind}],
        }  # fmt: skip
        return {"traceID": name, "spans": [span], "processes": {"p1": {"serviceName": service}}}

    sent = [{"refType": "FOLLOWS_FROM", "traceID": "a", "spanID": "a"}]
    traces = [trace("a", "shop", "producer", []), trace("b", "billing", "consumer", sent)]
    return [_one("traces.json", json.dumps({"data": traces}).encode())]


def _p_trace() -> list[Seed]:
    steps = [
        {"type": "SendEvent", "details": {"sender": "A(1)", "target": "B(2)", "event": "e"}},
        {"type": "DequeueEvent", "details": {"id": "B(2)", "event": "e"}},
        {"type": "AssertionFailure", "details": {"log": "B(2): wrong"}},
    ]
    return [_one("trace.json", json.dumps(steps, indent=1).encode())]


def _timestamps() -> list[Seed]:
    lines = [
        {"node": node, "snapshot": snapshot, "vector": [snapshot + node, 2 * snapshot]}
        for snapshot in (1, 2)
        for node in (0, 1)
    ]
    return [_one("vectors.jsonl", text(*lines))]


def _raft() -> list[Seed]:
    lines = []
    for term in range(9):
        vote = VOTE | {"term": term}
        lines += [a_line("Ready", "1", term), send(vote), receive(vote, 1)]
    return [_one("trace.ndjson", text(*lines))]


def _mapped() -> list[Seed]:
    lines = text(*[MAPPED_SEND, SNAP, MAPPED_RECEIVE] * 4)
    return [Seed("app.log", {"app.log": lines}, MAPPED)]


def _flink() -> list[Seed]:
    names = (
        "types", "v5-unaligned-bank", "sql-group-agg", "v2-bank-fs", "savepoint-canonical",
        "changelog-files", "forst-async-state", "two-pipelines", "windows-timers",
        "rocksdb-incremental",
    )  # fmt: skip
    found = [Seed(name, _folder(SHARED / "flink" / name)) for name in names]
    alone = next(data for path, data in found[0].files.items() if "savepoint" in path)
    plan = next(data for path, data in found[0].files.items() if path.endswith("checkpoints.json"))
    listing = b"".join(
        b"-rw-r--r--   3 flink users %10d 2025-10-09 08:04 /%s\n" % (len(data), path.encode())
        for path, data in found[0].files.items()
    )
    files = [("_metadata", alone), ("checkpoints.json", plan), ("listing.txt", listing)]
    return [*found, *(_one(name, data) for name, data in files)]


def _flink_operators() -> list[Seed]:
    """Return checkpoints with state of SQL, of PyFlink and of somebody's own serializers."""
    packages = [*sorted((DATA / "flink-sql").glob("*.zip")), DATA / "pyflink" / "process.zip"]
    return [Seed(path.stem, _small(_zip(path))) for path in packages]


def _flink_answers() -> list[Seed]:
    """Return answers of Flink's REST API, together and alone, and what a log prints of them."""
    packages = sorted((DATA / "flink-rest").glob("*.zip"))
    found = [Seed(path.stem, _small(_zip(path))) for path in packages]
    alone = [
        _one(name.rpartition("/")[2], data)
        for seed in found
        for name, data in list(seed.files.items())[:3]
    ]
    reports = SHARED / "reports"
    names = ("flink-debug-dump/jobmanager.log", "flink-debug-dump-json/dump-11.json")
    return [*found, *alone, *(_one(Path(n).name, (reports / n).read_bytes()) for n in names)]


def _engine_logs() -> list[Seed]:
    """Return logs of processes of Flink, together and alone, and one of SeaTunnel."""
    found = _zip(DATA / "logs" / "flink-2.3-expired-and-restored.zip")
    alone = [_one(name.rpartition("/")[2], data) for name, data in found.items()]
    seatunnel = engine(INIT, done(1), FAILING)
    return [Seed("logs", found), *alone, _one("seatunnel.log", seatunnel)]


def _listings() -> list[Seed]:
    """Return listings of a job of Flink and of a query of Spark."""
    query = _zip(SHARED / "spark-streaming" / "join-inner-rocksdb-vcf.zip")
    root = SHARED / "flink" / "rocksdb-incremental" / "files"
    job = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    sizes = [{name: len(data) for name, data in files.items()} for files in (query, job)]
    return [_one("l.txt", listed(files)) for files in sizes for listed in (hdfs, aws)]


def _folder(root: Path) -> dict[str, bytes]:
    paths = [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and "truth" not in path.parts
        and path.name != "expected.json"
        and path.stat().st_size < LARGEST_FILE
    ]
    metadata = [path for path in paths if path.name == "_metadata"]
    others = [path for path in paths if path.name != "_metadata"]
    kept = (metadata + others)[:MOST_FILES]
    return {f"{root.name}/{p.relative_to(root).as_posix()}": p.read_bytes() for p in kept}


def _spark() -> list[Seed]:
    names = (
        "plain-agg-rocksdb-v2", "incident-planned-only", "join-inner-rocksdb-vcf", "tws-pandas-ttl",
        "flatmap-groups-with-state-scala", "commit-log-v3-sink-evolution", "global-agg-no-key",
        "stateless-rate-to-json", "continuous-rate-to-memory", "spark40-tws-pandas",
    )  # fmt: skip
    driver = _zip(LOGS / "spark-4.3-failed-and-resumed.zip")["driver.log"]
    found = [Seed(name, _zip(SHARED / "spark-streaming" / f"{name}.zip")) for name in names]
    return [*found, _one("driver.log", driver[:60_000])]


def _spark_logs() -> list[Seed]:
    """Return checkpoints of Spark: other sources and codecs, without a batch, inside others."""
    packages = [*(DATA / "spark-logs").glob("*.zip"), *(DATA / "spark-state").glob("*.zip")]
    return [Seed(path.stem, _small(_zip(path))) for path in sorted(packages)]


def _spark_reports() -> list[Seed]:
    """Return progress reports alone, as they are written and pasted, and an event log."""
    lines = (SHARED / "reports" / "spark-progress-only" / "progress.jsonl").read_bytes()
    reports = [json.loads(line) for line in lines.splitlines()]
    pretty = [json.dumps(report, indent=2) for report in reports]
    fenced = f"It stands still:\n```json\n{pretty[0]}\n```\n"
    events = next((DATA / "spark-progress").glob("*.zstd"))
    return [
        _one("progress.jsonl", lines),
        _one("progress.json", "\n".join(pretty).encode()),
        _one("printed.txt", "\n".join(map(repr, reports)).encode()),
        _one("fenced.md", fenced.encode("utf-16")),
        _one(events.name, events.read_bytes()),
        _one(
            "events_1_local-1",
            zstandard.ZstdDecompressor().stream_reader(events.read_bytes()).read(),
        ),
    ]


def _seatunnel() -> list[Seed]:
    return [Seed(path.stem, _zip(path)) for path in sorted((SHARED / "seatunnel").glob("*.zip"))]


def _zip(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.endswith(("/", "expected.json"))]
        return {name: archive.read(name) for name in names}


def _small(files: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out what no engine wrote, and large files."""
    named = {n: d for n, d in files.items() if not n.endswith(("case.json", "expected.json"))}
    kept = [name for name, data in named.items() if len(data) < LARGEST_FILE]
    return {name: named[name] for name in kept[:MOST_FILES]}


def _one(name: str, data: bytes) -> Seed:
    return Seed(name, {name: data})


_SEEDS: dict[str, Callable[[], list[Seed]]] = {
    "native": _native,
    "parquet": _parquet,
    "cos418": _cos418,
    "shiviz": _shiviz,
    "raft-trace": _raft,
    "json-clocks": _json_clocks,
    "jaeger": _jaeger,
    "p-trace": _p_trace,
    "vector-timestamps": _timestamps,
    "mapped": _mapped,
    "flink": _flink,
    "flink-operators": _flink_operators,
    "flink-answers": _flink_answers,
    "engine-logs": _engine_logs,
    "listings": _listings,
    "spark-streaming": _spark,
    "spark-logs": _spark_logs,
    "spark-reports": _spark_reports,
    "seatunnel": _seatunnel,
}
FORMATS = tuple(_SEEDS)

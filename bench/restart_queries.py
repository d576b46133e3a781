"""The queries of `bench/real_spark_restarts.py`, and what is done to copies of their checkpoints.

Each query reads JSON files of rows ``ts``, ``k`` and ``value`` from a folder, or another source.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming import StatefulProcessor

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Python workers do not have it
CONF = "spark.sql.streaming."
STORE = f"{CONF}stateStore."
STATE = "org.apache.spark.sql.execution.streaming.state."
ROCKSDB = {
    f"{STORE}providerClass": f"{STATE}RocksDBStateStoreProvider",
    f"{STORE}rocksdb.changelogCheckpointing.enabled": "true",
}
WHOLE_ROCKSDB = ROCKSDB | {f"{STORE}rocksdb.changelogCheckpointing.enabled": "false"}
WITH_IDS = ROCKSDB | {f"{STORE}checkpointFormatVersion": "2"}
SNAPSHOTS = {f"{STORE}minDeltasForSnapshot": "2"}
REPAIR = {
    f"{STORE}autoSnapshotRepair.enabled": "true",
    f"{STORE}autoSnapshotRepair.numFailuresBeforeActivating": "1",
}
CHECKSUMS = {
    f"{STORE}rowChecksum.enabled": "true",
    f"{CONF}checkpoint.fileChecksum.enabled": "true",
}
CODEC, JOIN = f"{STORE}compression.codec", f"{CONF}join.stateFormatVersion"
WITHOUT_REPAIR = {f"{STORE}autoSnapshotRepair.enabled": "false"}
ASYNCHRONOUS = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "5000",
}
FILES, RATE = "files", "rate"
Rows = Callable[[SparkSession, Path], DataFrame]


@dataclass(frozen=True)
class Query:
    """A streaming query.

    Attributes:
        rows: returns what the query writes, from the folder with its input.
        settings: of the session, beyond those of all queries.
        sink: ``noop``, ``json`` or ``foreachBatch``.
        options: further options of the writer.
        source: what it reads, if a change fits some sources only; else empty.
        is_whole: whether it gets the changes of logs, and not only those of state.
        stops: ``before`` or ``after`` the work of its first batch, which then fails; else empty.
        inside: the query in whose checkpoint directory its own lies.
    """

    name: str
    rows: Rows
    settings: dict[str, str] = field(default_factory=dict)
    mode: str = "append"
    sink: str = "noop"
    options: dict[str, str] = field(default_factory=dict)
    trigger: dict[str, Any] = field(default_factory=dict)
    source: str = FILES
    is_whole: bool = False
    stops: str = ""
    inside: str = ""


# --- sources and what is done with their rows -----------------------------------------------------


def _events(session: SparkSession, inputs: Path, each: int = 1) -> DataFrame:
    reader = session.readStream.schema("ts timestamp, k string, value long").format("json")
    return reader.option("maxFilesPerTrigger", each).load(str(inputs))


def _timed(session: SparkSession, inputs: Path) -> DataFrame:
    return _events(session, inputs).withWatermark("ts", "20 seconds")


def _rate(session: SparkSession, inputs: Path) -> DataFrame:
    return session.readStream.format("rate").option("rowsPerSecond", 20).load()


def _micro(session: SparkSession, inputs: Path) -> DataFrame:
    reader = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 20)
    return reader.option("startTimestamp", 1_700_000_000_000).load()


class _Numbers(SimpleDataSourceStreamReader):
    """Gives ten numbers a batch, with offsets in the form of Kafka's."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  (Spark names it)
        return {"numbers": {"0": 0}}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[int]], dict[str, Any]]:
        first = start["numbers"]["0"]
        return iter([(n,) for n in range(first, first + 10)]), {"numbers": {"0": first + 10}}

    def readBetweenOffsets(  # noqa: N802
        self, start: dict[str, Any], end: dict[str, Any]
    ) -> Iterator[tuple[int]]:
        return iter([(n,) for n in range(start["numbers"]["0"], end["numbers"]["0"])])


class Numbers(DataSource):
    """A source in Python."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "value long"

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:  # noqa: N802
        return _Numbers()


def _python(session: SparkSession, inputs: Path) -> DataFrame:
    session.dataSource.register(Numbers)
    return session.readStream.format("numbers").load()


def _counted(rows: DataFrame) -> DataFrame:
    return rows.groupBy("value").count()


def _minutes(rows: DataFrame) -> DataFrame:
    return rows.groupBy(F.window("ts", "10 seconds"), "k").agg(F.count("*").alias("n"))


def _of_minutes(session: SparkSession, inputs: Path) -> DataFrame:
    inner = _minutes(_timed(session, inputs))
    return inner.groupBy(F.window("window", "20 seconds")).agg(F.sum("n").alias("n"))


def _sessions(session: SparkSession, inputs: Path) -> DataFrame:
    rows = _timed(session, inputs)
    return rows.groupBy(F.session_window("ts", "5 seconds"), "k").agg(F.sum("value").alias("n"))


def _joined(kind: str) -> Rows:
    def rows(session: SparkSession, inputs: Path) -> DataFrame:
        left = _timed(session, inputs).filter("value % 2 = 0")
        right = _timed(session, inputs).filter("value % 3 = 0")
        right = right.withColumnsRenamed({"k": "rk", "ts": "rts", "value": "right_value"})
        near = F.expr(
            "k = rk AND rts BETWEEN ts - INTERVAL 10 SECONDS AND ts + INTERVAL 10 SECONDS"
        )
        return left.join(right, near, kind)

    return rows


class _Sums(StatefulProcessor):
    """Adds up the values of a key, keeps the last ones, and sets a timer."""

    def init(self, handle: Any) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", "n long")
        self.last = handle.getListState("last", "n long", ttlDurationMs=3_600_000)

    def handleInputRows(self, key: Any, rows: Any, timers: Any) -> Iterator[Row]:  # noqa: N802
        values = [row.value for row in rows]
        held = self.total.get()
        total = (held[0] if held else 0) + sum(values)
        self.total.update((total,))
        self.last.put([(value,) for value in values[-3:]])
        self.handle.registerTimer(timers.getCurrentProcessingTimeInMs() + 3_600_000)
        yield Row(k=key[0], total=total)

    def close(self) -> None:
        """Close nothing."""


def _with_state(session: SparkSession, inputs: Path) -> DataFrame:
    rows = _events(session, inputs).groupBy("k")
    return rows.transformWithState(
        statefulProcessor=_Sums(),
        outputStructType="k string, total long",
        outputMode="Update",
        timeMode="ProcessingTime",
    )


def _grouped(key: Any, frames: Any, state: Any) -> Iterator[Any]:
    import pandas as pd

    count = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
    state.update((count,))
    yield pd.DataFrame({"k": [key[0]], "n": [count]})


def _in_pandas(session: SparkSession, inputs: Path) -> DataFrame:
    rows = _events(session, inputs).groupBy("k")
    return rows.applyInPandasWithState(
        _grouped, "k string, n long", "n long", "update", "NoTimeout"
    )


def _of(source: Rows, transform: Callable[[DataFrame], DataFrame]) -> Rows:
    return lambda session, inputs: transform(source(session, inputs))


def _union(session: SparkSession, inputs: Path) -> DataFrame:
    return _events(session, inputs).select("value").union(_rate(session, inputs).select("value"))


UPDATE = {"mode": "update"}
EVERY_2_S = {"trigger": {"processingTime": "2 seconds"}}
QUERIES = (
    Query("files", _events, is_whole=True),
    Query("files, counted", _of(_events, _counted), **UPDATE),
    Query("files, counted in RocksDB", _of(_events, _counted), ROCKSDB, is_whole=True, **UPDATE),
    Query("files, each once", _of(_events, lambda r: r.dropDuplicates(["value"]))),
    Query("files to files", _events, sink="json"),
    Query("rate", _rate, source=RATE, is_whole=True, **EVERY_2_S),
    Query("rate, counted", _of(_rate, _counted), source=RATE, **UPDATE, **EVERY_2_S),
    Query("rate, asynchronous progress", _rate, options=ASYNCHRONOUS, source=RATE, **EVERY_2_S),
    Query("rate, continuous", _rate, source="epochs", trigger={"continuous": "1 second"}),
    Query("rate-micro-batch", _micro, source="", **EVERY_2_S),
    Query("Python source", _python, source="", **EVERY_2_S),
    Query("files and rate together", _union, source="", **EVERY_2_S),
    Query(
        "files, log compacted, 2 batches kept", _events,
        {f"{CONF}fileSource.log.compactInterval": "3", f"{CONF}minBatchesToRetain": "2"},
        is_whole=True,
    ),
    Query(
        "offset log version 2", _of(_events, _counted), {f"{CONF}offsetLog.formatVersion": "2"},
        **UPDATE,
    ),
    Query("files, counted, snapshots", _of(_events, _counted), SNAPSHOTS, **UPDATE),
    Query(
        "files, counted, snapshots repaired", _of(_events, _counted), SNAPSHOTS | REPAIR, **UPDATE
    ),
    Query(
        "files, counted, repair turned off", _of(_events, _counted), SNAPSHOTS | WITHOUT_REPAIR,
        **UPDATE,
    ),
    Query("RocksDB without changes", _of(_events, _counted), WHOLE_ROCKSDB, **UPDATE),
    Query("RocksDB, snapshots", _of(_events, _counted), ROCKSDB | SNAPSHOTS, **UPDATE),
    Query(
        "RocksDB, repair turned off", _of(_events, _counted), ROCKSDB | SNAPSHOTS | WITHOUT_REPAIR,
        **UPDATE,
    ),
    Query("RocksDB, checkpoint format 2", _of(_events, _counted), WITH_IDS, **UPDATE),
    Query(
        "RocksDB, checksums of rows and files", _of(_events, _counted),
        ROCKSDB | CHECKSUMS, **UPDATE,
    ),
    Query("windows, snappy", _of(_timed, _minutes), {CODEC: "snappy"}),
    Query("windows, lzf", _of(_timed, _minutes), {CODEC: "lzf"}),
    Query("windows, zstd, RocksDB", _of(_timed, _minutes), ROCKSDB | {CODEC: "zstd"}),
    Query("windows of windows", _of_minutes),
    Query("session windows", _sessions),
    Query("session windows in RocksDB", _sessions, ROCKSDB),
    Query(
        "each once within the watermark",
        _of(_timed, lambda rows: rows.dropDuplicatesWithinWatermark(["k"])),
    ),
    Query("one count of all", _of(_events, lambda r: r.groupBy().count()), **UPDATE),
    Query("the first 30", _of(_events, lambda r: r.limit(30))),
    Query("inner join", _joined("inner")),
    Query("left outer join, format 3", _joined("left_outer"), ROCKSDB | {JOIN: "3"}),
    Query("right outer join, format 4", _joined("right_outer"), WITH_IDS | {JOIN: "4"}),
    Query("full outer join", _joined("full_outer")),
    Query("transformWithState", _with_state, ROCKSDB, **UPDATE),
    Query(
        "transformWithState in Avro", _with_state, ROCKSDB | {f"{STORE}encodingFormat": "avro"},
        **UPDATE,
    ),
    Query("applyInPandasWithState", _in_pandas, **UPDATE),
    Query("applyInPandasWithState in RocksDB", _in_pandas, ROCKSDB, **UPDATE),
    Query("stopped before its first batch wrote", _events, sink="foreachBatch", stops="before"),
    Query(
        "counted, stopped before its first batch wrote", _of(_events, _counted),
        sink="foreachBatch", stops="before", **UPDATE,
    ),
    Query(
        "counted, stopped after its first batch wrote", _of(_events, _counted),
        sink="foreachBatch", stops="after", **UPDATE,
    ),
    Query("outer of two checkpoints", _events),
    Query(
        "counted, its checkpoint inside of the outer one", _of(_events, _counted),
        inside="outer of two checkpoints", **UPDATE,
    ),
)  # fmt: skip


# --- what is done to copies -----------------------------------------------------------------------


class Copy:
    """The copy of a checkpoint directory that is to be changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.newest = max(int(path.name) for path in (root / "offsets").glob("[0-9]*"))

    def remove(self, path: str) -> None:
        """Remove a file with its checksums."""
        (self.root / path).unlink()
        self._without_checksums(path)

    def cut(self, path: str, share: float = 0.5) -> None:
        """Keep the first part of a file, without its checksums."""
        content = (self.root / path).read_bytes()
        (self.root / path).write_bytes(content[: int(len(content) * share)])
        self._without_checksums(path)

    def write(self, path: str, content: str) -> None:
        """Replace a file, without its checksums."""
        (self.root / path).write_text(content)
        self._without_checksums(path)

    def flip(self, path: str) -> None:
        """Change a byte in the middle of a file, and leave its checksums."""
        content = bytearray((self.root / path).read_bytes())
        content[len(content) // 2] ^= 1
        (self.root / path).write_bytes(content)

    def remove_checksums(self) -> None:
        for path in self.root.rglob(".*.crc"):
            path.unlink()

    def newest_of(self, kinds: str, partition: str = "0/0") -> str | None:
        """Return the newest file of state of one of some kinds; None if there is none."""
        form = re.compile(rf"(\d+)(?:_[\w-]+)?\.(?:{kinds})")
        folder = self.root / "state" / partition
        found = [(int(m[1]), p) for p in folder.rglob("*") if (m := form.fullmatch(p.name))]
        return max(found)[1].relative_to(self.root).as_posix() if found else None

    def _without_checksums(self, path: str) -> None:
        file = self.root / path
        for name in (f".{file.name}.crc", f"{file.name}.crc"):
            file.with_name(name).unlink(missing_ok=True)


def _emptied(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _older_removed(copy: Copy) -> None:
    for log in ("offsets", "commits"):
        for number in range(copy.newest - 1):
            if (copy.root / f"{log}/{number}").exists():
                copy.remove(f"{log}/{number}")


Change = Callable[[Copy], object]
NOTHING: Change = lambda copy: None  # noqa: E731
WITHOUT = "nothing, started without the option"
OF_LOGS: dict[str, Change] = {
    "all checksums removed": Copy.remove_checksums,
    "the newest commit as Spark up to 2.3 wrote it": lambda copy: copy.write(
        f"commits/{copy.newest}", "v1\n{}"
    ),
    "`metadata` removed": lambda copy: copy.remove("metadata"),
    "`metadata` emptied": lambda copy: copy.cut("metadata", 0),
    "the newest offsets removed": lambda copy: copy.remove(f"offsets/{copy.newest}"),
    "the offsets before the newest removed": lambda copy: copy.remove(f"offsets/{copy.newest - 1}"),
    "the newest offsets cut": lambda copy: copy.cut(f"offsets/{copy.newest}"),
    "a byte of the newest offsets changed": lambda copy: copy.flip(f"offsets/{copy.newest}"),
    "the newest commit cut": lambda copy: copy.cut(f"commits/{copy.newest}"),
    "the newest commit emptied": lambda copy: copy.cut(f"commits/{copy.newest}", 0),
    "all commits removed": lambda copy: _emptied(copy.root / "commits"),
    "all but the newest two batches removed from the logs": _older_removed,
    "a temporary file left": lambda copy: (copy.root / "offsets/.9.5c3.tmp").write_text("v1"),
}


def _changes_of_state(copy: Copy) -> dict[str, Change]:
    """Return the changes that fit the files of state."""
    changes: dict[str, Change] = {}
    for told, kinds in (
        ("changes", "delta|changelog"), ("snapshot", "snapshot|zip"), ("table", "sst"),
    ):  # fmt: skip
        path = copy.newest_of(kinds) if kinds != "sst" else _table(copy)
        if path is None:
            continue
        changes |= {
            f"the newest {told} of a partition removed": _on(Copy.remove, path),
            f"the newest {told} of a partition cut": _on(Copy.cut, path),
            f"a byte of the newest {told} of a partition changed": _on(Copy.flip, path),
        }
    if (copy.root / "state/0/1").exists():
        changes["the folder of a partition removed"] = lambda copy: shutil.rmtree(
            copy.root / "state/0/1"
        )
    if (copy.root / "state/0/_metadata/metadata").exists():
        changes["operator metadata removed"] = _on(Copy.remove, "state/0/_metadata/metadata")
        changes["operator metadata cut"] = _on(Copy.cut, "state/0/_metadata/metadata")
    if (copy.root / "state/0/0/_metadata/schema").exists():
        changes["the state schema removed"] = _on(Copy.remove, "state/0/0/_metadata/schema")
    changes["the folder state removed"] = lambda copy: shutil.rmtree(copy.root / "state")
    return changes


def _table(copy: Copy) -> str | None:
    tables = sorted((copy.root / "state/0/0").rglob("*.sst"), key=lambda path: path.stat().st_mtime)
    return tables[-1].relative_to(copy.root).as_posix() if tables else None


def _on(change: Callable[[Copy, str], object], path: str) -> Change:
    return lambda copy: change(copy, path)


def changes_of(query: Query, root: Path) -> dict[str, Change]:
    """Return the changes that fit the checkpoint of a query, by what they are called."""
    if query.options:
        return {"nothing": NOTHING, WITHOUT: NOTHING}
    copy = Copy(root)
    changes = {"nothing": NOTHING}
    if (root / f"commits/{copy.newest}").exists():
        changes["the newest commit removed"] = lambda copy: copy.remove(f"commits/{copy.newest}")
    if query.is_whole:
        changes |= OF_LOGS
    if query.source == FILES and query.is_whole:
        names = sorted((root / "sources/0").glob("[0-9]*"), key=lambda path: path.stat().st_mtime)
        newest = f"sources/0/{names[-1].name}"
        changes["the newest file of the source's log removed"] = _on(Copy.remove, newest)
        changes["the newest file of the source's log cut"] = _on(Copy.cut, newest)
    if query.source == RATE and query.is_whole:
        changes["the source's log removed"] = _on(Copy.remove, "sources/0/0")
        changes["the source's log emptied"] = lambda copy: copy.cut("sources/0/0", 0)
    if (root / "state").exists():
        changes |= _changes_of_state(copy)
    return changes

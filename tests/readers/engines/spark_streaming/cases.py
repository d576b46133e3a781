"""Compare recorded checkpoints of Spark with their expected answers."""

import json
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapshots.readers.engines.spark_streaming.checkpoint import SparkCheckpoint
from snapshots.readers.engines.spark_streaming.files import DamagedFile
from snapshots.readers.engines.spark_streaming.limits import SparkLimits
from snapshots.readers.engines.spark_streaming.logs.offsets import FILE, kind_of
from snapshots.readers.engines.spark_streaming.state.readings import Reading
from snapshots.readers.engines.spark_streaming.state.store_files import PartitionFiles
from snapshots.readers.engines.spark_streaming.state.stored_state import (
    NotDecodable,
    read_partition,
)
from snapshots.readers.engines.spark_streaming.timeline import Batch, SourceRange
from snapshots.readers.engines.spark_streaming.upload import read_upload

LIMITS = SparkLimits()
MAIN = "checkpoint"
DAMAGED = "spark-streaming-damaged/1"

WRONG_ANSWERS = {
    ("offset-log-v2-named-sources", "source mobile_src"),
    ("offset-log-v2-named-sources", "source web_src"),
}
"""The expected answer exchanges the descriptions of these two. The logs of their files and the
offsets in progress reports show that."""


def case_paths(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "spark-streaming").glob("*.zip"))


@contextmanager
def unpacked(case: Path) -> Iterator[tuple[Path, dict]]:
    """Unpack a case into a temporary folder; return the folder and the expected answers."""
    with tempfile.TemporaryDirectory(prefix="spark-case-") as scratch:
        yield unpack(case, Path(scratch))


def unpack(case: Path, scratch: Path) -> tuple[Path, dict]:
    with zipfile.ZipFile(case) as packed:
        packed.extractall(scratch)
    folder = scratch / case.stem
    return folder, json.loads((folder / "expected.json").read_text())


def agreement(case: Path, session=None, every: int = 1) -> dict:
    """Count the answers that were compared and that agreed, and name those that did not.

    Args:
        case: the zip of the case.
        session: Spark's session, which reads the state; if None, state is read from files.
        every: reads only every n-th recorded state, and the last.
    """
    with unpacked(case) as (folder, expected):
        pairs = list(_pairs(folder, expected, session, every))
    differences = [name for name, ours, theirs in pairs if ours != theirs]
    return {
        "case": case.stem,
        "compared": len(pairs),
        "agreed": len(pairs) - len(differences),
        "differences": differences,
    }


def _pairs(folder: Path, expected: dict, session, every: int):
    """Yield name, actual and expected value of each answer."""
    upload = read_upload(folder, LIMITS)
    checkpoint = upload.checkpoints[MAIN]
    sizes = {file["path"]: file["bytes"] for file in expected["files"]}
    yield "files", {path: e.size for path, e in checkpoint.files.entries.items()}, sizes
    yield "unknown files", upload.unknown_files, ("expected.json",)
    if expected["schema"] == DAMAGED:
        if session is not None:
            yield from _damaged_reads(checkpoint, expected, session)
        return
    yield from _topology(checkpoint, expected["topology"])
    yield from _history("", checkpoint, expected)
    if "before_restart" in expected:
        before = expected["before_restart"]
        yield from _history("before restart: ", upload.checkpoints[before["dir"]], before)
    for theirs in expected["operators"]:
        yield f"operator {theirs['id']}", _operator(checkpoint, theirs), theirs
    yield from _state(checkpoint, expected, session, every)


def _topology(checkpoint: SparkCheckpoint, expected: dict):
    topology = checkpoint.topology
    ours = {source.id: source.description for source in topology.sources}
    assert ours.keys() == {source["id"] for source in expected["sources"]}
    for source in expected["sources"]:
        yield f"source {source['id']}", ours[source["id"]], source["description"]
    operators = [
        {"id": operator.id, "name": operator.name, "num_partitions": operator.partitions}
        for operator in topology.operators
    ]
    yield "operators of the topology", operators, expected["operators"]
    yield "sink", topology.sink, expected["sink"]
    yield "edges", sorted(map(list, topology.edges)), sorted(expected["edges"])


def _history(prefix: str, checkpoint: SparkCheckpoint, expected: dict):
    batches = {batch.batch: batch for batch in checkpoint.batches}
    yield f"{prefix}batches", list(batches), [each["batch"] for each in expected["timeline"]]
    for theirs in expected["timeline"]:
        ours = _batch(batches[theirs["batch"]])
        yield f"{prefix}batch {theirs['batch']}", ours, theirs
    in_flight = [
        {
            "batch": each.batch.batch,
            "sources": [_source(source) for source in each.batch.sources],
            "rows": each.batch.rows,
            "state_version_of_batch": each.batch.state_version,
            "partitions_that_wrote_it": {str(op): wrote for op, wrote in each.wrote.items()},
        }
        for each in checkpoint.in_flight
    ]
    yield f"{prefix}in flight", in_flight, expected["in_flight"]
    yield f"{prefix}state versions", _versions(checkpoint), expected["state_versions_on_disk"]
    if "last_committed_batch" in expected:
        last = checkpoint.logs.last_committed
        yield f"{prefix}last committed batch", last, expected["last_committed_batch"]


def _batch(batch: Batch) -> dict:
    return {
        "batch": batch.batch,
        "planned": batch.planned,
        "committed": batch.committed,
        "planned_at_ms": batch.planned_at_ms,
        "watermark_ms": batch.watermark_ms,
        "next_watermark_ms": batch.next_watermark_ms,
        "sources": [_source(source) for source in batch.sources],
    }


def _source(source: SourceRange) -> dict:
    """Return a range, with files and rows only for a file source that has read something."""
    range_ = {"source": source.source, "start": source.start, "end": source.end}
    if kind_of(source.end) == FILE:
        range_["files"] = None if source.files is None else list(source.files)
        if source.files is not None:
            range_["rows"] = source.rows
    return range_


def reading_called(label: str) -> Reading:
    """Return the way of reading state that has this label."""
    kind, _, name = label.partition("=")
    return Reading(kind, name or None)


def _versions(checkpoint: SparkCheckpoint) -> dict:
    return {
        str(operator): {
            store: {str(files.partition): _version(files) for files in partitions.values()}
            for store, partitions in stores.items()
        }
        for operator, stores in checkpoint.versions.items()
    }


def _version(partition: PartitionFiles) -> dict:
    newest = max((file.version for file in partition.files), default=None)
    return {"max_version": newest, "snapshots": partition.snapshots}


def _operator(checkpoint: SparkCheckpoint, expected: dict) -> dict:
    operator = next(each for each in checkpoint.operators if each.id == expected["id"])
    stores = operator.stores and [
        {"name": store.name, "num_cols_prefix_key": store.prefix_columns}
        for store in operator.stores
    ]
    committed = checkpoint.committed_batches
    answer = {
        "id": operator.id,
        "name": operator.name,
        "stores": stores,
        "num_partitions": operator.partitions,
        "properties": operator.properties,
        "min_batch": committed[0],
        "max_batch": committed[-1],
    }
    return {name: value for name, value in answer.items() if name in expected}


def _state(checkpoint: SparkCheckpoint, expected: dict, session, every: int):
    reads = expected["state"]
    chosen = [read for n, read in enumerate(reads) if n % every == 0 or read is reads[-1]]
    if session is None:
        for read in chosen:
            name = f"state of batch {read['batch']}, {read['read']}, by files"
            if (ours := state_by_files(checkpoint, read)) is not None:
                yield name, ours, in_order(read["partitions"])
        return
    from tasks.spark.engine_state.state import BY_SPARK, open_state

    with open_state(session, checkpoint) as reader:
        yield from _metadata(reader.operators(), expected["operators"])
        for read in chosen:
            answer = reader.read(_request(read))
            ours = in_order(answer.rows) if answer.by == BY_SPARK else answer.failure
            name = f"state of batch {read['batch']}, {read['read']}"
            yield name, ours, in_order(read["partitions"])


def _request(read: dict):
    from tasks.spark.engine_state.state import StateRequest

    reading = reading_called(read.get("read", "default"))
    return StateRequest(read.get("operator", 0), reading, read["batch"])


def _metadata(answer, expected: list[dict]):
    """Compare the answer of ``state-metadata``, which does not know Spark 3's checkpoints."""
    rows, failure = answer
    theirs = [
        [each["id"], each["name"], store["name"], each["num_partitions"], each["min_batch"]]
        + [each["max_batch"], each["properties"], store["num_cols_prefix_key"]]
        for each in expected
        for store in each["stores"] or ()
    ]
    ours = [
        [row["operatorId"], row["operatorName"], row["stateStoreName"], row["numPartitions"]]
        + [row["minBatchId"], row["maxBatchId"], json.loads(row["operatorProperties"] or "null")]
        + [row["_numColsPrefixKey"]]
        for row in rows
    ]
    if expected:
        yield "state-metadata", (failure, sorted(ours, key=str)), (None, sorted(theirs, key=str))


def state_by_files(checkpoint: SparkCheckpoint, read: dict) -> dict | None:
    """Read state without Spark; None if that is not possible."""
    reading = reading_called(read["read"])
    stores = checkpoint.versions[read["operator"]]
    partitions = stores.get(reading.store_in(stores), {})
    rows = {}
    try:
        for partition in partitions:
            place = (read["operator"], reading, partition, read["batch"] + 1)
            rows[partition] = read_partition(checkpoint, *place, LIMITS)
    except (NotDecodable, DamagedFile):
        return None
    return in_order(rows) if partitions else None


def in_order(partitions: dict) -> dict:
    """Sort the rows of partitions, and leave out partitions without rows."""
    return {
        str(partition): sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        for partition, rows in partitions.items()
        if rows
    }


def _damaged_reads(checkpoint: SparkCheckpoint, expected: dict, session):
    from tasks.spark.engine_state.state import BY_SPARK, open_state

    with open_state(session, checkpoint) as reader:
        for read in expected["statestore_reads"]:
            answer = reader.read(_request(read))
            count = sum(len(rows) for rows in answer.rows.values())
            ours, theirs = {"outcome": "ok", "rows": count}, dict(read)
            if answer.by != BY_SPARK:
                ours = {"outcome": "error", "error_class": answer.failure.condition}
                if read.get("error_class") == "Py4JJavaError":  # Java's errors have no condition
                    ours["error_class"] = "Py4JJavaError" if answer.failure.sentence else None
            name = f"damaged, state of batch {read['batch']}"
            yield name, ours, {key: theirs.get(key) for key in ours}

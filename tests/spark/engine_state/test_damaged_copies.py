"""A real Spark starts, or fails, from damaged copies of its checkpoint as the document says."""

import json
import shutil
import time
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.readers.engines.spark_streaming.damaged_copies import (
    DAMAGES,
    FAILED,
    FROM_THE_NEWEST,
    Copy,
    answer_about,
)

BATCHES = 13
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.minBatchesToRetain": "3",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    ),
}


@pytest.fixture
def keeps_little(spark):
    """Let Spark write snapshots of state often, and give its settings back after the test."""
    before = {name: spark.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    unload(spark)
    yield
    unload(spark)
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def unload(spark) -> None:
    """Drop all state that Spark has loaded; the next query begins maintenance anew."""
    spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


def add_file(folder: Path) -> None:
    """Add a file to what the query reads."""
    number = len(list(folder.iterdir()))
    rows = [{"user": f"user{key}", "amount": number} for key in range(20)]
    (folder / f"{number:02}.json").write_text("\n".join(map(json.dumps, rows)))


def batches_of(spark, inputs: Path, checkpoint: Path) -> list[int]:
    """Let the query read what is there, and return its batches. Raises as Spark does."""
    seen = []
    source = spark.readStream.schema("user string, amount long").option("maxFilesPerTrigger", 1)
    totals = source.json(str(inputs)).groupBy("user").sum("amount")
    writer = totals.writeStream.outputMode("update").option("checkpointLocation", str(checkpoint))

    def sink(frame, batch):
        frame.collect()
        seen.append(batch)

    query = writer.foreachBatch(sink).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return seen


def a_checkpoint(spark, folder: Path) -> Path:
    """Run the query, a batch for each file, until its checkpoint fits the damages."""
    inputs = folder / "input"
    inputs.mkdir()
    checkpoint = folder / "checkpoint"
    for _ in range(BATCHES):
        add_file(inputs)
        batches_of(spark, inputs, checkpoint)
        time.sleep(1.5)  # maintenance writes snapshots
    return checkpoint


@pytest.mark.long
@pytest.mark.usefixtures("keeps_little")
def test_spark_does_with_damaged_copies_what_the_document_says(spark, tmp_path):
    original, wrong = a_checkpoint(spark, tmp_path), []
    add_file(tmp_path / "input")
    for damage in DAMAGES:
        for number, change in enumerate(damage.changes):
            copy = Copy(shutil.copytree(original, tmp_path / f"{DAMAGES.index(damage)}-{number}"))
            change(copy)
            answer, did = answer_about(copy.root), outcome(spark, tmp_path / "input", copy)
            if (answer, did) != (damage.answer, expected(damage.did, copy)):
                wrong.append((damage.title, number, answer, did))
    assert not wrong, "\n".join(map(str, wrong))


def outcome(spark, inputs: Path, copy: Copy) -> int | None:
    """Return the first batch that Spark runs from a copy; None if it fails."""
    unload(spark)
    try:
        return batches_of(spark, inputs, copy.root)[0]
    except (PySparkException, Py4JJavaError):
        return None


def expected(did: str, copy: Copy) -> int | None:
    """Return the batch that runs first according to the document; None for a failure."""
    if did == FAILED:
        return None
    return copy.newest if did in FROM_THE_NEWEST else copy.newest + 1

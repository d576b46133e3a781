"""A real query is restarted with another number of partitions, and its state is repartitioned."""

import json

import pytest

from snapshots.answers.restore import Question
from snapshots.domain.inventory.flow import Flow
from snapshots.domain.inventory.restore_answer import NO, YES
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory

PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.fixture
def settings_of_its_own(spark):
    """Give the session's settings back after the test."""
    before = {name: spark.conf.get(name) for name in (PARTITIONS, PROVIDER)}
    spark.conf.set(PROVIDER, ROCKSDB)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def run(spark, folder, partitions):
    """Let the query count one more file of keys, in a session with this number of partitions."""
    spark.conf.set(PARTITIONS, str(partitions))
    inputs = folder / "in"
    inputs.mkdir(exist_ok=True)
    name = f"{len(list(inputs.iterdir()))}.json"
    (inputs / name).write_text("\n".join(json.dumps({"k": f"k{n}"}) for n in range(9)))
    counts = spark.readStream.schema("k string").json(str(inputs)).groupBy("k").count()
    writer = counts.writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query.trigger(availableNow=True).start().awaitTermination()


def answers(folder, store, parallelisms):
    """Return the answer for the newest batch, by number of partitions."""
    store.mkdir()
    write_inventory(store, SparkUpload(folder / "checkpoint"))
    inventory = StoredInventory(store)
    given = {}
    for parallelism in parallelisms:
        question = Question(inventory, Flow(), parallelism)
        [newest] = question.newest()
        given[parallelism] = question.answer(newest)["answer"]
    return given


def partitions_of(folder):
    return sorted(p.name for p in (folder / "checkpoint/state/0").iterdir() if p.name.isdigit())


@pytest.mark.slow
@pytest.mark.usefixtures("settings_of_its_own")
def test_spark_does_what_the_answer_says(spark, tmp_path):
    run(spark, tmp_path, 2)
    assert answers(tmp_path, tmp_path / "first", (2, 4)) == {2: YES, 4: NO}
    run(spark, tmp_path, 4)  # which Spark ignores
    assert partitions_of(tmp_path) == ["0", "1"]
    assert answers(tmp_path, tmp_path / "second", (2, 4)) == {2: YES, 4: NO}
    manager = spark._streamingCheckpointManager
    manager.repartition(str(tmp_path / "checkpoint"), 4)
    assert partitions_of(tmp_path) == ["0", "1", "2", "3"]
    assert answers(tmp_path, tmp_path / "third", (2, 4)) == {2: NO, 4: YES}
    run(spark, tmp_path, 2)  # which Spark ignores again
    assert partitions_of(tmp_path) == ["0", "1", "2", "3"]
    assert answers(tmp_path, tmp_path / "fourth", (2, 4)) == {2: NO, 4: YES}

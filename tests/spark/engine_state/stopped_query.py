"""Stop a real query of Spark's in the middle of a batch."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

ARRIVALS = [
    [("ana", 1), ("bo", 2), ("ana", 3)],
    [("ana", 10), ("cyd", 20)],
    [("bo", 100), ("cyd", 200), ("dan", 300)],
]
PARTITIONS = "spark.sql.shuffle.partitions"


class _StopHere(Exception):
    """Stops the query like a sink that fails."""


def query_stopped(spark, folder: Path, before_writing: bool) -> Path:
    """Run a query over three files, a batch each, stop it in the third, and return ``folder``.

    before_writing: whether the sink fails before the plan has run, or after every partition has
    written its state. ``folder`` has the query's ``input`` and ``checkpoint``.
    """
    (folder / "input").mkdir(parents=True)
    last = len(ARRIVALS) - 1

    def sink(frame, batch):
        if batch == last and before_writing:
            raise _StopHere
        frame.collect()
        if batch == last:
            raise _StopHere

    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "2")
    try:
        for place, rows in enumerate(ARRIVALS):
            text = "".join(json.dumps({"user": u, "amount": n}) + "\n" for u, n in rows)
            (folder / "input" / f"{place}.json").write_text(text)
            query = _query(spark, folder).foreachBatch(sink).start()
            stops = pytest.raises(StreamingQueryException) if place == last else nullcontext()
            with stops:
                query.awaitTermination(60)
            query.stop()
    finally:
        spark.conf.set(PARTITIONS, before)
    return folder


def _query(spark, folder: Path):
    source = spark.readStream.schema("user string, amount long").json(str(folder / "input"))
    totals = source.groupBy("user").agg(
        F.count("*").alias("n"),
        F.sum("amount").alias("total"),
        F.max(F.col("amount").cast("decimal(20,2)")).alias("largest"),
        F.max(F.to_date(F.lit("2026-02-03"))).alias("day"),
    )
    return (
        totals.writeStream.outputMode("update")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
    )

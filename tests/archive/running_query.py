"""A real Spark query that runs until it is stopped, and starts again where it was.

``python -m tests.archive.running_query FOLDER``
"""

import sys
import time


def run(folder: str) -> None:
    """Run the query. This never returns."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.streaming.minBatchesToRetain", "10")
        .getOrCreate()
    )
    numbers = spark.readStream.format("rate").option("rowsPerSecond", "5").load()
    query = (
        numbers.writeStream.format("noop")
        .option("checkpointLocation", folder)
        .trigger(processingTime="300 milliseconds")
        .start()
    )
    while query.isActive:
        time.sleep(0.2)


if __name__ == "__main__":
    run(sys.argv[1])

"""A query of Spark Structured Streaming that is killed in the middle of a batch.

For `docs/walks.md`. It runs in Cutline's own Python:

    .venv/bin/python bench/walks/clicks.py FOLDER

The query counts clicks without repeats by page and window. In batch 8 two of four partitions write
their state, the others wait, and the whole process is killed. FOLDER/clicks is then what one would
upload: the checkpoint and the progress reports.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

FATAL = 8  # batch
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.streaming.stateStore.providerClass": STORE,
}
BEGAN = 1_790_000_000  # of the events: 2026-09-21 14:13:20 UTC


def write_clicks(folder: Path, number: int) -> None:
    """Write a file with 40 clicks, some of which were in an earlier file already."""
    chance = random.Random(number)
    rows = []
    for row in range(40 * number, 40 * number + 40):
        seconds = BEGAN + 7 * number + chance.random() * 9
        is_repeated = number > 1 and chance.random() < 0.15
        rows.append(
            {
                "id": f"click-{row - 60 if is_repeated else row}",
                "page": chance.choice(("home", "cart", "pay", "help", "search")),
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            }
        )
    hidden = folder / f".{number}"
    hidden.write_text("\n".join(map(json.dumps, rows)))
    hidden.rename(folder / f"clicks-{number:03}.json")


def wait_in_the_second_half(rows) -> None:
    if TaskContext.get().partitionId() >= 2:
        time.sleep(600)
    list(rows)


def main(folder: Path) -> None:
    """Run the query until its fatal batch. This never returns."""
    upload, given = folder / "clicks", folder / "input"
    upload.mkdir(parents=True)
    given.mkdir()
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    java = spark._jvm.java.lang.ProcessHandle.current().pid()

    def die() -> None:
        """Kill everything once two partitions of the counts have written their state."""
        while len(list(upload.glob(f"checkpoint/state/0/*/{FATAL + 1}.zip"))) < 2:
            time.sleep(0.2)
        os.kill(java, signal.SIGKILL)
        os._exit(0)

    def show(batch: DataFrame, number: int) -> None:
        if number == FATAL:
            threading.Thread(target=die).start()
            batch.foreachPartition(wait_in_the_second_half)
        batch.write.json(str(folder / "output" / str(number)))

    clicks = (
        spark.readStream.schema("id string, page string, at timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(str(given))
        .withWatermark("at", "15 seconds")
        .dropDuplicatesWithinWatermark(["id"])
    )
    query = (
        clicks.groupBy(F.window("at", "10 seconds"), "page")
        .count()
        .writeStream.queryName("clicks by page")
        .option("checkpointLocation", str(upload / "checkpoint"))
        .foreachBatch(show)
        .start()
    )
    written = -1
    with (upload / "progress.jsonl").open("w") as reports:
        for number in range(10_000):
            write_clicks(given, number)
            time.sleep(1.5)
            for report in query.recentProgress:
                if report["batchId"] > written and report["numInputRows"]:
                    written = report["batchId"]
                    print(report.json, file=reports, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

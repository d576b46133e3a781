#!/usr/bin/env bash
# A query that begins anew on the folder of an old file sink reports success and loses its rows (Spark 4.3.0).
#
# The file sink's own log, _spark_metadata, counts batches without the id of their query. A new checkpoint begins at batch 0, and the
# sink throws away each batch whose number its log has already. There is no error: the batches are committed, their offsets go on, so
# that nothing reads these rows again, and progress reports say 0 rows, since nothing asked the source for them. Output appears again
# once the new query has overtaken the old one.
#
# Needs pip and a JDK from 17 on, and 1 GB in a temporary folder. Exits with 0 while Spark does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q pyspark==4.3.0
cat > sink.py <<'PY'
import json
import os

import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
os.makedirs("input")


def run(checkpoint, values):
    for value in values:
        with open(f"input/{value}.json", "w") as file:
            json.dump({"value": value}, file)
    rows = spark.readStream.schema("value long").option("maxFilesPerTrigger", 1).json("input")
    query = rows.writeStream.format("json").option("path", "output")
    query = query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    return sum(report["numInputRows"] for report in query.recentProgress)


print("Spark", pyspark.__version__)
print("the old query read", run("old", range(4)), "rows")
for value in range(4):
    os.remove(f"input/{value}.json")
read = run("new", range(10, 13))
commits = sorted(name for name in os.listdir("new/commits") if name.isdigit())
print("the new query committed batches", commits, "without an error and read", read, "rows")
there = {row.value for row in spark.read.json("output").collect()}
print("in the output:", sorted(there))
assert read == 0 and commits == ["0", "1", "2"] and there == {0, 1, 2, 3}, "Spark does this no longer"
PY
venv/bin/python sink.py 2>/dev/null

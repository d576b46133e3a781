#!/usr/bin/env bash
# A stream-stream join in state format 1 does not start, though the setting allows the format (Spark 4.3.0).
#
# spark.sql.streaming.join.stateFormatVersion takes 1 to 4, and says of 1 only that it is deprecated. An outer join is refused with a
# sentence about SPARK-26154. An inner join fails in its first batch with "Unsupported schema writer version: 1", which names neither
# the setting nor a way out: the number of the state format is taken for that of the schema's file.
#
# Needs pip and a JDK from 17 on, and 1 GB in a temporary folder. Exits with 0 while Spark does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q pyspark==4.3.0
cat > join.py <<'PY'
import os

import pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = spark.config("spark.sql.shuffle.partitions", "1").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
for side in ("left", "right"):
    os.makedirs(side)
    with open(f"{side}/0.json", "w") as file:
        file.write('{"k": "a"}\n')


def run(version):
    spark.conf.set("spark.sql.streaming.join.stateFormatVersion", str(version))
    left, right = (spark.readStream.schema("k string").json(side) for side in ("left", "right"))
    query = left.join(right, "k").writeStream.format("noop").option("checkpointLocation", f"checkpoint-{version}")
    try:
        query.trigger(availableNow=True).start().awaitTermination()
        return "ended"
    except Exception as error:
        return next(line for line in str(error).splitlines() if "exception: " in line).partition("exception: ")[2]


print("Spark", pyspark.__version__)
said = {version: run(version) for version in (1, 2)}
for version, what in said.items():
    print(f"an inner join in state format {version}: {what}")
assert "Unsupported schema writer version: 1" in said[1] and said[2] == "ended", "Spark does this no longer"
PY
venv/bin/python join.py 2>/dev/null

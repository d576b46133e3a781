#!/usr/bin/env bash
# Spark's own reader of state shows the first bytes of a join's key as its event time (Spark 4.3.0).
#
# In join state format 4 the event time of a row is a part of its key. The data source `statestore` reads such state without an error
# and fills `__event_time` with the first bytes of the key's text: 97 for the key "a", where the row has an event time in 2026.
#
# Needs pip and a JDK from 17 on, and 1 GB in a temporary folder. Exits with 0 while Spark does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q pyspark==4.3.0
cat > join.py <<'PY'
import json
import os

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

CONF = "spark.sql.streaming."
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    f"{CONF}join.stateFormatVersion": "4",
    f"{CONF}stateStore.checkpointFormatVersion": "2",
    f"{CONF}stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{CONF}stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
builder = SparkSession.builder.master("local[1]")
for name, value in SETTINGS.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")
print("Spark", pyspark.__version__)
for side in ("left", "right"):
    os.makedirs(side)
    with open(f"{side}/0.json", "w") as file:
        for second, key in enumerate("abc"):
            file.write(json.dumps({"k": key, "ts": f"2026-01-01T00:00:0{second}"}) + "\n")


def rows(side):
    read = spark.readStream.schema("k string, ts timestamp").json(side)
    return read.withColumnsRenamed({"k": f"{side}_k", "ts": f"{side}_ts"}).withWatermark(f"{side}_ts", "1 hour")


near = F.expr("left_k = right_k AND right_ts BETWEEN left_ts AND left_ts + INTERVAL 1 MINUTE")
joined = rows("left").join(rows("right"), near, "right_outer")
query = joined.writeStream.format("noop").option("checkpointLocation", "checkpoint").trigger(availableNow=True).start()
query.awaitTermination()
state = spark.read.format("statestore").option("joinSide", "left").load("checkpoint")
shown = {row.key.field0: (row.key["__event_time"], row.value.left_ts) for row in state.collect()}
for key, (in_key, in_row) in sorted(shown.items()):
    print(f"key {key!r}: __event_time {in_key}, the row's own event time {in_row}")
assert {key: in_key for key, (in_key, _) in shown.items()} == {key: ord(key) for key in "abc"}, "Spark does this no longer"
PY
venv/bin/python join.py 2>/dev/null

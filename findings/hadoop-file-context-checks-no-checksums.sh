#!/usr/bin/env bash
# Hadoop's FileContext writes checksums and does not check them, so Spark goes on from changed offsets (Spark 4.3.0, Hadoop 3.5.0).
#
# On a local file system both of Hadoop's APIs keep `.name.crc` beside a file. FileSystem checks it when it reads. FileContext does
# not: FilterFs.open(path) goes to the file system below, without ChecksumFs between the two; only open(path, bufferSize) checks.
# Spark reads and writes the logs of a streaming query by FileContext. One digit of a committed offset that changes on disk is
# therefore noticed by nobody, although its checksum is there: the query starts, and reads rows again.
#
# Needs pip and a JDK from 17 on, and 1 GB in a temporary folder. Exits with 0 while Spark and Hadoop do so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q pyspark==4.3.0
cat > sums.py <<'PY'
import json
import os

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
jvm = spark.sparkContext._jvm
print("Spark", pyspark.__version__, "with Hadoop", jvm.org.apache.hadoop.util.VersionInfo.getVersion())
os.makedirs("input")


def run(values):
    for value in values:
        with open(f"input/{value}.json", "w") as file:
            json.dump({"value": value}, file)
    rows = spark.readStream.schema("value long").option("maxFilesPerTrigger", 1).json("input")
    query = rows.writeStream.format("json").option("path", "output")
    query = query.option("checkpointLocation", "checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()


def read_by(api):
    try:
        stream = api.open(path)
        stream.readAllBytes()
        stream.close()
        return "reads it"
    except Py4JJavaError as error:
        return error.java_exception.getClass().getSimpleName()


run(range(4))
log = "checkpoint/offsets/3"
whole = open(log).read()
assert whole.endswith('{"logOffset":3}') and os.path.exists("checkpoint/offsets/.3.crc")
with open(log, "w") as file:  # the checksums stay as Hadoop wrote them
    file.write(whole.replace('{"logOffset":3}', '{"logOffset":2}'))
path = jvm.org.apache.hadoop.fs.Path(os.path.abspath(log))
conf = spark.sparkContext._jsc.hadoopConfiguration()
by_system = read_by(path.getFileSystem(conf))
by_context = read_by(jvm.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), conf))
print("a digit of offsets/3 is changed, its checksums are not: FileSystem:", by_system, "; FileContext:", by_context)
run([4])
there = sorted(row.value for row in spark.read.json("output").collect())
print("the query started again; in the output:", there)
assert by_system == "ChecksumException" and by_context == "reads it", "Hadoop does this no longer"
assert len(there) > 5, "Spark does this no longer"
PY
venv/bin/python sums.py 2>/dev/null

"""Checkpoint directories of Spark Structured Streaming, as the engine left them.

What the files say without Spark: batches, offsets, watermarks, what was in flight, operators,
state schemas, which state versions lie on disk, and the state of HDFS-backed stores. The rest of
the state is read by the Spark job ``tasks.spark.engine_state.state``.

Sources: Apache Spark 3.5 to 4.3, ``org.apache.spark.sql.execution.streaming``.
"""

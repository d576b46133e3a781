"""Readers of checkpoint directories of Spark Structured Streaming.

They read without Spark: batches, offsets, watermarks, batches in flight, operators, state schemas,
the versions of state on disk, and the state of HDFS-backed stores and of RocksDB without column
families. The Spark job ``tasks.spark.engine_state.state`` reads the other state.

Sources: Apache Spark 3.5 to 4.3, ``org.apache.spark.sql.execution.streaming``.
"""

"""Uploads of engines whose state Spark reads: a Structured Streaming checkpoint's own."""

from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tasks.spark import session
from tasks.spark.engine_state.entries import WithState


def with_state(upload: EngineUpload) -> EngineUpload:
    """The upload; where Spark wrote it, its entries are those that Spark's data source reads."""
    return WithState(upload, session.get()) if isinstance(upload, SparkUpload) else upload

"""Choose how the entries of an upload are read."""

from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from tasks.spark import session
from tasks.spark.engine_state.entries import WithState


def with_state(upload: EngineUpload) -> EngineUpload:
    """Return the upload; if Spark wrote it, its entries are read with Spark's data source."""
    return WithState(upload, session.get()) if isinstance(upload, SparkUpload) else upload

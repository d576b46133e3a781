"""Choose how the entries of an upload are read."""

from dataclasses import replace

from snapshots.readers.engines.base import EngineUpload
from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.told import Beside
from tasks.spark import session
from tasks.spark.engine_state.entries import WithState


def with_state(upload: EngineUpload, *, is_whole: bool = False) -> EngineUpload:
    """Return the upload; if Spark wrote it, its entries are read with Spark's data source.

    Args:
        is_whole: whether the state of all batches is read, however long it takes.
    """
    if isinstance(upload, Beside):  # logs or listings lie beside the files
        return replace(upload, files=with_state(upload.files, is_whole=is_whole))
    if not isinstance(upload, SparkUpload):
        return upload
    upload.reads.is_whole = is_whole
    return WithState(upload, session.get())

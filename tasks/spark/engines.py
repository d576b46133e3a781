"""Uploads of engines whose state Spark reads: a Structured Streaming checkpoint's own."""

from snapshots.readers.engine import EngineUpload


def with_state(upload: EngineUpload) -> EngineUpload:
    """The upload; where Spark wrote it, its entries are those that Spark's data source reads."""
    return upload

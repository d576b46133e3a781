"""Upper bounds for reading a checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkLimits:
    """Upper bounds for one upload. Sizes are in bytes."""

    files: int = 200_000
    """Regular files below the upload's folder."""
    log_bytes: int = 64 * 2**20
    """One text log."""
    schema_bytes: int = 4 * 2**20
    """One state schema."""
    all_log_bytes: int = 32 * 2**20
    """All logs and schemas of the upload, except the logs of sources and sinks."""
    progress_bytes: int = 32 * 2**20
    """All progress reports of the upload."""
    reports: int = 100_000
    """The number of progress reports in the upload."""
    partitions: int = 1_000_000
    """The number of partitions that all operators of the upload state."""
    source_bytes: int = 256 * 2**20
    """All logs of sources and sinks of the upload."""
    source_entries: int = 1_000_000
    """The number of entries in these logs."""
    input_bytes: int = 2**30
    """One input file whose rows are counted."""
    state_bytes: int = 256 * 2**20
    """The unpacked files of all partitions that make up one state at one batch."""
    state_records: int = 500_000
    """The number of changes in one of these files, and of keys in one state."""
    all_state_bytes: int = 4 * 2**30
    """All unpacked state files of the upload; repeated reads count again."""
    depth: int = 32
    """The depth of nested JSON and of nested columns."""

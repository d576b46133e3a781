"""Upper bounds for reading a checkpoint."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkLimits:
    """Upper bounds for one upload. Sizes are in bytes.

    Attributes:
        files: regular files below the upload's folder.
        log_bytes: one text log.
        schema_bytes: one state schema.
        all_log_bytes: all logs and schemas of the upload, except the logs of sources and sinks.
        progress_bytes: all progress reports of the upload.
        reports: the number of progress reports in the upload.
        partitions: the number of partitions that all operators of the upload state.
        source_bytes: all logs of sources and sinks of the upload.
        source_entries: the number of entries in these logs.
        input_bytes: one input file whose rows are counted.
        state_bytes: the unpacked files of all partitions that make up one state at one batch.
        state_records: the number of changes in one of these files, and of keys in one state.
        all_state_bytes: all unpacked state files of the upload; repeated reads count again.
        depth: the depth of nested JSON and of nested columns.
    """

    files: int = 200_000
    log_bytes: int = 64 * 2**20
    schema_bytes: int = 4 * 2**20
    all_log_bytes: int = 32 * 2**20
    progress_bytes: int = 32 * 2**20
    reports: int = 100_000
    partitions: int = 1_000_000
    source_bytes: int = 256 * 2**20
    source_entries: int = 1_000_000
    input_bytes: int = 2**30
    state_bytes: int = 256 * 2**20
    state_records: int = 500_000
    all_state_bytes: int = 4 * 2**30
    depth: int = 32

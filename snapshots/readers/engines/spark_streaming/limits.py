"""How much of a checkpoint is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkLimits:
    """files: regular files below the upload's folder. Sizes are in bytes.

    One of these: log_bytes: a text log or schema. state_bytes: what the files may unpack to that
    one state at one batch is put together from, all its partitions together; state_records: how
    many changes may be in one of these files, or keys in the state. depth: of nested JSON and of
    nested columns.

    The whole upload together: all_log_bytes: logs and schemas but those of sources and sinks, which
    have source_bytes and source_entries. progress_bytes, reports: progress reports. partitions:
    that operators say they have. all_state_bytes: what state files unpack to, however often they
    are read.
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

"""How much of a checkpoint is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkLimits:
    """files: regular files below the upload's folder. Sizes are in bytes.

    log_bytes: one text log or schema. progress_bytes: one file of progress reports.
    source_entries: files that one source has seen. state_bytes: what the files of one partition's
    state may unpack to. depth: of nested JSON and of nested columns.
    """

    files: int = 200_000
    log_bytes: int = 64 * 2**20
    schema_bytes: int = 4 * 2**20
    progress_bytes: int = 256 * 2**20
    source_entries: int = 1_000_000
    input_bytes: int = 2**30
    state_bytes: int = 256 * 2**20
    depth: int = 32

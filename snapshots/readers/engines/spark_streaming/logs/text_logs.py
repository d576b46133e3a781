"""Read text logs: a version line, then one JSON document per line.

Source: Spark's HDFSMetadataLog, MetadataVersionUtil.
"""

import re
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json, NotReadable, parse_object
from snapshots.readers.engines.spark_streaming.files import DamagedFile, FileNotRead, Files
from snapshots.readers.engines.spark_streaming.limits import SparkLimits

LOG_BYTES = "bytes of logs"
_VERSION = re.compile(r"v(\d{1,4})")
_NUMBER = re.compile(r"0|[1-9]\d{0,17}")


@dataclass(frozen=True)
class Log:
    """One file of a log.

    Attributes:
        version: 1 for ``v1``.
        lines: the lines after the version; the first of them is line 2 of the file.
    """

    file: str
    version: int
    lines: tuple[str, ...]

    def object(self, line: int, limits: SparkLimits) -> dict[str, Json]:
        """Return the JSON object in a line of the file (1-based). Raises: DamagedFile."""
        if line > len(self.lines) + 1:
            raise DamagedFile(self.file, "It ends before this line.", line)
        try:
            return parse_object(self.lines[line - 2], limits.depth)
        except NotReadable as error:
            raise DamagedFile(self.file, str(error), line) from error


def read_log(
    files: Files, path: str, newest: int, limits: SparkLimits, *, of_files: bool = False
) -> Log:
    """Read one file of a log. Raises: DamagedFile.

    Args:
        files, path: where the file is.
        newest: the highest known version.
        limits: upper bounds.
        of_files: whether the log lists files of a source or sink, which has limits of its own.
    """
    data = files.read(path, limits.log_bytes)
    kind, most = LOG_BYTES, limits.all_log_bytes
    if of_files:
        kind, most = "bytes of logs of files", limits.source_bytes
    files.spend(kind, path, len(data), most)
    if not data:
        raise DamagedFile(path, "It is empty: was the writer stopped, or the copy cut short?")
    try:
        first, *lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DamagedFile(path, "It is not valid UTF-8.", line) from error
    if (match := _VERSION.fullmatch(first)) is None:
        raise DamagedFile(path, "A version (v1, v2 …) is expected.", 1)
    if not 1 <= (version := int(match[1])) <= newest:
        refused = FileNotRead if version > newest else DamagedFile
        raise refused(path, f"It has version {version}; versions 1 to {newest} are known.", 1)
    return Log(path, version, tuple(lines))


def numbered(names: set[str]) -> list[int]:
    """Return the names that are plain numbers (batches, partitions, operators), ascending."""
    return sorted(int(name) for name in names if _NUMBER.fullmatch(name))

"""Input files of file sources that were uploaded beside the checkpoint."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.readers.engines.spark_streaming.files import Files, open_regular
from snapshots.readers.engines.spark_streaming.logs.sources import SeenFile

LINE_SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt")
MOST_ALIKE = 100  # files of one name
_BLOCK = 2**20


def match_inputs(files: Files, seen: Iterable[SeenFile]) -> dict[str, str]:
    """Urls of the source logs to the uploaded file that each means.

    A file is taken if its name is the same and it shares more of the path, from the end, than any
    other; where two share as much, or more than MOST_ALIKE have the name, none is.
    """
    by_name: dict[str, list[str]] = {}
    for path in files.entries:
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    matched = {}
    for file in seen:
        alike = by_name.get(file.name, [])
        if len(alike) > MOST_ALIKE:
            continue
        ranked = sorted(((_shared(path, file.path), path) for path in alike), reverse=True)
        if ranked and (len(ranked) == 1 or ranked[0][0] > ranked[1][0]):
            matched[file.url] = ranked[0][1]
    return matched


def _shared(path: str, other: str) -> int:
    """How many parts of two paths are the same, from the end."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    count = 0
    for one, two in pairs:
        if one != two:
            break
        count += 1
    return count


def count_rows(files: Files, path: str, most: int) -> int | None:
    """Rows of a file with one row per line, or of a Parquet file; None for any other.

    most: bytes; None also for a longer file.
    """
    if files.entries[path].size > most:
        return None
    try:
        if path.endswith(LINE_SUFFIXES):
            return _count_lines(files, path)
        if path.endswith(".parquet"):
            with open_regular(files.root / path) as file:
                return pq.ParquetFile(file).metadata.num_rows
    except (OSError, ValueError, pa.ArrowException):
        pass
    return None


def _count_lines(files: Files, path: str) -> int:
    """Lines with anything in them."""
    count, blank = 0, True
    with open_regular(files.root / path) as file:
        while block := file.read(_BLOCK):
            first, *others = block.split(b"\n")
            blank = blank and not first.strip()
            for line in others:
                count += not blank
                blank = not line.strip()
    return count + (not blank)

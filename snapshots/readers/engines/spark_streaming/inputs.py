"""Find the input files of file sources that were uploaded beside the checkpoint."""

from collections.abc import Iterable
from itertools import takewhile

import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.readers.engines.spark_streaming.files import Files, open_regular
from snapshots.readers.engines.spark_streaming.logs.sources import SeenFile

LINE_SUFFIXES = (".json", ".jsonl", ".ndjson", ".txt")
MOST_ALIKE = 100  # files with the same name
_BLOCK = 2**20


def match_inputs(files: Files, seen: Iterable[SeenFile]) -> dict[str, str]:
    """Return the uploaded file of each url in source logs, as far as one is certain.

    A file matches if it has the same name and has more of the end of its path in common with the
    url than any other file. A url whose name more than MOST_ALIKE files have matches none.
    """
    by_name: dict[str, list[str]] = {}
    for path in files.entries:
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    matched = {}
    for file in seen:
        namesakes = by_name.get(file.name, [])
        if len(namesakes) > MOST_ALIKE:
            continue
        ranked = sorted(((_common(path, file.path), path) for path in namesakes), reverse=True)
        if ranked and (len(ranked) == 1 or ranked[0][0] > ranked[1][0]):
            matched[file.url] = ranked[0][1]
    return matched


def _common(path: str, other: str) -> int:
    """Return how many parts at the ends of two paths are the same."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def count_rows(files: Files, path: str, most: int) -> int | None:
    """Return the number of rows of a Parquet file, or of a file with one row per line.

    None for any other file, and for one of more than ``most`` bytes.
    """
    if files.entries[path].size > most:
        return None
    try:
        if path.endswith(LINE_SUFFIXES):
            return _count_lines(files, path)
        if path.endswith(".parquet"):
            with open_regular(files.root / path) as file:
                rows: int = pq.ParquetFile(file).metadata.num_rows
                return rows
    except (OSError, ValueError, pa.ArrowException):
        pass
    return None


def _count_lines(files: Files, path: str) -> int:
    """Return how many lines are not blank."""
    count, blank = 0, True
    with open_regular(files.root / path) as file:
        while block := file.read(_BLOCK):
            first, *rest = block.split(b"\n")
            blank = blank and not first.strip()
            for line in rest:
                count += not blank
                blank = not line.strip()
    return count + (not blank)

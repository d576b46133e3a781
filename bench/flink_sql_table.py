"""Count what is decoded of the real state of queries, as a table for docs/formats/flink-sql.md.

    python -m bench.flink_sql_table [FOLDER ...]

Each FOLDER holds cases: packages or folders of what Flink wrote. Without one they are those of the
tests.
"""

import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.readers.engines.flink.adapter.reader import FlinkReader

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
FOLDERS = (DATA / "flink-sql", DATA / "flink-sql-queries")
NOT_READ = {"unread", "pickle"}
HEAD = "| case | states | entries | decoded | share |\n| --- | ---: | ---: | ---: | ---: |"


@dataclass(frozen=True)
class Row:
    """One case.

    Attributes:
        states: the states of all operators, in each checkpoint of the case.
        entries: the entries in them.
        decoded: the entries whose key and value are shown as values to their last field.
    """

    case: str
    states: int
    entries: int
    decoded: int

    def __str__(self) -> str:
        share = f"{self.decoded / self.entries:.1%}".replace("%", " %")
        return f"| {self.case} | {self.states:,} | {self.entries:,} | {self.decoded:,} | {share} |"


def rows(folders: tuple[Path, ...] = FOLDERS) -> Iterator[Row]:
    """Count the cases in some folders."""
    for folder in folders:
        for case in sorted(folder.iterdir()):
            if case.is_dir():
                yield _counted(case.name, case)
            elif case.suffix == ".zip":
                with TemporaryDirectory() as unpacked, zipfile.ZipFile(case) as package:
                    package.extractall(unpacked)
                    yield _counted(case.stem, Path(unpacked))


def total(counted: list[Row]) -> Row:
    """Add up cases."""
    return Row(
        f"all {len(counted)} cases",
        sum(row.states for row in counted),
        sum(row.entries for row in counted),
        sum(row.decoded for row in counted),
    )


def _counted(name: str, folder: Path) -> Row:
    upload = FlinkReader().read(folder)
    entries = list(upload.entries())
    operators = [one for held in upload.inventory().checkpoints for one in held.operators]
    states = sum(len(operator.states) for operator in operators)
    return Row(f"`{name}`", states, len(entries), sum(map(is_decoded, entries)))


def is_decoded(entry: StateEntry) -> bool:
    """Tell whether an entry is shown as values to its last field.

    Bytes count where a row has a column of bytes, and nowhere else: what a source or a Python
    worker wrote as bytes has a form that is not decoded.
    """
    parts = (entry.key, entry.value)
    return not any(isinstance(part, NotRead) or _is_bytes(part) or _lacks(part) for part in parts)


def _is_bytes(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_is_bytes, value))
    return isinstance(value, dict) and value.keys() == {"hex"}


def _lacks(value: Any) -> bool:
    """Tell whether a field somewhere in a value is not read."""
    if isinstance(value, dict):
        return bool(NOT_READ & value.keys()) or any(map(_lacks, value.values()))
    return isinstance(value, list) and any(map(_lacks, value))


def main() -> None:
    counted = list(rows(tuple(map(Path, sys.argv[1:])) or FOLDERS))
    print(HEAD, *counted, total(counted), sep="\n")


if __name__ == "__main__":
    main()

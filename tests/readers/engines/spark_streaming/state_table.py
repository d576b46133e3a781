"""Count how much of the state of real Spark checkpoints is decoded from the files alone.

``python -m tests.readers.engines.spark_streaming.state_table FOLDER`` prints the table of
docs/formats/agreement.md; FOLDER holds the shared data. A *state* is one reading of one operator
after one batch, as Spark's own reader gave it when the case was recorded.
"""

import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snapshots.readers.engines.spark_streaming.adapter.reader import SparkUpload
from snapshots.readers.engines.spark_streaming.state.schemas import EVENT_TIME
from tests.readers.engines.spark_streaming.inventory import name_of, told_by_entries

DATA = Path(__file__).resolve().parents[3] / "data" / "spark-state"
HEAD = (
    "| cases | case | states | entries by Spark | decoded from the files and equal | share |",
    "| --- | --- | ---: | ---: | ---: | ---: |",
)
MAIN = "checkpoint"
OPTIONS = {"readRegisteredTimers": "timers", "joinSide=left": "left", "joinSide=right": "right"}


@dataclass(frozen=True)
class Count:
    """How much state of one case is decoded from the files alone.

    Attributes:
        folder: which cases it is one of.
        states: how many states Spark's own reader gave.
        entries: how many entries these have by Spark; by the files, where these give more.
        equal: how many entries are in partitions that both ways give alike.
    """

    folder: str
    case: str
    states: int
    entries: int
    equal: int


def counts(shared_data: Path) -> Iterator[Count]:
    """Count all cases of which it is recorded what Spark itself reads."""
    folders = {"recorded": shared_data / "spark-streaming", "spark-state": DATA}
    for name, folder in folders.items():
        for path in sorted(folder.glob("*.zip")):
            with tempfile.TemporaryDirectory() as scratch:
                with zipfile.ZipFile(path) as package:
                    package.extractall(scratch)
                root = Path(scratch) / path.stem
                if reads := _reads(root):
                    yield Count(name, path.stem, len(reads), *_compared(root, reads))


def _reads(root: Path) -> list[dict]:
    """Return what Spark read of the checkpoint, without what it could not read."""
    path = root / "expected.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    reads = document.get("state", []) if isinstance(document, dict) else []
    return [read for read in reads if "partitions" in read]


def _compared(root: Path, reads: list[dict]) -> tuple[int, int]:
    """Count entries by Spark, and those that the files alone give alike, of complete states."""
    upload = SparkUpload(root)
    upload.reads.clock = lambda: 0.0
    entries = list(upload.entries())
    found = told_by_entries(upload.inventory(), entries)
    total = equal = 0
    for read in reads:
        name = OPTIONS.get(read["read"]) or name_of(read["read"])
        ours = found.get((MAIN, read["batch"], str(read["operator"]), name), {})
        for partition in {*read["partitions"], *ours}:
            theirs = sorted(map(_text, read["partitions"].get(partition, [])))
            total += max(len(theirs), len(ours.get(partition, [])))  # one too many counts, too
            equal += len(theirs) if theirs == sorted(map(_text, ours.get(partition, []))) else 0
    return total, equal


def _text(row: dict) -> str:
    """Return the JSON of a row, without the event time that Spark misreads."""
    key = {name: value for name, value in row["key"].items() if name != EVENT_TIME}
    return json.dumps(row | {"key": key}, sort_keys=True)


def table(shared_data: Path) -> str:
    """Return the table of all cases, in Markdown."""
    lines, found = [*HEAD], list(counts(shared_data))
    for one in found:
        lines.append(_line(f"{one.folder} | `{one.case}`", one.states, one.entries, one.equal))
    states, entries, equal = (
        sum(getattr(one, name) for one in found) for name in ("states", "entries", "equal")
    )
    return "\n".join([*lines, _line(f"all | {len(found)} cases", states, entries, equal)])


def _line(head: str, states: int, entries: int, equal: int) -> str:
    share = f"{equal / entries:.1%}" if entries else "no entries"
    return f"| {head} | {states:,} | {entries:,} | {equal:,} | {share} |"


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))

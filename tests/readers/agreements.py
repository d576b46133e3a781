"""Counts how many expected answers of the real inputs the readers give.

``python -m tests.readers.agreements FOLDER`` prints the table of docs/formats/agreement.md; FOLDER
holds the inputs. The columns of the API need a worker with Spark: they stay as documented, and
``tests/web/api/test_every_case_*.py`` compare them, case by case.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.readers.engines.flink import cases as flink_cases
from tests.readers.engines.flink import keyed as flink_keyed
from tests.readers.engines.seatunnel import cases as seatunnel_cases
from tests.readers.engines.spark_streaming import cases as spark_cases
from tests.readers.logs.shiviz import cases as shiviz_cases

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "formats" / "agreement.md"
HEAD = (
    "| format | case | by the reader: compared | agree | by the API: compared | agree | remark |",
    "| --- | --- | ---: | ---: | ---: | ---: | --- |",
)
MISTAKES = "the others are mistakes of the expected answers"

Row = tuple[str, str, int, int, str]  # format, case, compared, agreed, remark
_NUMBER = r" ([0-9,]*) \|"
_ROW = re.compile(rf"\| (\w+) \| `([^`]+)` \|{_NUMBER * 4} (.*) \|")


@dataclass(frozen=True)
class Documented:
    """Of one case: how many facts were compared, and how many agree."""

    by_reader: tuple[int, int]
    by_api: tuple[int, int]


@cache
def documented() -> dict[str, Documented]:
    """By case."""
    found = {}
    for _, case, *numbers, _ in _ROW.findall(DOCUMENT.read_text()):
        counts = [int(number.replace(",", "") or 0) for number in numbers]
        found[case] = Documented((counts[0], counts[1]), (counts[2], counts[3]))
    return found


def rows(shared_data: Path) -> Iterator[Row]:
    for name in (*flink_cases.CASES, *flink_cases.LEGACY):
        yield _flink(shared_data, name)
    for path in spark_cases.case_paths(shared_data):
        found = spark_cases.agreement(path)
        left = len(found["differences"])
        wrong = [name for case, name in spark_cases.WRONG_ANSWERS if case == path.stem]
        remark = MISTAKES if left == len(wrong) > 0 else ""
        yield "Spark", path.stem, found["compared"], found["agreed"], remark
    for path in seatunnel_cases.cases(shared_data):
        yield "SeaTunnel", path.stem, *seatunnel_cases.agreement(path).values(), ""
    for case in shiviz_cases.cases(shared_data):
        yield "ShiViz", Path(case["file"]).stem, *shiviz_cases.agreement(case).values(), ""


def _flink(shared_data: Path, name: str) -> Row:
    frame = flink_cases.agreement(flink_cases.load(shared_data, name))
    compared, agreed, remark = frame["compared"], frame["agreed"], ""
    if name in flink_cases.CASES:
        values = flink_keyed.agreement(shared_data, name)
        compared, agreed = compared + values.expected, agreed + values.equal
        if values.opaque and not values.wrong:
            remark = f"{values.opaque} values stay bytes: Kryo, or a class that is not described"
    return "Flink", name, compared, agreed, remark


def table(shared_data: Path) -> str:
    """Markdown."""
    lines = [*HEAD]
    for kind, case, compared, agreed, remark in rows(shared_data):
        by_api = documented()[case].by_api if case in documented() else (0, 0)
        counts = " | ".join(f"{count:,}" for count in (compared, agreed, *by_api))
        lines.append(f"| {kind} | `{case}` | {counts} | {remark} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))

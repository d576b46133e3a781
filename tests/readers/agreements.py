"""How much of the real inputs is read as their expected answers say: the table of docs/formats.md.

``python -m tests.readers.agreements FOLDER`` prints it; FOLDER holds the inputs. State that Spark's
data source alone can read is not counted here: tests/spark compares it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.readers.flink import cases as flink_cases
from tests.readers.flink import keyed as flink_keyed
from tests.readers.seatunnel import cases as seatunnel_cases
from tests.readers.shiviz import cases as shiviz_cases
from tests.readers.spark_streaming import cases as spark_cases

Row = tuple[str, str, int, int, str]  # format, case, compared, agreed, remark


def rows(shared_data: Path) -> Iterator[Row]:
    for name in (*flink_cases.CASES, *flink_cases.LEGACY):
        yield _flink(shared_data, name)
    for path in spark_cases.case_paths(shared_data):
        found = spark_cases.agreement(path)
        left = len(found["differences"])
        wrong = [name for case, name in spark_cases.WRONG_ANSWERS if case == path.stem]
        remark = "the others are mistakes of the expected answers" if left == len(wrong) > 0 else ""
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
    lines = ["| format | case | compared | agree | remark |", "| --- | --- | ---: | ---: | --- |"]
    for kind, case, compared, agreed, remark in rows(shared_data):
        lines.append(f"| {kind} | `{case}` | {compared:,} | {agreed:,} | {remark} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))

"""Send generated recordings through the product, and ask the judge about the same file."""

from pathlib import Path
from random import Random
from typing import NamedTuple

from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from tests.independent import judge as independent
from tests.independent.comparing import differences
from tests.independent.log import Log, Refused, read
from tests.independent.parquet import write
from tests.independent.recordings import recording, text_of
from tests.spark.agreement import assembled, ingested, judge_snapshots, silent


class Trial(NamedTuple):
    """What came of one recording.

    Attributes:
        differing: a sentence for each thing on which product and judge differ.
        judged: what the judge says of each snapshot; None if it refuses the recording.
    """

    differing: list[str]
    judged: dict[str, independent.Judgement] | None


def tried(seed: int, folder: Path, spark=None, *, as_parquet: bool = False) -> Trial:
    """Try the recording of a seed in an empty folder: with the reference, or with Spark."""
    lines = recording(seed)
    text = text_of(lines)
    source = folder / "log.jsonl"
    source.write_text(text)
    try:
        log = read(text)
        judged = independent.judge(log)
    except Refused as refused:
        return Trial(_not_refused(source, refused.args[0]), None)
    try:
        recorded = assembled(source).recording
        if as_parquet:
            source = write(lines, folder / "parts", Random(seed))
        reports = judge(recorded) if spark is None else _with_spark(source, folder, spark)
    except InputRefused as refused:
        return Trial([f"The product refuses it: {refused}"], judged)
    return Trial([*differences(recorded, reports, judged), *_not_closed(log, judged)], judged)


def _with_spark(source: Path, folder: Path, spark) -> tuple[SnapshotReport, ...]:
    ingested(source, folder / "store", spark)
    return judge_snapshots(folder / "store", silent, spark)


def _not_refused(source: Path, code: str) -> list[str]:
    try:
        assembled(source)
    except InputRefused as refused:
        codes = {defect.code for defect in refused.defects}
        return [] if code in codes else [f"It is refused for {codes}, not for {code}."]
    return [f"The product does not refuse it for {code}."]


def _not_closed(log: Log, judged: dict[str, independent.Judgement]) -> list[str]:
    """Hold the judge's own orphans against happened-before, where all processes recorded."""
    return [
        f"{snapshot}: the orphans of the judge do not agree with happened-before"
        for snapshot, ours in judged.items()
        if ours.positions.keys() == log.processes.keys()
        and independent.is_closed(log, ours.positions)
        is any(witness.verdict == "orphan" for witness in ours.witnesses)
    ]

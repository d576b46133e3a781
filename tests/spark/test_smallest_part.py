"""The file of the smallest part has its verdict also when Spark ingests and judges it."""

from pathlib import Path

import pytest

from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.shrinking.shrink import Shrunk, shrink
from snapshots.domain.shrinking.witness import Witness
from snapshots.domain.simulators.script import Log
from snapshots.store.reader import StoredRecording
from snapshots.store.whole import StoredWhole
from tasks.spark.judge.job import judge_snapshots
from tests.builders import simulated
from tests.damage import marker_sent_late, wrong_state
from tests.spark.agreement import ingested, silent, written


def judged(log: Log, folder: Path, spark) -> StoredRecording:
    folder.mkdir()
    ingested(written(log, folder / "log.jsonl"), folder / "store", spark)
    judge_snapshots(folder / "store", silent, spark)
    return StoredRecording.open(folder / "store")


def smallest(stored: StoredRecording) -> Shrunk:
    [summary] = stored.snapshots()
    whole = StoredWhole(stored.tables, "s1", stored.manifest.name, summary["initiators"])
    return shrink(whole, Witness(summary["verdicts"][0]))


@pytest.mark.parametrize("damage", [marker_sent_late, wrong_state])
def test_the_part_has_the_same_verdict_after_a_round_trip(spark, tmp_path, damage):
    stored = judged(damage(simulated()).log, tmp_path / "whole", spark)
    part = smallest(stored).part
    again = judged(Log(part.header, part.events), tmp_path / "part", spark)
    [whole], [small] = stored.snapshots(), again.snapshots()
    assert small["verdict"] == whole["verdict"] != CONSISTENT
    assert small["verdicts"][0]["sentence"] == whole["verdicts"][0]["sentence"]
    assert again.defects()["total"] == 0
    assert again.manifest.counts["events"] == len(part.events) < 10

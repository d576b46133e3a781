"""Spark and the reference agree on the logs of every snapshot algorithm, and of runs that break its
assumptions."""

import pytest

from snapshots.domain.model import shapes
from snapshots.domain.simulators.protocols import lai_yang
from tests.builders import simulated
from tests.spark.agreement import agree, written

FOUR = shapes.complete(4)
UNORDERED = shapes.without_order(FOUR)
EVERYWHERE = frozenset(channel.id for channel in FOUR.channels)
RUNS = {
    "lai-yang": {"topology": UNORDERED, "protocol": lai_yang, "mean_delay": 30_000},
    "chandy-lamport where channels reorder": {"topology": UNORDERED},
    "channels that only claim to be FIFO": {"topology": FOUR, "reorder": EVERYWHERE},
    "flooding": {"topology": FOUR, "collect": True},
    "a stuck marker": {"topology": FOUR, "stuck": frozenset({"p1->p2", "p3->p2"})},
    "a silent process": {"topology": FOUR, "silent": frozenset({"p2"}), "drain": False},
}


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_spark_and_the_reference_agree(spark, tmp_path, options):
    snapshots = ((3_000, ("p1",)), (4_000, ("p2", "p1")), (4_500, ("p4",)))
    log = simulated(seed=5, snapshots=snapshots, **options)
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)

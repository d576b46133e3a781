"""Spark and the reference agree when the store is on an object store."""

import pytest

from snapshots.domain.simulators.samples import SAMPLES
from snapshots.store.objects.paths import path_of
from tests import damage
from tests.builders import simulated
from tests.spark.agreement import agree, written

DAMAGES = (damage.lose_recorded_message, damage.marker_sent_late, damage.overtake)


@pytest.mark.parametrize("spoil", DAMAGES, ids=lambda spoil: spoil.__name__)
def test_spark_and_the_reference_agree_on_damage(spark, bucket, tmp_path, spoil):
    log = spoil(simulated(seed=2)).log
    agree(written(log, tmp_path / "log.jsonl"), path_of(f"{bucket}/store"), spark)


@pytest.mark.parametrize("sample", SAMPLES[:2], ids=lambda sample: sample.slug)
def test_spark_and_the_reference_agree_on_samples(spark, bucket, tmp_path, sample):
    agree(written(sample.log(), tmp_path / "log.jsonl"), path_of(f"{bucket}/store"), spark)

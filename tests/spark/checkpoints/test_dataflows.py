"""Compare Spark with the reference on logs of dataflows."""

import pytest

from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.micro_batches.samples import SPARK_SAMPLES
from snapshots.domain.simulators.protocols.flink_task import MODES
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel.regions import GO_ON, REGION
from snapshots.domain.simulators.seatunnel.samples import SEATUNNEL_SAMPLES
from snapshots.domain.simulators.seatunnel.schema_changes import SchemaChange
from snapshots.domain.simulators.seatunnel.simulation import SeaTunnelSimulation, run_seatunnel
from tests.dataflows import a_run_of, failing, two_pipelines, word_count
from tests.spark.agreement import agree, written

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("mode", MODES)
def test_a_dataflow_with_a_failure_and_a_restore(mode, tmp_path, spark):
    simulation = failing(a_run_of(mode=mode, retained=2, seed=4, buffer=2), 24_000, "count[1]")
    log = run_dataflow(simulation).log
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize(
    "sample", [*SEATUNNEL_SAMPLES, *SPARK_SAMPLES], ids=lambda sample: sample.slug
)
def test_a_dataflow_of_another_engine(sample, tmp_path, spark):
    agree(written(sample.log(), tmp_path / "log.jsonl"), tmp_path, spark)


@pytest.mark.parametrize("unrepeatable", [(), ("source",)], ids=["skips", "takes twice"])
def test_a_regional_failure_of_which_some_tasks_go_on(unrepeatable, tmp_path, spark):
    run = SeaTunnelSimulation(
        word_count(records=60),
        PipelineSettings(interval=6_000),
        failures=(FailAt(16_000, "source[0]"), FailAt(33_000, "count[1]")),
        failover=REGION,
        unrepeatable=unrepeatable,
        on_unrepeatable=GO_ON,
    )
    log = run_seatunnel(run).log
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)


def test_pipelines_that_take_checkpoints_of_their_own(tmp_path, spark):
    run = SeaTunnelSimulation(
        two_pipelines(),
        PipelineSettings(interval=5_000),
        failures=(FailAt(12_500, "sink[0]"),),
        writer_commits=("sink",),
        schema_changes=(SchemaChange("source[0]", 20),),
    )
    log = run_seatunnel(run).log
    agree(written(log, tmp_path / "log.jsonl"), tmp_path, spark)

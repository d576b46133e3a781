"""The simulated dataflows of all engines that the gallery shows, in its order."""

from snapshots.domain.simulators.continuous.samples import CONTINUOUS_SAMPLES
from snapshots.domain.simulators.flink.samples import FLINK_SAMPLES
from snapshots.domain.simulators.micro_batches.samples import SPARK_SAMPLES
from snapshots.domain.simulators.seatunnel.samples import SEATUNNEL_SAMPLES

SAMPLES_OF_DATAFLOWS = (*FLINK_SAMPLES, *SEATUNNEL_SAMPLES, *SPARK_SAMPLES, *CONTINUOUS_SAMPLES)

"""A small job on a real Flink with a bottleneck: its checkpoints are unaligned and hold records.

For `docs/real-flink.md`. It runs in a Python that has `apache-flink`, not in Cutline's own:

    python bench/real_flink_job.py CHECKPOINT_FOLDER REST_PORT [aligned]

Numbers go in turn to two slow subtasks. The buffers before these fill, barriers overtake them, and
what they overtake becomes part of the checkpoint. With ``aligned`` no barrier overtakes, and the
subtasks are so slow that each checkpoint is stuck before them until it expires after a minute. The
job runs until it is stopped.
"""

import sys
import time
from pathlib import Path

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

SETTINGS = {
    "rest.address": "127.0.0.1",
    "execution.checkpointing.interval": "5s",
    "execution.checkpointing.unaligned.enabled": "true",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.checkpointing.num-retained": "3",
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    "python.fn-execution.bundle.size": "20",
    "python.fn-execution.bundle.time": "100",
}
STUCK = {
    "execution.checkpointing.unaligned.enabled": "false",
    "execution.checkpointing.timeout": "60s",
    "execution.checkpointing.tolerable-failed-checkpoints": "1000000",
}
SECONDS_EACH, STUCK_SECONDS_EACH = 0.002, 0.05


def run(folder: Path, port: str, *, is_aligned: bool) -> None:
    """Run the job. This never returns."""
    seconds = STUCK_SECONDS_EACH if is_aligned else SECONDS_EACH

    def slow(number: int) -> int:
        time.sleep(seconds)
        return number

    configuration = Configuration()
    ports = {"rest.port": port, "rest.bind-port": port}
    options = {"execution.checkpointing.dir": folder.resolve().as_uri(), **ports}
    for name, value in (SETTINGS | (STUCK if is_aligned else {}) | options).items():
        configuration.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    numbers = environment.from_source(
        NumberSequenceSource(1, 100_000_000),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        Types.LONG(),
    ).uid("numbers")
    numbers.rebalance().map(slow, Types.LONG()).uid("slow").name("slow").print().name("printed")
    environment.execute("numbers under back pressure")


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], is_aligned=sys.argv[3:] == ["aligned"])

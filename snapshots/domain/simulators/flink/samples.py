"""Small Flink jobs for the gallery.

They show what a checkpoint is, what back pressure does to it, and what a failure repeats.
"""

from dataclasses import replace

from snapshots.domain.dataflow_logs.dataflow import FORWARD, HASH, REBALANCE, Dataflow, Edge, Vertex
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.domain.simulators.flink.event_time import EventTimeSettings
from snapshots.domain.simulators.flink.simulation import DataflowSimulation, run_dataflow
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, AT_LEAST_ONCE, UNALIGNED
from snapshots.domain.simulators.sample import Sample
from snapshots.domain.simulators.script import Log

RATE = 1_000  # records a second of the smallest dataflow: record n comes into being at n ms


def smallest() -> DataflowSimulation:
    """A source and a task.

    Checkpoint 1 begins between records 100 and 101. The task dies while it processes record 120.
    """
    flow = Dataflow(
        (
            Vertex("source", "source", rate=RATE, records=200, cost=100, value=1_000),
            Vertex("task", "operator", function="total", cost=400),
        ),
        (Edge("source", "task", FORWARD),),
    )
    return DataflowSimulation(
        flow,
        CheckpointSettings(interval=100_500, min_pause=40_000),
        mean_delay=20,
        control_delay=100,
        failures=(FailAt(120_350, ProcessId("task[0]")),),
        restart_delay=10_000,
    )


def smallest_dataflow() -> Log:
    """Return the log of the smallest dataflow."""
    return run_dataflow(smallest(), "the smallest dataflow").log


def pressed(mode: str) -> DataflowSimulation:
    """Two sources, two counters, two sinks; one counter is slow, so that its inputs fill up."""
    flow = Dataflow(
        (
            Vertex("source", "source", 2, rate=1_500, records=90, cost=100, keys=6),
            Vertex("count", "operator", 2, function="count", cost=300),
            Vertex("sink", "sink", 2, sink="two-phase", cost=150),
        ),
        (Edge("source", "count", HASH), Edge("count", "sink", REBALANCE)),
    )
    return DataflowSimulation(
        flow,
        CheckpointSettings(mode=mode, interval=25_000, min_pause=10_000),
        seed=5,
        buffer=6,
        slow={"count[1]": 4.0},
    )


def back_pressure() -> Log:
    """Return the log of a run in which barriers wait behind records."""
    return run_dataflow(pressed(ALIGNED), "barriers under back pressure").log


def overtaking_barriers() -> Log:
    """Return the log of the same run with unaligned barriers."""
    return run_dataflow(pressed(UNALIGNED), "barriers that overtake").log


def counted_twice() -> Log:
    """Return the log of a run that counts some records twice after a failure."""
    failure = FailAt(70_000, ProcessId("count[0]"))
    simulation = replace(pressed(AT_LEAST_ONCE), failures=(failure,))
    return run_dataflow(simulation, "counted twice").log


def windowed() -> DataflowSimulation:
    """Windows of 10 ms over two sources whose records are up to 9 ms out of order.

    Watermarks do not wait for them, and a window fails while another is half full.
    """
    flow = Dataflow(
        (
            Vertex("source", "source", 2, rate=RATE, records=60, cost=50, keys=4),
            Vertex("window", "operator", 2, function="window", cost=100),
            Vertex("sink", "sink", 2, cost=60),
        ),
        (Edge("source", "window", HASH), Edge("window", "sink", REBALANCE)),
    )
    return DataflowSimulation(
        flow,
        CheckpointSettings(interval=15_000),
        event_time=EventTimeSettings(500, delay=0, disorder=9_000, window=10_000),
        slow={"window[1]": 9.0},
        failures=(FailAt(48_000, ProcessId("window[0]")),),
    )


def late_records() -> Log:
    """Return the log of a run that drops late records, and takes some of them after a failure."""
    return run_dataflow(windowed(), "late records").log


FLINK_SAMPLES = (
    Sample(
        "smallest-dataflow",
        "The smallest dataflow",
        "A source of visits and a task that keeps the number of users and their total time. The "
        "checkpoint after record 100 holds two things that belong together: the source goes on at "
        "101, the task has seen 100 users. The task dies with record 120 in its hands; both go "
        "back to the checkpoint, read from 101 again, and end as if nothing had happened.",
        smallest_dataflow,
    ),
    Sample(
        "back-pressure",
        "Barriers under back pressure",
        "One of two counters is slow, so its channels are full. A barrier has to wait its turn "
        "behind the records in them; where one input's barrier has come and the other's has not, "
        "the first is blocked. The checkpoint takes as long as the fullest channel.",
        back_pressure,
    ),
    Sample(
        "overtaking-barriers",
        "Barriers that overtake",
        "The same dataflow, unaligned: barriers jump over the records that wait, nothing is "
        "blocked, and the checkpoint takes a few milliseconds. What they jumped over is part of "
        "the checkpoint now, as the state of the channels.",
        overtaking_barriers,
    ),
    Sample(
        "counted-twice",
        "Counted twice",
        "At least once: no channel waits for a barrier. Records behind an early barrier are "
        "counted before the snapshot, and when a counter dies, read and counted again: the check "
        "names each as an orphan.",
        counted_twice,
    ),
    Sample(
        "late-records",
        "Watermarks and late records",
        "Two sources send watermarks, and windows of 10 ms fire when the smallest watermark of "
        "their inputs has passed their end. Records that come later are dropped. Then a window "
        "fails: a checkpoint holds the open windows, but no watermark, so after the restart "
        "windows fire again, and records that had been too late are counted.",
        late_records,
    ),
)

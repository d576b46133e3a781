"""Runs of a dataflow under Flink's checkpoint protocol: the parameters, and the run with them."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.simulators.flink.event_time import EventTimeSettings
from snapshots.domain.simulators.flink.failover import FAILOVERS, FULL, PIPELINE, REGION
from snapshots.domain.simulators.flink.simulation import (
    FAILED,
    SAVED,
    DataflowSimulation,
    StartFrom,
    simulate_dataflow,
)
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    TIMEOUT,
    UNALIGNED,
)
from snapshots.simulating import run_parameters as common
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    LARGEST_TIME,
    MAIN,
    Delay,
    OneOf,
    Option,
    Parameters,
    Shown,
    Span,
    Time,
    Times,
    Whole,
    declared,
    defaults,
)
from snapshots.simulating.simulated_runs import SimulatedRun

RUN, SETTINGS = defaults(DataflowSimulation), defaults(CheckpointSettings)
TIMES = defaults(EventTimeSettings)
MODE = OneOf(
    (
        Option(
            ALIGNED,
            "Aligned, exactly once",
            "A task blocks each input whose barrier has come, until all have: what lies in "
            "channels is never part of a checkpoint.",
        ),
        Option(
            AT_LEAST_ONCE,
            "At least once",
            "No input is blocked; records behind an early barrier are counted now, and again after "
            "a restore.",
        ),
        Option(
            UNALIGNED,
            "Unaligned",
            "Barriers overtake the records that wait, and these become part of the checkpoint as "
            "the state of channels.",
        ),
        Option(
            TIMEOUT,
            "Aligned with timeout",
            "Begins aligned; where that takes longer than the timeout of alignment, it goes on "
            "unaligned.",
        ),
    )
)
FAILOVER = OneOf(
    (
        Option(FULL, "Everything", "All tasks are restarted from the last checkpoint."),
        Option(PIPELINE, "The pipeline", "The tasks that edges connect with the failed one."),
        Option(
            REGION, "The region", "Only those that channels connect with it; all others run on."
        ),
    )
)
CheckpointNumber = Annotated[int, Whole(1, LARGEST_TIME)]
Few = Annotated[int, Whole(1, 1_000)]


def _sorted_once(numbers: list[int]) -> list[int]:
    return sorted(set(numbers))


class FlinkCheckpoints(Parameters):
    """When checkpoints begin, and when they fail."""

    mode: Annotated[str, MODE] = declared(
        "Checkpoints", "How a task treats the records around a barrier.", SETTINGS.mode, MAIN
    )
    interval: common.Interval = SETTINGS.interval
    min_pause: Time = declared(
        "Pause between checkpoints",
        "The shortest time from the completion of a checkpoint to the next trigger.",
        SETTINGS.min_pause,
    )
    max_concurrent: Few = declared(
        "Checkpoints at once",
        "How many checkpoints may be in progress at once.",
        SETTINGS.max_concurrent,
    )
    timeout: common.Timeout = SETTINGS.timeout
    align_timeout: Time = declared(
        "Timeout of alignment",
        "In the mode “aligned with timeout”, a checkpoint that is not aligned within this time "
        "continues as unaligned.",
        SETTINGS.align_timeout,
    )
    tolerable_failures: Annotated[int, Whole(0, 1_000_000)] = declared(
        "Failed checkpoints in a row",
        "How many checkpoints in a row may fail without ending the run.",
        SETTINGS.tolerable_failures,
    )
    retained: Few = declared(
        "Checkpoints kept", "How many completed checkpoints are kept.", SETTINGS.retained
    )
    buffers: bool = declared(
        "Buffer while aligning",
        "Whether a task takes the records of blocked channels into a buffer of its own and "
        "processes them first afterwards, as Flink did before 1.11. Senders then do not wait.",
        SETTINGS.buffers,
    )
    savepoints: Times = declared(
        "Savepoints at",
        "The times at which savepoints are requested.",
        [],
        example=[20_000, 60_000],
        most=common.MOST_CHECKPOINTS,
    )


class FlinkEventTime(Parameters):
    """Event time: the watermarks of sources, and the windows that fire on them."""

    interval: Span | None = declared(
        "A watermark every",
        "Time between two watermarks of a source. If it is empty or null, there are no watermarks, "
        "and the dataflow can have no windows.",
        TIMES.interval,
        Shown("watermark_interval"),
    )
    delay: Time = declared(
        "A watermark waits for",
        "How far a watermark stays behind the latest event time that the source has read. Records "
        "that are later than this may be dropped by windows.",
        TIMES.delay,
        Shown("event_time_delay"),
    )
    disorder: Time = declared(
        "Event times are out of order by",
        "How far the event time of a record may lie before the time at which it comes into being.",
        TIMES.disorder,
        Shown("event_time_disorder"),
    )
    idle_after: Span | None = declared(
        "A source is idle after",
        "Time without a record after which nobody waits for the watermark of a source. If it is "
        "empty or null, a source is never idle.",
        TIMES.idle_after,
        Shown("idle_after"),
    )
    window: Span = declared(
        "Length of a window",
        "The length of the windows of event time that a vertex with the function window makes.",
        TIMES.window,
        Shown("window_length"),
    )
    is_kept: bool = declared(
        "Windows keep their watermark",
        "Whether windows keep their watermark as union list state and take the smallest of them "
        "after a restore. Flink does not do so by itself: an operator must be written for it.",
        TIMES.is_kept,
        Shown("watermark_kept"),
    )


class FlinkDecline(Parameters):
    """A checkpoint in which a subtask does not take part."""

    checkpoint: CheckpointNumber = declared(
        "Checkpoint that a subtask declines",
        "The number of a checkpoint in which a subtask takes no part.",
        shown=Shown("decline_checkpoint"),
    )
    process: common.KnownSubtask = declared(
        "The subtask that declines it",
        "The subtask that takes no part in this checkpoint, such as count[1].",
        shown=Shown("decline_process", suggests="subtasks"),
    )


ENDING = OneOf(
    (
        Option(SAVED, "A savepoint", "The job was cancelled when its savepoint was complete."),
        Option(FAILED, "A failure", "The newest checkpoint that had completed is taken."),
    )
)


class FlinkStart(Parameters):
    """The end of an earlier run of the same job, from whose checkpoint the run begins."""

    at: Time = declared(
        "Begin from an earlier run that ended at",
        "The run continues from a checkpoint of an earlier run that ended at this time. A form may "
        "leave it empty: then the run begins without one.",
        shown=Shown("start_at"),
    )
    ending: Annotated[str, ENDING] = declared(
        "The earlier run ended with",
        "Whether the earlier run was cancelled after a savepoint, or failed.",
        SAVED,
        Shown("start_ending"),
    )
    parallelism: common.EarlierParallelism = {}


class FlinkParameters(common.DataflowParameters):
    """A dataflow under Flink's checkpoint protocol."""

    PROTOCOL: ClassVar[Option] = Option(
        "flink",
        "Flink",
        "A coordinator triggers the sources; barriers run through the channels with the records.",
    )
    FAILOVERS: ClassVar[tuple[str, ...]] = FAILOVERS

    protocol: Annotated[Literal["flink"], common.PROTOCOL_WORDS] = "flink"
    checkpoints: FlinkCheckpoints = declared(
        "Checkpoints",
        "When checkpoints begin, and when they fail.",
        FlinkCheckpoints(),
        example={"mode": ALIGNED, "interval": 50_000},
    )
    failover: Annotated[str, FAILOVER] = declared(
        "After a failure, restart", "Which tasks restart after a failure.", RUN.failover, MAIN
    )
    seed: common.Seed = RUN.seed
    buffer: common.Buffer = RUN.buffer
    lost_notices: Annotated[list[CheckpointNumber], AfterValidator(_sorted_once)] = declared(
        "Lose the completion notice",
        "The numbers of checkpoints whose completion notices are lost.",
        [],
        MAIN,
        example=[2, 3],
        most=common.MOST_CHECKPOINTS,
    )
    slow: common.Slow = {}
    failures: common.Failures = []
    mean_delay: common.MeanDelay = RUN.mean_delay
    control_delay: common.ControlDelay = RUN.control_delay
    sync_time: common.SyncTime = RUN.sync_time
    async_time: Delay = declared(
        "Uploading a state",
        "How long the upload of a copied state takes. The task continues its work meanwhile.",
        RUN.async_time,
    )
    restart_delay: common.RestartDelay = RUN.restart_delay
    tx_timeout: Annotated[Span | None, common.TRANSACTION_TIMEOUT] = RUN.tx_timeout
    event_time: FlinkEventTime = declared(
        "Event time",
        "The watermarks of sources, and the windows that fire on them.",
        FlinkEventTime(),
        example={"interval": 2_000, "window": 20_000},
    )
    declines: list[FlinkDecline] = declared(
        "Declines",
        "Subtasks that decline a checkpoint.",
        [],
        example=[{"checkpoint": 2, "process": "count[0]"}],
        most=common.MOST_CHECKPOINTS,
    )
    start_from: FlinkStart | None = declared(
        "Start",
        "The end of an earlier run, from whose checkpoint the run begins.",
        RUN.start_from,
        example={"at": 20_000, "ending": FAILED, "parallelism": {"lines": 3}},
    )
    incremental: bool = declared(
        "Incremental state",
        "Whether a checkpoint uploads only what changed and shares the files of older checkpoints.",
        RUN.incremental,
    )

    @property
    def label(self) -> str:
        start = "" if self.start_from is None else f", from a {self.start_from.ending}"
        return f"flink, {self.checkpoints.mode}{start}"

    def check(self, dataflow: Dataflow) -> None:
        simulation = self._simulation(dataflow)
        common.check_size(Load(simulation))
        if simulation.start_from is not None:
            common.check_size(Load(simulation.before()))

    def run(self, dataflow: Dataflow, name: str) -> SimulatedRun:
        simulation = self._simulation(dataflow)
        expected = round(Load(simulation).events)
        return SimulatedRun(simulation.header(name), simulate_dataflow(simulation), expected)

    def _simulation(self, dataflow: Dataflow) -> DataflowSimulation:
        savepoints = tuple(self.checkpoints.savepoints)
        return self.filled(
            DataflowSimulation,
            dataflow=dataflow,
            checkpoints=self.checkpoints.filled(CheckpointSettings, savepoints=savepoints),
            start_from=self.start_from and self.start_from.filled(StartFrom),
            event_time=self.event_time.filled(EventTimeSettings),
            failures=common.fail_ats(self.failures),
            lost_notices=frozenset(self.lost_notices),
            declines=frozenset((item.checkpoint, item.process) for item in self.declines),
        )

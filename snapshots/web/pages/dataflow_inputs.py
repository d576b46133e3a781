"""What the form of a simulated dataflow offers, and which parameter of which protocol it is."""

from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.web.pages.simulation_form import Choice

FLINK, SEATUNNEL, SPARK = "flink", "seatunnel", "spark"
PROTOCOLS = [
    Choice(
        FLINK,
        "Flink",
        "A coordinator triggers the sources; barriers run through the channels with the records.",
    ),
    Choice(
        SEATUNNEL,
        "SeaTunnel",
        "Each pipeline has a coordinator. Barriers go from an enumerator to readers, writers and a "
        "committer; a failure restarts the pipeline.",
    ),
    Choice(
        SPARK,
        "Spark micro-batches",
        "No barriers: a batch every so often, noted before and after. What is planned and not "
        "committed was in flight.",
    ),
]


@dataclass(frozen=True)
class Choices:
    """One of several. paths: by protocol, the parameter that it is; other protocols lack it."""

    name: str
    legend: str
    choices: list[Choice]
    paths: Mapping[str, str]

    @property
    def protocols(self) -> str:
        return " ".join(self.paths)

    @property
    def default(self) -> str:
        return self.choices[0].name


MODE = Choices(
    "mode",
    "Checkpoints",
    [
        Choice(
            "aligned",
            "Aligned, exactly once",
            "A task blocks each input whose barrier has come, until all have: what lies in "
            "channels is never part of a checkpoint.",
        ),
        Choice(
            "at-least-once",
            "At least once",
            "No input is blocked; records behind an early barrier are counted now, and again after "
            "a restore.",
        ),
        Choice(
            "unaligned",
            "Unaligned",
            "Barriers overtake the records that wait, and these become part of the checkpoint as "
            "the state of channels.",
        ),
        Choice(
            "aligned with timeout",
            "Aligned with timeout",
            "Begins aligned; where that takes longer than the timeout of alignment, it goes on "
            "unaligned.",
        ),
    ],
    {FLINK: "checkpoints.mode"},
)
FAILOVER = Choices(
    "failover",
    "After a failure, restart",
    [
        Choice("full", "Everything", "All tasks are restarted from the last checkpoint."),
        Choice("pipeline", "The pipeline", "The tasks that edges connect with the failed one."),
        Choice(
            "region", "The region", "Those only that channels connect with it, all others run on."
        ),
    ],
    {FLINK: "failover"},
)
AGAIN = Choices(
    "again",
    "After a failure, run again",
    [
        Choice("query", "The query", "From the last committed batch, with the same offsets."),
        Choice("task", "The task", "Alone, within its batch; all others wait for it."),
    ],
    {SPARK: "failover"},
)


@dataclass(frozen=True)
class Input:
    """A field of the form. paths: as in Choices. kind: how its text becomes a parameter.

    kinds: ``number``; ``numbers``, several; ``factor``, a decimal; ``text``; ``sizes``, as in
    ``map=2, sink=1``. An empty text leaves the parameter out, or gives ``when_empty``.
    """

    name: str
    paths: Mapping[str, str]
    label: str
    hint: str
    default: str = ""
    kind: str = "number"
    choices: str = ""
    when_empty: object = ...

    @property
    def protocols(self) -> str:
        return " ".join(self.paths)

    @property
    def mode(self) -> str:
        """Of an input in HTML."""
        return {"number": "numeric", "factor": "decimal"}.get(self.kind, "text")


def _of(path: str, *protocols: str) -> dict[str, str]:
    return dict.fromkeys(protocols or (FLINK, SEATUNNEL, SPARK), path)


MAIN = [
    Input(
        "interval",
        _of("checkpoints.interval", FLINK, SEATUNNEL),
        "A checkpoint every, µs",
        "empty: only savepoints, and those that end a run",
        "50000",
        when_empty=None,
    ),
    Input(
        "batch_interval",
        _of("batches.interval", SPARK),
        "A batch every, µs",
        "0: as soon as the one before is committed",
        "20000",
    ),
    Input("seed", _of("seed"), "Seed", "the same seed gives the same run", "1"),
    Input(
        "buffer",
        _of("buffer", FLINK, SEATUNNEL),
        "Buffer, records",
        "at each end of a channel; full: back pressure",
        "8",
    ),
    Input(
        "most_per_split",
        _of("batches.most_per_split", SPARK),
        "Records a batch, of each split",
        "at most; empty: all that are there",
    ),
    Input("cores", _of("batches.cores", SPARK), "Tasks at once", "as many as there are cores", "4"),
    Input(
        "lost_notices",
        _of("lost_notices", FLINK),
        "Lose the completion notice",
        "of checkpoint 2, or several: 2, 3",
        kind="numbers",
    ),
    Input("slow_task", {}, "Slow subtask", "as in count[1]", kind="text", choices="subtasks"),
    Input("slow_factor", {}, "How many times slower", "than the others", "4", "factor"),
    Input(
        "failure_process",
        _of("failures[0].process"),
        "A subtask fails",
        "empty: nothing fails",
        kind="text",
        choices="subtasks",
    ),
    Input("failure_at", _of("failures[0].at"), "It fails at, µs", "since the run began", "70000"),
]
"""The slow subtask is the key of a parameter and not its value, so that it has no path."""

ADVANCED = [
    Input(
        "min_pause",
        _of("checkpoints.min_pause", FLINK),
        "Pause between checkpoints, µs",
        "at least",
        "0",
    ),
    Input(
        "max_concurrent",
        _of("checkpoints.max_concurrent", FLINK),
        "Checkpoints at once",
        "at most",
        "1",
    ),
    Input(
        "timeout",
        _of("checkpoints.timeout", FLINK, SEATUNNEL),
        "A checkpoint expires after, µs",
        "under SeaTunnel its pipeline fails then",
        "10000000",
    ),
    Input(
        "align_timeout",
        _of("checkpoints.align_timeout", FLINK),
        "Timeout of alignment, µs",
        "for “aligned with timeout”",
        "5000",
    ),
    Input(
        "tolerable_failures",
        _of("checkpoints.tolerable_failures", FLINK),
        "Failed checkpoints in a row",
        "that the run survives",
        "0",
    ),
    Input(
        "retained",
        _of("checkpoints.retained", FLINK),
        "Checkpoints kept",
        "the newest",
        default="1",
    ),
    Input(
        "savepoints",
        _of("checkpoints.savepoints", FLINK),
        "Savepoints at, µs",
        "several with commas",
        kind="numbers",
    ),
    Input(
        "retry_wait",
        _of("checkpoints.retry_wait", SEATUNNEL),
        "Asked for again after, µs",
        "where another checkpoint is under way",
        "5000",
    ),
    Input(
        "retries",
        _of("checkpoints.retries", SEATUNNEL),
        "A pipeline is restored",
        "so many times at most",
        "3",
    ),
    Input(
        "task_attempts",
        _of("batches.task_attempts", SPARK),
        "Attempts of a task",
        "with the last the query fails",
        "4",
    ),
    Input(
        "watermark_delay",
        _of("batches.watermark_delay", SPARK),
        "The watermark lags by, µs",
        "behind the latest event time",
        "0",
    ),
    Input(
        "mean_delay",
        _of("mean_delay", FLINK, SEATUNNEL),
        "Delay of a channel, µs",
        "on average",
        "300",
    ),
    Input(
        "control_delay",
        _of("control_delay"),
        "Delay of the coordinator’s word, µs",
        "to a task, and back",
        "200",
    ),
    Input(
        "sync_time",
        _of("sync_time", FLINK, SEATUNNEL),
        "Copying a state, µs",
        "the task stands still",
        "200",
    ),
    Input(
        "async_time",
        _of("async_time", FLINK),
        "Uploading a state, µs",
        "beside the task’s work",
        "2000",
    ),
    Input(
        "store_time",
        _of("store_time", SEATUNNEL),
        "Writing a checkpoint, µs",
        "by the coordinator, when all have answered",
        "1000",
    ),
    Input(
        "commit_time", _of("commit_time", SPARK), "Writing a commit, µs", "by the driver", "1000"
    ),
    Input(
        "assign_every",
        _of("assign_every", SEATUNNEL),
        "A split is handed out every, µs",
        "by an enumerator",
        "2000",
    ),
    Input(
        "retry_delay",
        _of("retry_delay", SPARK),
        "From failure to the next attempt, µs",
        "of a task that runs again alone",
        "1000",
    ),
    Input(
        "restart_delay", _of("restart_delay"), "From failure to restart, µs", "of several", "10000"
    ),
    Input(
        "tx_timeout",
        _of("tx_timeout", FLINK, SEATUNNEL),
        "A transaction is gone after, µs",
        "where it was not committed; empty: never",
    ),
    Input(
        "savepoint",
        _of("savepoint", SEATUNNEL),
        "End with a savepoint at, µs",
        "empty: the sources are read to their ends",
    ),
    Input(
        "start_at",
        _of("start_from.at", SEATUNNEL),
        "Begin from a savepoint taken at, µs",
        "of a run before this one; empty: from the start",
    ),
    Input(
        "start_parallelism",
        _of("start_from.parallelism", SEATUNNEL),
        "With this parallelism before",
        "as in lines=3, count=2; the others as now",
        kind="sizes",
    ),
    Input(
        "decline_checkpoint",
        _of("declines[0].checkpoint", FLINK),
        "Checkpoint that a subtask declines",
        "its number",
    ),
    Input(
        "decline_process",
        _of("declines[0].process", FLINK),
        "The subtask that declines it",
        "",
        kind="text",
        choices="subtasks",
    ),
]

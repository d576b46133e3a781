"""Parameters that several protocols of dataflows have, and the check of a run's size."""

import math
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from snapshots.domain.dataflow_logs.dataflow import MOST_SUBTASKS, Dataflow
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.simulating import topology_documents
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    API_ONLY,
    LARGEST_SEED,
    LARGEST_TIME,
    MAIN,
    Delay,
    Factor,
    Option,
    Parameters,
    Shown,
    Span,
    Time,
    Whole,
    context_of,
    declared,
    not_there,
    refused,
)
from snapshots.simulating.simulated_runs import SimulatedRun

MOST_EVENTS = 1_000_000
MOST_CHECKPOINTS = 10_000
MOST_FAILURES = 20
LARGEST_BUFFER = 1_000_000


def _checked_name(name: Any) -> str:
    return topology_documents.checked_name(name) if name else ""


def _known_subtask(name: str, info: ValidationInfo) -> str:
    if name not in context_of(info).subtask_by_id:
        raise not_there(f"There is no subtask {name[:100]!r}.")
    return name


Name = Annotated[
    str,
    BeforeValidator(_checked_name),
    declared(
        "Name",
        "The name of the recording. If it is empty, the topology's name is taken.",
        shown=API_ONLY,
    ),
]
PROTOCOL_WORDS = declared(
    "Protocol",
    "The protocol under which a dataflow runs; `flink` if none is given.",
    shown=API_ONLY,
)
Seed = Annotated[
    int,
    Whole(0, LARGEST_SEED),
    declared("Seed", "The same seed gives the same run.", shown=MAIN),
]
Interval = Annotated[
    Span | None,
    declared(
        "A checkpoint every",
        "Time between two periodic checkpoints. If it is empty or null, a run has only savepoints "
        "and the checkpoints that end the run.",
        shown=MAIN,
    ),
]
Timeout = Annotated[
    Span,
    declared(
        "A checkpoint expires after",
        "A checkpoint that takes longer than this fails. In SeaTunnel its pipeline fails too.",
    ),
]
Buffer = Annotated[
    int,
    Whole(1, LARGEST_BUFFER, "records"),
    declared(
        "Buffer",
        "How many records each end of a channel holds. A full buffer stops the sender.",
        shown=MAIN,
    ),
]
MeanDelay = Annotated[
    Delay,
    declared("Delay of a channel", "How long a record travels through a channel, on average."),
]
ControlDelay = Annotated[
    Delay,
    declared(
        "Delay of control messages",
        "How long a message between the coordinator and a task travels.",
    ),
]
SyncTime = Annotated[
    Delay, declared("Copying a state", "How long a task pauses to copy its state.")
]
RestartDelay = Annotated[
    Delay,
    declared("From failure to restart", "Time from a failure until the affected tasks run again."),
]
TRANSACTION_TIMEOUT = declared(
    "A transaction is gone after",
    "The sink drops a transaction that is not committed within this time. If no time is given, "
    "the sink drops none.",
)
Slow = Annotated[
    dict[str, Factor],
    declared(
        "Slow subtasks",
        "Subtasks that are slow, and how many times longer than usual each takes for a record.",
        example={"count[1]": 4},
    ),
]
EarlierParallelism = Annotated[
    dict[str, Annotated[int, Whole(1, MOST_SUBTASKS)]],
    declared(
        "With this parallelism before",
        "The parallelism that vertices had in the earlier run, such as lines=3. The parallelism of "
        "all other vertices was the same as in this run.",
        shown=Shown("start_parallelism"),
        example={"lines": 3, "count": 2},
    ),
]
KnownSubtask = Annotated[str, AfterValidator(_known_subtask)]


class SlowSubtask(Parameters):
    """One entry of ``Slow``, as forms have it."""

    task: str = declared(
        "Slow subtask",
        "The name of a subtask, such as count[1].",
        "",
        Shown("slow_task", main=True, suggests="subtasks"),
    )
    factor: Factor = declared(
        "How many times slower",
        "How many times longer than usual the subtask takes for a record.",
        shown=Shown("slow_factor", main=True),
        example=4,
    )


class InjectedFailure(Parameters):
    """A process that dies once."""

    process: str = declared(
        "A subtask fails",
        "The process that dies, such as count[0]. A form may leave it empty: then nothing fails.",
        shown=Shown("failure_process", main=True, suggests="subtasks"),
    )
    at: Time = declared(
        "It fails at",
        "The time of the failure, from the start of the run.",
        shown=Shown("failure_at", main=True),
        example=70_000,
    )


Failures = Annotated[
    list[InjectedFailure],
    declared(
        "Failures",
        "Processes that die, and when.",
        example=[{"at": 70_000, "process": "count[0]"}],
        most=MOST_FAILURES,
    ),
]


def fail_ats(failures: list[InjectedFailure]) -> tuple[FailAt, ...]:
    """Return the failures as simulators take them."""
    return tuple(failure.filled(FailAt) for failure in failures)


class DataflowParameters(Parameters):
    """The parameters of one protocol of dataflows, and the run with them.

    ``PROTOCOL`` is its name and what it does. ``FAILOVERS`` are the failover strategies with which
    a run can be compared, in that order.
    """

    PROTOCOL: ClassVar[Option]
    FAILOVERS: ClassVar[tuple[str, ...]] = ()
    name: Name = ""

    @property
    def label(self) -> str:
        """The words that distinguish this run from others on the same dataflow."""
        return self.PROTOCOL.name

    def check(self, dataflow: Dataflow) -> None:
        """Check that the run makes sense and is not too large. Raises: Refused, DataflowRefused."""
        raise NotImplementedError

    def run(self, dataflow: Dataflow, name: str) -> SimulatedRun:
        raise NotImplementedError


def check_size(load: Load, noun: str = "checkpoints") -> None:
    """Refuse a run that would take too long or be too large to be stored.

    Args:
        load: the size of the run.
        noun: the plural of what may be too many, such as checkpoints. The parameter of the
            interval is in an object of this name.
    """
    if load.events > MOST_EVENTS:
        raise refused(
            f"Its records alone make about {_about(load.events)} events; at most {MOST_EVENTS:,} "
            "are simulated here. Give its sources fewer records.",
            f"dataflow.vertices[{load.largest_source}].records",
        )
    if load.duration > LARGEST_TIME:
        raise refused(
            "The run would take more than thirty years. Are records too rare, or too costly?",
            f"dataflow.vertices[{load.slowest}].{load.reason}",
        )
    if load.events + load.watermark_events > MOST_EVENTS:
        raise refused(
            f"Its watermarks could make about {_about(load.watermark_events)} events: too many. "
            "Give them a longer interval.",
            "event_time.interval",
        )
    if load.requests > MOST_CHECKPOINTS or load.events + load.checkpoint_events > MOST_EVENTS:
        raise refused(
            f"About {_about(load.requests)} {noun} would be requested, and those begun make "
            f"about {_about(load.checkpoint_events)} events: too many. Give them a longer "
            "interval.",
            f"{noun}.interval",
        )


def _about(number: float) -> str:
    """Write a number with its first two digits."""
    digits = 0 if number < 100 else 1 - math.floor(math.log10(number))
    return f"{round(number, digits if number >= 100 else 2):,.10g}"

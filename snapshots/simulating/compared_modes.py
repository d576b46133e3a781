"""Run a simulated dataflow of Flink under each way to take checkpoints, and compare what it costs.

Everything else stays the same: dataflow, seed, load and failures. Only small runs are taken, since
a request waits for them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.costs import Cost, Series, cost_of, series_of
from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused
from snapshots.domain.simulators.protocols.flink_task import ALIGNED, AT_LEAST_ONCE, UNALIGNED
from snapshots.problems import Conflict
from snapshots.simulating.flink_runs import FlinkParameters

MODES = (ALIGNED, AT_LEAST_ONCE, UNALIGNED)
MOST_EVENTS = 5_000  # of one of the runs
SPANS = 50


@dataclass(frozen=True, slots=True)
class Row:
    """One number of all runs.

    Attributes:
        title: what it is.
        unit: ``us``, ``B``, ``records``, ``records a second`` or empty.
        values: that of each run; None is not known.
        best: the runs that have the best value; empty if all have the same.
        sentence: what the number is exactly.
    """

    title: str
    unit: str
    values: tuple[float | None, ...]
    best: tuple[bool, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class ComparedModes:
    """The same dataflow under each of MODES.

    Attributes:
        costs: of each run.
        series: of each run over time, in spans of the same length.
        rows: the totals.
        sentences: the answer in words.
    """

    costs: tuple[Cost, ...]
    series: tuple[Series, ...]
    rows: tuple[Row, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModeRuns:
    """The checked parameters of the runs, in the order of MODES, and their dataflow."""

    parameters: tuple[FlinkParameters, ...]
    dataflow: Dataflow

    @property
    def seed(self) -> int:
        """The seed of all runs."""
        return self.parameters[0].seed

    def compared(self) -> ComparedModes:
        """Run all, and compare. Raises: Conflict if a run becomes too large."""
        costs = tuple(self._cost(parameters) for parameters in self.parameters)
        end = max((cost.ended_at or 0 for cost in costs), default=0)
        width = max(1, -(-(end + 1) // SPANS))
        return ComparedModes(
            costs,
            tuple(series_of(cost, width, SPANS) for cost in costs),
            tuple(_row(costs, measure) for measure in _MEASURES),
            tuple(_sentences(costs)),
        )

    def _cost(self, parameters: FlinkParameters) -> Cost:
        header, events, _ = parameters.run(self.dataflow, parameters.checkpoints.mode)
        taken = tuple(islice(events, 2 * MOST_EVENTS + 1))
        if len(taken) > 2 * MOST_EVENTS:
            raise _too_large(len(taken))
        return cost_of(assemble(header, taken).recording)


def mode_runs(stored: Mapping[str, Any] | None, seed: int | None = None) -> ModeRuns:
    """Return how a recording's dataflow runs in each mode, from its parameters.

    Args:
        stored: the parameters of the recording; None takes the demonstration.
        seed: in place of that of the recording.

    Raises: Conflict if it is no simulated run of Flink, is too large, or cannot run in each mode.
    """
    stored = DEMONSTRATION if stored is None else stored
    if stored.get("protocol") != FlinkParameters.PROTOCOL.name or "topology" not in stored:
        raise Conflict(
            "Only a dataflow that was simulated under Flink's protocol can be run again in each "
            "mode. Logs of others hold one run, and the other engines have one way."
        )
    dataflow = Dataflow.from_json(stored["topology"]["dataflow"])
    own = FlinkParameters.read(stored, dataflow)
    expected = own.run(dataflow, "").expected
    if expected > MOST_EVENTS:
        raise _too_large(expected)
    given = own.stored() | ({} if seed is None else {"seed": seed})
    checkpoints = {**given["checkpoints"], "max_concurrent": 1, "buffers": False}
    try:
        runs = tuple(
            FlinkParameters.checked(
                {**given, "checkpoints": {**checkpoints, "mode": mode}}, dataflow
            )
            for mode in MODES
        )
        for run in runs:
            run.check(dataflow)
    except DataflowRefused as refused:
        raise Conflict(f"It cannot run in each mode: {refused.sentence}") from None
    return ModeRuns(runs, dataflow)


def _too_large(events: int) -> Conflict:
    return Conflict(
        f"The run has about {events:,} events or more. Here at most {MOST_EVENTS:,} are run again "
        "in each mode; simulate a smaller one."
    )


def _row(costs: tuple[Cost, ...], measure: "_Measure") -> Row:
    values = tuple(map(measure.value, costs))
    known = [value for value in values if value is not None]
    best = None
    if measure.better is not None and known and len(set(values)) > 1:
        best = measure.better(known)
    return Row(
        measure.title,
        measure.unit,
        values,
        tuple(best is not None and value == best for value in values),
        measure.sentence,
    )


def _sentences(costs: tuple[Cost, ...]) -> list[str]:
    aligned, once, unaligned = costs
    found = []
    if aligned.blocked_time:
        found.append(
            f"Aligned checkpoints blocked channels for {aligned.blocked_time / 1000:,.1f} ms in "
            "all, and stored no record in flight."
        )
    if stored := sum(item.in_flight for item in unaligned.stored):
        found.append(
            f"Unaligned ones blocked nothing and stored {stored:,} records in flight."
            if not unaligned.blocked_time
            else f"Unaligned ones stored {stored:,} records in flight."
        )
    if not any(cost.failed_at for cost in costs):
        found.append(
            "No task fails in this run, so it does not show what at-least-once costs: records that "
            "are counted twice after a restart."
        )
    elif once.counted_twice:
        found.append(
            f"At least once blocked nothing and stored nothing, and after the failure "
            f"{once.counted_twice:,} records were counted twice."
        )
    else:
        found.append("At least once counted no record twice this time; with another seed it may.")
    return found


@dataclass(frozen=True, slots=True)
class _Measure:
    """A number of a run; ``better`` chooses the best of several, None if none is better."""

    title: str
    unit: str
    value: Callable[[Cost], float | None]
    better: Callable[[list[float]], float] | None
    sentence: str


def _duration(cost: Cost) -> float | None:
    known = [item.duration for item in cost.stored if item.duration is not None]
    return sum(known) / len(known) if known else None


def _bytes(cost: Cost) -> float | None:
    known = [item.bytes for item in cost.stored if item.bytes is not None]
    return sum(known) if len(known) == len(cost.stored) else None


_MEASURES = (
    _Measure(
        "The last record is at a sink",
        "us",
        lambda cost: cost.ended_at,
        min,
        "Counted from the start of the run.",
    ),
    _Measure(
        "Throughput",
        "records a second",
        lambda cost: cost.per_second,
        max,
        "Records that reached the sinks, up to the last one. Those that came twice are among them.",
    ),
    _Measure(
        "Latency of half of the records",
        "us",
        lambda cost: cost.middle_latency,
        min,
        "From the read at the source to the write at the sink.",
    ),
    _Measure(
        "Latency of 95 of 100 records",
        "us",
        lambda cost: cost.high_latency,
        min,
        "From the read at the source to the write at the sink.",
    ),
    _Measure(
        "Channels blocked",
        "us",
        lambda cost: cost.blocked_time,
        min,
        "Added up over all channels.",
    ),
    _Measure(
        "Checkpoints completed",
        "checkpoints",
        lambda cost: len(cost.stored),
        None,
        "More of them is not better by itself.",
    ),
    _Measure(
        "A checkpoint takes",
        "us",
        _duration,
        min,
        "From the trigger to the completion, on average.",
    ),
    _Measure(
        "State uploaded",
        "B",
        _bytes,
        min,
        "By completed checkpoints. Records in flight are not among these bytes.",
    ),
    _Measure(
        "Records in flight stored",
        "records",
        lambda cost: sum(item.in_flight for item in cost.stored),
        min,
        "By completed checkpoints, as the state of channels. The log has no bytes of them.",
    ),
    _Measure(
        "Counted twice",
        "records",
        lambda cost: cost.counted_twice,
        min,
        "Their effect was in the state that was restored, and they were read again.",
    ),
    _Measure(
        "Visible twice at the sinks",
        "records",
        lambda cost: cost.duplicates,
        min,
        "Read again after a failure, and there beside the first.",
    ),
)
DEMONSTRATION: Mapping[str, Any] = {
    "protocol": "flink",
    "seed": 5,
    "buffer": 6,
    "slow": {"count[1]": 4.0},
    "checkpoints": {"mode": ALIGNED, "interval": 25_000, "min_pause": 10_000},
    "failures": [{"process": "count[0]", "at": 70_000}],
    "topology": {
        "dataflow": {
            "vertices": [
                {"id": "source", "kind": "source", "parallelism": 2, "rate": 1_500}
                | {"records": 90, "cost": 100, "keys": 6},
                {"id": "count", "kind": "operator", "parallelism": 2, "function": "count"}
                | {"cost": 300},
                {"id": "sink", "kind": "sink", "parallelism": 2, "sink": "two-phase", "cost": 150},
            ],
            "edges": [
                {"source": "source", "target": "count", "exchange": "hash"},
                {"source": "count", "target": "sink", "exchange": "rebalance"},
            ],
        }
    },
}
"""The parameters of the runs of ``/learn/modes``: one of two counters is slow, the other fails."""

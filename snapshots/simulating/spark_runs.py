"""Runs of a dataflow in Spark's micro-batches: parameters, checked, and the run."""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.micro_batches.failover import QUERY, SPARK_FAILOVERS
from snapshots.domain.simulators.micro_batches.simulation import SparkSimulation, simulate_spark
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.spark_epochs import BatchSettings
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    LARGEST_DELAY,
    LARGEST_SEED,
    LARGEST_TIME,
    check_names,
    mapping,
    one_of,
    whole,
)
from snapshots.simulating.run_parameters import check_size, defaults, fail_ats, failures_in, slow_in
from snapshots.simulating.simulated_runs import SimulatedRun

_DELAYS = ("control_delay", "commit_time", "retry_delay", "restart_delay")
_MEMBERS = ("seed", "batches", *_DELAYS, "slow", "failures", "failover")
_BATCHES = {
    "interval": (0, LARGEST_TIME),
    "most_per_split": (1, LARGEST_TIME),
    "cores": (1, 1_000_000),
    "task_attempts": (1, 1_000),
    "watermark_delay": (0, LARGEST_TIME),
}
"""Between which numbers each lies."""
_RUN = defaults(SparkSimulation)
_SETTINGS = defaults(BatchSettings)


def checked(dataflow: Dataflow, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All as in domain.spark_streaming.simulation.SparkSimulation, and ``batches`` as in
    BatchSettings; ``failures``: [{"at", "process"}], ``slow``: {process: factor}. Raises: Refused,
    DataflowRefused."""
    check_names(parameters, _MEMBERS)
    found = {
        "seed": whole(parameters, "seed", _RUN["seed"], 0, LARGEST_SEED),
        "batches": _batches(parameters.get("batches")),
        **{name: whole(parameters, name, _RUN[name], 0, LARGEST_DELAY) for name in _DELAYS},
        "slow": slow_in(parameters.get("slow")),
        "failures": failures_in(parameters.get("failures")),
        "failover": one_of(parameters, "failover", SPARK_FAILOVERS, QUERY),
    }
    check_size(_load(_simulation(dataflow, found)), "batches")
    return found


def word(found: Mapping[str, Any]) -> str:
    return "spark"


def run(dataflow: Dataflow, found: Mapping[str, Any], name: str) -> SimulatedRun:
    simulation = _simulation(dataflow, found)
    expected = round(_load(simulation).events)
    return SimulatedRun(simulation.header(name), simulate_spark(simulation), expected)


def _simulation(dataflow: Dataflow, found: Mapping[str, Any]) -> SparkSimulation:
    """Raises: DataflowRefused, with the field."""
    same = ("seed", *_DELAYS, "slow", "failover")
    return SparkSimulation(
        dataflow,
        BatchSettings(**found["batches"]),
        failures=fail_ats(found["failures"]),
        **{name: found[name] for name in same},
    )


def _batches(given: Any) -> dict[str, Any]:
    of = "batches"
    given = mapping(given, of, 'batches is an object, as in {"interval": 20000, "cores": 4}.')
    check_names(given, _BATCHES, of)
    return {
        name: whole(given, name, _SETTINGS[name], low, high, of)
        for name, (low, high) in _BATCHES.items()
    }


def _load(simulation: SparkSimulation) -> Load:
    """A batch is a checkpoint that takes at least the way there and back and its commit."""
    takes = simulation.commit_time + 2 * simulation.control_delay
    interval = max(1, simulation.batches.interval, takes)
    return Load(
        DataflowSimulation(
            simulation.dataflow,
            CheckpointSettings(interval=interval),
            control_delay=simulation.control_delay,
            sync_time=0,
            async_time=simulation.commit_time,
            slow=simulation.slow,
        )
    )

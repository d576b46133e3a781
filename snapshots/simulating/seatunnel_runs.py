"""Runs of a dataflow under SeaTunnel's checkpoint protocol: parameters, checked, and the run."""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import MOST_SUBTASKS, Dataflow
from snapshots.domain.simulators.flink.simulation import DataflowSimulation
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.seatunnel import PipelineSettings
from snapshots.domain.simulators.seatunnel.simulation import (
    SeaTunnelSimulation,
    StartFrom,
    simulate_seatunnel,
)
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    LARGEST_DELAY,
    LARGEST_SEED,
    LARGEST_TIME,
    check_names,
    mapping,
    refused,
    time,
    whole,
)
from snapshots.simulating.run_parameters import check_size, defaults, fail_ats, failures_in, slow_in
from snapshots.simulating.simulated_runs import SimulatedRun

LARGEST_BUFFER = 1_000_000
_DELAYS = (
    "mean_delay",
    "control_delay",
    "sync_time",
    "store_time",
    "assign_every",
    "restart_delay",
)
_TIMES = ("savepoint", "tx_timeout")
_MEMBERS = (
    "seed",
    "checkpoints",
    "buffer",
    *_DELAYS,
    *_TIMES,
    "slow",
    "failures",
    "start_from",
)
_CHECKPOINTS = {
    "interval": (1, LARGEST_TIME),
    "timeout": (1, LARGEST_TIME),
    "retry_wait": (1, LARGEST_TIME),
    "retries": (0, 1_000),
}
"""Between which numbers each lies."""
_RUN = defaults(SeaTunnelSimulation)
_SETTINGS = defaults(PipelineSettings)


def checked(dataflow: Dataflow, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All as in domain.seatunnel.simulation.SeaTunnelSimulation, and ``checkpoints`` as in
    PipelineSettings; ``failures``: [{"at", "process"}], ``slow``: {process: factor},
    ``start_from``: {"at", "parallelism": {vertex: number}} or null. Raises: Refused,
    DataflowRefused."""
    check_names(parameters, _MEMBERS)
    found = {
        "seed": whole(parameters, "seed", _RUN["seed"], 0, LARGEST_SEED),
        "checkpoints": _checkpoints(parameters.get("checkpoints")),
        "buffer": whole(parameters, "buffer", _RUN["buffer"], 1, LARGEST_BUFFER),
        **{name: whole(parameters, name, _RUN[name], 0, LARGEST_DELAY) for name in _DELAYS},
        **{name: whole(parameters, name, None, 0, LARGEST_TIME) for name in _TIMES},
        "slow": slow_in(parameters.get("slow")),
        "failures": failures_in(parameters.get("failures")),
        "start_from": _start_from(parameters.get("start_from")),
    }
    simulation = _simulation(dataflow, found)
    check_size(_load(simulation, simulation.dataflow))
    if simulation.start_from is not None:
        check_size(_load(simulation, simulation.dataflow_before()))
    return found


def word(found: Mapping[str, Any]) -> str:
    return "seatunnel" if found["start_from"] is None else "seatunnel, from a savepoint"


def run(dataflow: Dataflow, found: Mapping[str, Any], name: str) -> SimulatedRun:
    simulation = _simulation(dataflow, found)
    expected = round(_load(simulation, dataflow).events)
    return SimulatedRun(simulation.header(name), simulate_seatunnel(simulation), expected)


def _simulation(dataflow: Dataflow, found: Mapping[str, Any]) -> SeaTunnelSimulation:
    """Raises: DataflowRefused, with the field."""
    start = found["start_from"]
    return SeaTunnelSimulation(
        dataflow,
        PipelineSettings(**found["checkpoints"]),
        failures=fail_ats(found["failures"]),
        start_from=None if start is None else StartFrom(**start),
        **{name: found[name] for name in ("seed", "buffer", *_DELAYS, *_TIMES, "slow")},
    )


def _checkpoints(given: Any) -> dict[str, Any]:
    of = "checkpoints"
    given = mapping(given, of, 'checkpoints is an object, as in {"interval": 50000}.')
    check_names(given, _CHECKPOINTS, of)
    found = {
        name: whole(given, name, _SETTINGS[name], low, high, of)
        for name, (low, high) in _CHECKPOINTS.items()
    }
    if "interval" in given and given["interval"] is None:
        found["interval"] = None
    return found


def _start_from(given: Any) -> dict[str, Any] | None:
    if given is None:
        return None
    of = "start_from"
    sentence = 'start_from is an object, as in {"at": 20000, "parallelism": {"lines": 3}}.'
    given = mapping(given, of, sentence)
    check_names(given, ("at", "parallelism"), of)
    within = f"{of}.parallelism"
    parallelism = mapping(given.get("parallelism"), within, 'It is an object, as in {"lines": 3}.')
    for name in parallelism:
        if parallelism[name] is None:
            raise refused("How many subtasks the vertex had.", f"{within}.{name[:100]}")
        whole(parallelism, name, 1, 1, MOST_SUBTASKS, within)
    return {"at": time(given.get("at"), f"{of}.at"), "parallelism": dict(parallelism)}


def _load(simulation: SeaTunnelSimulation, dataflow: Dataflow) -> Load:
    """One coordinator for all asks for no more than one for each pipeline."""
    known = dataflow.subtask_by_id
    interval = simulation.checkpoints.interval
    each = None if interval is None else max(1, interval // len(dataflow.pipelines))
    return Load(
        DataflowSimulation(
            dataflow,
            CheckpointSettings(interval=each, max_concurrent=len(dataflow.pipelines)),
            control_delay=simulation.control_delay,
            sync_time=simulation.sync_time,
            async_time=simulation.store_time,
            slow={task: factor for task, factor in simulation.slow.items() if task in known},
        )
    )

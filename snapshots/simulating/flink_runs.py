"""Runs of a dataflow under Flink's checkpoint protocol: parameters, checked, and the run."""

from collections.abc import Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.simulators.flink.failover import FAILOVERS, FULL
from snapshots.domain.simulators.flink.simulation import DataflowSimulation, simulate_dataflow
from snapshots.domain.simulators.protocols.flink_coordinator import CheckpointSettings
from snapshots.domain.simulators.protocols.flink_task import MODES
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import (
    LARGEST_DELAY,
    LARGEST_SEED,
    LARGEST_TIME,
    check_names,
    flag,
    is_whole,
    items,
    mapping,
    one_of,
    refused,
    times,
    whole,
)
from snapshots.simulating.run_parameters import (
    MOST_CHECKPOINTS,
    check_size,
    defaults,
    fail_ats,
    failures_in,
    object_in,
    slow_in,
    text_in,
)
from snapshots.simulating.simulated_runs import SimulatedRun

LARGEST_BUFFER = 1_000_000
_DELAYS = ("mean_delay", "control_delay", "sync_time", "async_time", "restart_delay")
_MEMBERS = (
    "seed",
    "checkpoints",
    "buffer",
    *_DELAYS,
    "incremental",
    "slow",
    "failures",
    "failover",
    "lost_notices",
    "declines",
    "tx_timeout",
)
_CHECKPOINTS = {
    "interval": (1, LARGEST_TIME),
    "min_pause": (0, LARGEST_TIME),
    "max_concurrent": (1, 1_000),
    "timeout": (1, LARGEST_TIME),
    "align_timeout": (0, LARGEST_TIME),
    "tolerable_failures": (0, 1_000_000),
    "retained": (1, 1_000),
}
"""Between which numbers each lies."""


_RUN = defaults(DataflowSimulation)
_SETTINGS = defaults(CheckpointSettings)


def checked(dataflow: Dataflow, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All as in domain.dataflows.simulation.DataflowSimulation, and ``checkpoints`` as in
    CheckpointSettings; ``failures``: [{"at", "process"}], ``declines``: [{"checkpoint",
    "process"}], ``slow``: {process: factor}. Raises: Refused, DataflowRefused."""
    check_names(parameters, _MEMBERS)
    found = {
        "seed": whole(parameters, "seed", _RUN["seed"], 0, LARGEST_SEED),
        "checkpoints": _checkpoints(parameters.get("checkpoints")),
        "buffer": whole(parameters, "buffer", _RUN["buffer"], 1, LARGEST_BUFFER),
        **{name: whole(parameters, name, _RUN[name], 0, LARGEST_DELAY) for name in _DELAYS},
        "incremental": flag(parameters, "incremental", True),
        "slow": slow_in(parameters.get("slow")),
        "failures": failures_in(parameters.get("failures")),
        "failover": one_of(parameters, "failover", FAILOVERS, FULL),
        "lost_notices": _numbers(parameters.get("lost_notices"), "lost_notices"),
        "declines": _declines(dataflow, parameters.get("declines")),
        "tx_timeout": whole(parameters, "tx_timeout", None, 1, LARGEST_TIME),
    }
    check_size(Load(_simulation(dataflow, found)))
    return found


def word(found: Mapping[str, Any]) -> str:
    return f"flink, {found['checkpoints']['mode']}"


def run(dataflow: Dataflow, found: Mapping[str, Any], name: str) -> SimulatedRun:
    simulation = _simulation(dataflow, found)
    expected = round(Load(simulation).events)
    return SimulatedRun(simulation.header(name), simulate_dataflow(simulation), expected)


def _simulation(dataflow: Dataflow, found: Mapping[str, Any]) -> DataflowSimulation:
    """Raises: DataflowRefused, with the field."""
    same = ("seed", "buffer", *_DELAYS, "incremental", "slow", "failover", "tx_timeout")
    checkpoints = found["checkpoints"]
    savepoints = tuple(checkpoints["savepoints"])
    return DataflowSimulation(
        dataflow,
        CheckpointSettings(**{**checkpoints, "savepoints": savepoints}),
        failures=fail_ats(found["failures"]),
        lost_notices=frozenset(found["lost_notices"]),
        declines=frozenset((item["checkpoint"], item["process"]) for item in found["declines"]),
        **{name: found[name] for name in same},
    )


def _checkpoints(given: Any) -> dict[str, Any]:
    of = "checkpoints"
    sentence = 'checkpoints is an object, as in {"mode": "aligned", "interval": 50000}.'
    given = mapping(given, of, sentence)
    check_names(given, ("mode", "savepoints", *_CHECKPOINTS), of)
    found: dict[str, Any] = {"mode": given.get("mode", _SETTINGS["mode"])}
    if found["mode"] not in MODES:
        raise refused(f"The mode is one of {', '.join(MODES)}.", "checkpoints.mode")
    for name, (low, high) in _CHECKPOINTS.items():
        found[name] = whole(given, name, _SETTINGS[name], low, high, of)
    if "interval" in given and given["interval"] is None:
        found["interval"] = None
    field = f"{of}.savepoints"
    found["savepoints"] = times(given.get("savepoints"), field, "savepoints", MOST_CHECKPOINTS)
    return found


def _declines(dataflow: Dataflow, given: Any) -> list[dict[str, Any]]:
    declines = []
    for place, item in enumerate(items(given, "declines", "refusals", MOST_CHECKPOINTS)):
        field = f"declines[{place}]"
        item = object_in(item, field, 'It is {"checkpoint": number, "process": subtask}.')
        check_names(item, ("checkpoint", "process"), field)
        process = text_in(item.get("process"), f"{field}.process")
        if process not in dataflow.subtask_by_id:
            raise refused(f"There is no subtask {process[:100]!r}.", f"{field}.process")
        checkpoint = _number(item.get("checkpoint"), f"{field}.checkpoint")
        declines.append({"checkpoint": checkpoint, "process": process})
    return declines


def _numbers(given: Any, field: str) -> list[int]:
    numbers = items(given, field, "checkpoints", MOST_CHECKPOINTS)
    return sorted({_number(item, f"{field}[{place}]") for place, item in enumerate(numbers)})


def _number(given: Any, field: str) -> int:
    if not is_whole(given) or not 1 <= given <= LARGEST_TIME:
        raise refused("It is the number of a checkpoint: 1, 2, 3 …", field)
    return given

"""Runs of a dataflow under Flink's checkpoint protocol: parameters, checked, and the run."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from snapshots.dataflow_loads import Load
from snapshots.domain.algorithms.flink_coordinator import CheckpointSettings
from snapshots.domain.algorithms.flink_task import MODES
from snapshots.domain.dataflow import Dataflow
from snapshots.domain.dataflow_failover import FAILOVERS, FULL
from snapshots.domain.dataflow_simulation import DataflowSimulation, FailAt, simulate_dataflow
from snapshots.domain.topology import ProcessId
from snapshots.simulated_runs import SimulatedRun
from snapshots.simulation_parameters import (
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
    time,
    times,
    whole,
)

MOST_EVENTS = 1_000_000
MOST_CHECKPOINTS = 10_000
MOST_FAILURES = 20
LARGEST_BUFFER = 1_000_000
LARGEST_FACTOR = 1_000_000
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


def _defaults(of: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(of) if field.default is not MISSING}


_RUN = _defaults(DataflowSimulation)
_SETTINGS = _defaults(CheckpointSettings)


def checked(dataflow: Dataflow, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """All as in domain.dataflow_simulation.DataflowSimulation, and ``checkpoints`` as in
    CheckpointSettings; ``failures``: [{"at", "process"}], ``declines``: [{"checkpoint",
    "process"}], ``slow``: {process: factor}. Raises: Refused, DataflowRefused."""
    check_names(parameters, _MEMBERS)
    found = {
        "seed": whole(parameters, "seed", _RUN["seed"], 0, LARGEST_SEED),
        "checkpoints": _checkpoints(parameters.get("checkpoints")),
        "buffer": whole(parameters, "buffer", _RUN["buffer"], 1, LARGEST_BUFFER),
        **{name: whole(parameters, name, _RUN[name], 0, LARGEST_DELAY) for name in _DELAYS},
        "incremental": flag(parameters, "incremental", True),
        "slow": _slow(parameters.get("slow")),
        "failures": _failures(parameters.get("failures")),
        "failover": one_of(parameters, "failover", FAILOVERS, FULL),
        "lost_notices": _numbers(parameters.get("lost_notices"), "lost_notices"),
        "declines": _declines(dataflow, parameters.get("declines")),
        "tx_timeout": whole(parameters, "tx_timeout", None, 1, LARGEST_TIME),
    }
    _check_size(_simulation(dataflow, found))
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
        failures=tuple(
            FailAt(failure["at"], ProcessId(failure["process"])) for failure in found["failures"]
        ),
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


def _slow(given: Any) -> dict[str, float]:
    slow = mapping(given, "slow", 'slow is an object, as in {"count[1]": 4}: subtask and factor.')
    for task, factor in slow.items():
        is_number = isinstance(factor, int | float) and not isinstance(factor, bool)
        if not is_number or not 0 < factor <= LARGEST_FACTOR:
            raise refused(
                f"How many times longer than others it takes: above 0, up to {LARGEST_FACTOR:,}.",
                f"slow.{task[:100]}",
            )
    return dict(slow)


def _failures(given: Any) -> list[dict[str, Any]]:
    failures = []
    for place, item in enumerate(items(given, "failures", "failures", MOST_FAILURES)):
        field = f"failures[{place}]"
        item = _object(item, field, 'A failure is {"at": microseconds, "process": subtask}.')
        check_names(item, ("at", "process"), field)
        at = time(item.get("at"), f"{field}.at")
        failures.append({"at": at, "process": _text(item.get("process"), f"{field}.process")})
    return failures


def _declines(dataflow: Dataflow, given: Any) -> list[dict[str, Any]]:
    declines = []
    for place, item in enumerate(items(given, "declines", "refusals", MOST_CHECKPOINTS)):
        field = f"declines[{place}]"
        item = _object(item, field, 'It is {"checkpoint": number, "process": subtask}.')
        check_names(item, ("checkpoint", "process"), field)
        process = _text(item.get("process"), f"{field}.process")
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


def _text(given: Any, field: str) -> str:
    if not isinstance(given, str):
        raise refused("It is the name of a subtask, as in “count[0]”.", field)
    return given


def _object(given: Any, field: str, sentence: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise refused(sentence, field)
    return given


def _check_size(simulation: DataflowSimulation) -> None:
    """What would take for ever, or be too large to be stored, is told before it is begun."""
    load = Load(simulation)
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
    if load.requests > MOST_CHECKPOINTS or load.events + load.checkpoint_events > MOST_EVENTS:
        raise refused(
            f"About {_about(load.requests)} checkpoints would be asked for, and those begun make "
            f"about {_about(load.checkpoint_events)} events: too many. Give them a longer "
            "interval.",
            "checkpoints.interval",
        )


def _about(number: float) -> str:
    """Two digits that count."""
    digits = 0 if number < 100 else 1 - math.floor(math.log10(number))
    return f"{round(number, digits if number >= 100 else 2):,.10g}"

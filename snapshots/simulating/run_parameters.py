"""Parameters that runs of dataflows have under every protocol, read and checked."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.dataflows.parameters import FailAt
from snapshots.simulating.loads import Load
from snapshots.simulating.parameters import LARGEST_TIME, check_names, items, mapping, refused, time

MOST_EVENTS = 1_000_000
MOST_CHECKPOINTS = 10_000
MOST_FAILURES = 20
LARGEST_FACTOR = 1_000_000


def defaults(of: type) -> dict[str, Any]:
    return {field.name: field.default for field in fields(of) if field.default is not MISSING}


def slow_in(given: Any) -> dict[str, float]:
    slow = mapping(given, "slow", 'slow is an object, as in {"count[1]": 4}: subtask and factor.')
    for task, factor in slow.items():
        is_number = isinstance(factor, int | float) and not isinstance(factor, bool)
        if not is_number or not 0 < factor <= LARGEST_FACTOR:
            raise refused(
                f"How many times longer than others it takes: above 0, up to {LARGEST_FACTOR:,}.",
                f"slow.{task[:100]}",
            )
    return dict(slow)


def failures_in(given: Any) -> list[dict[str, Any]]:
    failures = []
    for place, item in enumerate(items(given, "failures", "failures", MOST_FAILURES)):
        field = f"failures[{place}]"
        item = object_in(item, field, 'A failure is {"at": microseconds, "process": subtask}.')
        check_names(item, ("at", "process"), field)
        at = time(item.get("at"), f"{field}.at")
        failures.append({"at": at, "process": text_in(item.get("process"), f"{field}.process")})
    return failures


def fail_ats(failures: list[dict[str, Any]]) -> tuple[FailAt, ...]:
    """What ``failures_in`` gives, as simulators take it."""
    return tuple(FailAt(item["at"], ProcessId(item["process"])) for item in failures)


def text_in(given: Any, field: str) -> str:
    if not isinstance(given, str):
        raise refused("It is the name of a subtask, as in “count[0]”.", field)
    return given


def object_in(given: Any, field: str, sentence: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise refused(sentence, field)
    return given


def check_size(load: Load, what: str = "checkpoints") -> None:
    """What would take for ever, or be too large to be stored, is told before it is begun.

    what: what there would be too many of, and in which its interval stands.
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
    if load.requests > MOST_CHECKPOINTS or load.events + load.checkpoint_events > MOST_EVENTS:
        raise refused(
            f"About {_about(load.requests)} {what} would be asked for, and those begun make "
            f"about {_about(load.checkpoint_events)} events: too many. Give them a longer "
            "interval.",
            f"{what}.interval",
        )


def _about(number: float) -> str:
    """Two digits that count."""
    digits = 0 if number < 100 else 1 - math.floor(math.log10(number))
    return f"{round(number, digits if number >= 100 else 2):,.10g}"

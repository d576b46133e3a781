"""Checks of what a simulated run is asked for; every refusal names the field."""

import math
from collections.abc import Container, Iterable, Mapping
from typing import Any

from snapshots.domain.dataflow_logs.dataflow import Dataflow, DataflowRefused


def check_whole_numbers(parameters: object, least: Mapping[str, int], of: str = "") -> None:
    """least: the fields, each with the smallest number that it can be. of: what they belong to."""
    for name, smallest in least.items():
        value = getattr(parameters, name)
        if type(value) is not int or value < smallest:
            raise DataflowRefused(
                f"{of}.{name}" if of else name,
                f"It is a whole number, at least {smallest}, not {value!r}.",
            )


def check_one_of(field: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise DataflowRefused(field, f"It is one of {', '.join(allowed)}, not {value!r}.")


def check_failures(failures: Iterable[Any], known: Container[str], called: str) -> None:
    """failures: with ``at`` and ``process``. known: who can fail; called: what they are."""
    for place, failure in enumerate(failures):
        if failure.process not in known:
            raise DataflowRefused(
                f"failures[{place}].process", f"There is no {called} {failure.process!r}."
            )
        if type(failure.at) is not int or failure.at < 0:
            raise DataflowRefused(f"failures[{place}].at", f"It is 0 or more, not {failure.at!r}.")


def check_slow(slow: Mapping[str, float], dataflow: Dataflow) -> None:
    for task, factor in slow.items():
        if task not in dataflow.subtask_by_id:
            raise DataflowRefused(f"slow.{task}", f"There is no subtask {task!r}.")
        if not math.isfinite(factor) or factor <= 0:
            raise DataflowRefused(f"slow.{task}", f"It is above 0, not {factor!r}.")

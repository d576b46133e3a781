"""The form of a simulated dataflow: its fields with what was typed, and that as parameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from snapshots.web.pages.dataflow_inputs import (
    ADVANCED,
    AGAIN,
    FAILOVER,
    FLINK,
    MAIN,
    MODE,
    PROTOCOLS,
    Choices,
    Input,
)
from snapshots.web.pages.simulation_form import Choice, as_number

_INPUTS = (*MAIN, *ADVANCED)
_CHOICES = (MODE, FAILOVER, AGAIN)


@dataclass(frozen=True)
class Shown:
    """An input, or one of several choices, with what was typed or chosen."""

    input: Input | Choices
    value: str


@dataclass(frozen=True)
class Fields:
    """protocol: the chosen one. error: the sentence for ``error_field``, None where all is well."""

    protocol: str
    choices: list[Shown]
    main: list[Shown]
    advanced: list[Shown]
    incremental: bool
    error_field: str | None
    error: str | None
    subtasks: list[str]
    protocols: list[Choice]

    @property
    def shows_advanced(self) -> bool:
        """Whether the part of the form that is folded holds anything of the person's."""
        changed = any(item.value != item.input.default for item in self.advanced)
        names = {item.input.name for item in self.advanced}
        return changed or not self.incremental or self.error_field in names


def fields(posted: QueryDict, document: Mapping[str, Any], refusal: Mapping | None) -> Fields:
    subtasks = _subtasks(document["dataflow"])
    protocol = posted.get("protocol", FLINK)
    field = _field_of((refusal or {}).get("field") or "", protocol, subtasks)

    def shown(inputs: tuple[Input | Choices, ...] | list[Input]) -> list[Shown]:
        return [Shown(item, posted.get(item.name, item.default)) for item in inputs]

    return Fields(
        protocol,
        shown(_CHOICES),
        shown(MAIN),
        shown(ADVANCED),
        "incremental" in posted or not posted,
        field,
        refusal["detail"] if refusal and field else None,
        subtasks,
        PROTOCOLS,
    )


def parameters(posted: QueryDict) -> dict[str, Any]:
    """As the API takes them. What is no number stays a text, for the check that refuses it."""
    protocol = posted.get("protocol", FLINK)
    found: dict[str, Any] = {"protocol": protocol}
    for item in _CHOICES:
        if protocol in item.paths:
            _put(found, item.paths[protocol], posted.get(item.name, item.default))
    typed = {item.name: posted.get(item.name, item.default).strip() for item in _INPUTS}
    for item in _INPUTS:
        if protocol in item.paths:
            value = _read(item, typed[item.name])
            if value is not ...:
                _put(found, item.paths[protocol], value)
    if protocol == FLINK:
        found["incremental"] = "incremental" in posted
    if task := typed["slow_task"]:
        found["slow"] = {task: _factor(typed["slow_factor"])}
    if not typed["failure_process"]:
        found.pop("failures", None)
    return found


def _read(item: Input, typed: str) -> Any:
    """The parameter's value; ``...`` for none."""
    if not typed:
        return item.when_empty
    if item.kind == "number":
        return as_number(typed)
    if item.kind == "numbers":
        return [as_number(text) for text in typed.replace(",", " ").split()]
    return _sizes(typed) if item.kind == "sizes" else typed


def _sizes(typed: str) -> dict[str, int | str]:
    pairs = (part.partition("=") for part in typed.split(",") if part.strip())
    return {name.strip(): as_number(number.strip()) for name, _, number in pairs}


def _put(found: dict[str, Any], path: str, value: Any) -> None:
    """Into objects on the way, and lists of one object, as in ``failures[0].at``."""
    *way, last = path.split(".")
    for name in way:
        in_list = name.endswith("[0]")
        part = found.setdefault(name.removesuffix("[0]"), [{}] if in_list else {})
        found = part[0] if in_list else part
    found[last] = value


def _field_of(path: str, protocol: str, subtasks: list[str]) -> str | None:
    """The field of the form for a refused parameter; None where it is none of the form's."""
    if path == "protocol":
        return path
    if path.startswith("slow."):
        return "slow_factor" if path.removeprefix("slow.") in subtasks else "slow_task"
    if path.startswith("start_from.parallelism"):
        return "start_parallelism"
    fields: list[Input | Choices] = [*_INPUTS, *_CHOICES]
    names = {item.paths.get(protocol): item.name for item in fields}
    return names.get(path) or names.get(re.sub(r"\[\d+\]$", "", path))


def _subtasks(dataflow: Any, most: int = 500) -> list[str]:
    """Of a dataflow that may still be wrong: what can be told of it."""
    names: list[str] = []
    vertices = dataflow.get("vertices") if isinstance(dataflow, dict) else None
    for vertex in vertices if isinstance(vertices, list) else []:
        wide = vertex.get("parallelism", 1) if isinstance(vertex, dict) else None
        if isinstance(wide, int):
            names += [f"{vertex.get('id')}[{n}]" for n in range(min(wide, most - len(names)))]
    return names


def _factor(typed: str) -> float | str:
    return float(typed) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", typed) else typed

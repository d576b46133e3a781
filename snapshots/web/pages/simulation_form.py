"""The form of a simulated run, made from the declared parameters of the protocols.

Protocols share the inputs of the same name. The form of a topology without a dataflow has only one
protocol, whose name is empty.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.http import QueryDict

from snapshots.simulating.dataflows import PROTOCOLS
from snapshots.simulating.parameters import MAIN, Declared, OneOf, Parameters, declared
from snapshots.simulating.run_parameters import SlowSubtask
from snapshots.simulating.workload_runs import WorkloadParameters

MOST_NAMES = 500


class Input(NamedTuple):
    """An input of the form.

    Attributes:
        paths: the path of the parameter in each protocol that has it.
    """

    declared: Declared
    paths: dict[str, str]

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def mode(self) -> str:
        """Return the value of the HTML ``inputmode`` attribute."""
        return {"number": "numeric", "factor": "decimal"}.get(self.declared.kind, "text")

    @property
    def hint(self) -> str:
        has_commas = self.declared.kind in ("numbers", "texts") and not self.is_picked
        commas = " Separate several with commas." if has_commas else ""
        return f"{self.declared.info.description}{commas}"

    @property
    def protocols(self) -> str:
        return " ".join(self.paths)

    @property
    def is_picked(self) -> bool:
        """Whether names are picked from a list, not typed."""
        return self.declared.kind == "texts" and bool(self.declared.shown.suggests)

    @property
    def default(self) -> str:
        """Return what a fresh form holds."""
        info, shown = self.declared.info, self.declared.shown
        value = info.examples[0] if info.is_required() and info.examples else self.declared.default
        is_empty = value is None or value is False or value in ([], {})
        return shown.begins or ("" if is_empty else str(value))


class Shown(NamedTuple):
    """An input with what was typed or chosen.

    Attributes:
        picks: the names that can be picked, each with whether it is picked.
    """

    input: Input
    value: str
    picks: list[tuple[str, bool]]

    @property
    def is_main(self) -> bool:
        return self.input.declared.shown.main

    @property
    def is_choice(self) -> bool:
        return self.input.declared.kind in ("choice", "flag")


@dataclass(frozen=True)
class Fields:
    """The fields of the form.

    Attributes:
        names: the names to pick from, by kind.
        error_field: the name of the input that was refused; None if none was.
        error: the sentence of the refusal.
    """

    shown: list[Shown]
    names: dict[str, list[str]]
    error_field: str | None
    error: str | None

    @property
    def lead(self) -> Shown:
        """Return the first choice, which has a column of its own."""
        return self._choices[0]

    @property
    def others(self) -> list[Shown]:
        """Return the other choices, and flags."""
        return self._choices[1:]

    @property
    def numbers(self) -> list[Shown]:
        return [item for item in self.shown if item.is_main and not item.is_choice]

    @property
    def folded(self) -> list[Shown]:
        return [item for item in self.shown if not item.is_main]

    @property
    def _choices(self) -> list[Shown]:
        return [item for item in self.shown if item.is_main and item.is_choice]

    @property
    def unfolds(self) -> bool:
        """Return whether the folded part holds something typed or refused."""
        return any(
            item.value != item.input.default or item.input.name == self.error_field
            for item in self.folded
        )


class Form:
    """The form for some protocols, made of the models of their parameters.

    ``options`` are the names and titles of the protocols, if there is a choice.
    """

    def __init__(
        self, models: Mapping[str, type[Parameters]], options: OneOf | None = None
    ) -> None:
        self.first = next(iter(models))
        self.protocols = [_protocol_input(options)] if options else []
        self.inputs = _merged(models)

    def fields(
        self, posted: QueryDict, document: Mapping[str, Any], refusal: Mapping[str, Any] | None
    ) -> Fields:
        """Return the fields with what was posted.

        Args:
            posted: empty for a fresh form.
            document: the topology, right or wrong.
            refusal: what was refused last.
        """
        protocol = self._protocol(posted)
        names = _names(document)
        path = (refusal or {}).get("field") or ""
        error_field = self._field_of(path, protocol, names["subtasks"])
        shown = [_shown(item, posted, names) for item in (*self.protocols, *self.inputs)]
        error = refusal["detail"] if refusal and error_field else None
        return Fields(shown, names, error_field, error)

    def parameters(self, posted: QueryDict) -> dict[str, Any]:
        """Return what was posted as the API takes it; text that is no number stays text."""
        protocol = self._protocol(posted)
        taken: dict[str, Any] = {"protocol": protocol} if self.protocols else {}
        mine = [item for item in self.inputs if protocol in item.paths]
        for item in mine:
            if _is_wanted(item, mine, protocol, posted):
                value = _read(item, posted)
                if value is not ...:
                    _put(taken, item.paths[protocol], value)
        return _with_pair(taken)

    def _protocol(self, posted: QueryDict) -> str:
        return posted.get("protocol", self.first) if self.protocols else self.first

    def _field_of(self, path: str, protocol: str, subtasks: list[str]) -> str | None:
        """Return the name of the input for a refused parameter; None if no input is for it."""
        if path == "protocol" and self.protocols:
            return path
        if path.startswith("slow."):
            path = "slow.factor" if path.removeprefix("slow.") in subtasks else "slow.task"
        for item in self.inputs:
            own = item.paths.get(protocol)
            if own and (path == own or path.startswith((f"{own}[", f"{own}."))):
                return item.name
        return None


# --- inputs of declared parameters ---------------------------------------------------------------


def _protocol_input(options: OneOf) -> Input:
    info = declared("Protocol", "", options.names[0], MAIN)
    info.metadata.append(options)
    return Input(Declared("protocol", info), dict.fromkeys(options.names, "protocol"))


def _merged(models: Mapping[str, type[Parameters]]) -> list[Input]:
    """Return the inputs of all protocols, each once, in an order that suits each of them."""
    merged: list[Input] = []
    for protocol, model in models.items():
        place = 0
        for parameter in _shown_parameters(model):
            names = [item.name for item in merged]
            if parameter.name not in names:
                merged.insert(place, Input(parameter, {}))
            else:
                place = names.index(parameter.name)
            merged[place].paths[protocol] = parameter.path
            place += 1
    return merged


def _shown_parameters(model: type[Parameters]) -> Iterator[Declared]:
    for parameter in model.declared():
        if parameter.path == "slow":
            yield from SlowSubtask.declared("slow.")
        elif not parameter.shown.hidden:
            yield parameter


# --- what was typed ------------------------------------------------------------------------------


def _shown(item: Input, posted: QueryDict, names: Mapping[str, list[str]]) -> Shown:
    missing = "" if item.declared.kind == "flag" and posted else item.default
    picked = set(posted.getlist(item.name))
    options = names[item.declared.shown.suggests] if item.is_picked else []
    value = posted.get(item.name, missing)
    return Shown(item, value, [(name, name in picked) for name in options])


def _is_wanted(item: Input, mine: list[Input], protocol: str, posted: QueryDict) -> bool:
    """Return whether a parameter is sent.

    An item of a list is left out if nothing was typed into its inputs that are empty at first, and
    so is an object that has such an input which is required.
    """
    outer = item.paths[protocol].rpartition(".")[0]
    inputs = [it for it in mine if it.paths[protocol].startswith(f"{outer}.") and not it.default]
    is_required = outer and any(it.declared.info.is_required() for it in inputs)
    if not outer.endswith("[0]") and not is_required:
        return True
    return any(posted.get(it.name, "").strip() for it in inputs)


def _read(item: Input, posted: QueryDict) -> Any:
    """Return the parameter's value; ``...`` to leave it out."""
    if item.declared.kind == "flag":
        return item.name in posted
    if item.is_picked:
        return posted.getlist(item.name)
    typed = posted.get(item.name, item.default).strip()
    if not typed:
        return None if item.declared.takes_null else ...
    return _READERS.get(item.declared.kind, str)(typed)


def _number(typed: str) -> int | str:
    digits = typed.replace("_", "").replace("\u202f", "")
    return int(digits) if digits.lstrip("-").isdecimal() and len(digits) < 20 else typed


def _factor(typed: str) -> float | str:
    return float(typed) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", typed) else typed


def _numbers(typed: str) -> list[int | str]:
    return [_number(part) for part in typed.replace(",", " ").split()]


def _texts(typed: str) -> list[str] | str:
    return typed if typed == "all" else [it.strip() for it in typed.split(",") if it.strip()]


def _map(typed: str) -> dict[str, int | str]:
    pairs = (part.partition("=") for part in typed.split(",") if part.strip())
    return {name.strip(): _number(number.strip()) for name, _, number in pairs}


_READERS = {
    "number": _number,
    "factor": _factor,
    "numbers": _numbers,
    "texts": _texts,
    "map": _map,
}


def _put(taken: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path such as ``failures[0].at``, and make the objects on the path."""
    *names, last = path.split(".")
    for name in names:
        in_list = name.endswith("[0]")
        part = taken.setdefault(name.removesuffix("[0]"), [{}] if in_list else {})
        taken = part[0] if in_list else part
    taken[last] = value


def _with_pair(taken: dict[str, Any]) -> dict[str, Any]:
    """Join the two inputs of the slow subtask to an entry of the mapping ``slow``."""
    slow = taken.pop("slow", {})
    return taken | {"slow": {slow["task"]: slow.get("factor")}} if slow.get("task") else taken


def _names(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names that a document has, which may still be wrong."""
    processes = document.get("processes") or []
    ids = [str(item.get("id")) for item in processes if isinstance(item, dict)]
    return {"processes": ids, "subtasks": _subtasks(document.get("dataflow"))}


def _subtasks(dataflow: Any) -> list[str]:
    names: list[str] = []
    vertices = dataflow.get("vertices") if isinstance(dataflow, dict) else None
    for vertex in vertices if isinstance(vertices, list) else []:
        wide = vertex.get("parallelism", 1) if isinstance(vertex, dict) else None
        if isinstance(wide, int):
            count = min(wide, MOST_NAMES - len(names))
            names += [f"{vertex.get('id')}[{n}]" for n in range(count)]
    return names


OF_WORKLOADS = Form({"": WorkloadParameters})
OF_DATAFLOWS = Form(PROTOCOLS, OneOf(tuple(model.PROTOCOL for model in PROTOCOLS.values())))

"""The form of a simulated dataflow: its fields with what was typed, and that as parameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from snapshots.views.simulation_form import Choice, as_number

PROTOCOLS = [
    Choice(
        "flink",
        "Flink",
        "A coordinator triggers the sources; barriers run through the channels with the records.",
    ),
    Choice(
        "seatunnel",
        "SeaTunnel",
        "Barriers go from an enumerator to readers, writers and a committer; a failure restarts "
        "its pipeline. Mode and restart on this page are Flink’s.",
    ),
    Choice(
        "spark",
        "Spark micro-batches",
        "No barriers: a batch every so often, noted before and after. Mode, buffer and restart on "
        "this page are Flink’s.",
    ),
]
OWN_FIELDS = {
    "seatunnel": (
        ("seed", "buffer", "mean_delay", "control_delay", "sync_time", "restart_delay"),
        "checkpoints",
    ),
    "spark": (("seed", "control_delay", "restart_delay"), "batches"),
}
"""Of the protocols beside Flink: which numbers of the form they take, and where the interval goes.
The API takes the others."""
MODES = [
    Choice(
        "aligned",
        "Aligned, exactly once",
        "A task blocks each input whose barrier has come, until all have: what lies in channels "
        "is never part of a checkpoint.",
    ),
    Choice(
        "at-least-once",
        "At least once",
        "No input is blocked; records behind an early barrier are counted now, and again after a "
        "restore.",
    ),
    Choice(
        "unaligned",
        "Unaligned",
        "Barriers overtake the records that wait, and these become part of the checkpoint as the "
        "state of channels.",
    ),
    Choice(
        "aligned with timeout",
        "Aligned with timeout",
        "Begins aligned; where that takes longer than the timeout of alignment, it goes on "
        "unaligned.",
    ),
]
FAILOVERS = [
    Choice("full", "Everything", "All tasks are restarted from the last checkpoint."),
    Choice("pipeline", "The pipeline", "The tasks that edges connect with the failed one."),
    Choice("region", "The region", "Those only that channels connect with it, all others run on."),
]


@dataclass(frozen=True)
class Input:
    """A field of the form: the parameter that it is (``path``), and how it is shown."""

    name: str
    path: str
    label: str
    hint: str
    default: str = ""
    mode: str = "numeric"
    choices: str = ""


MAIN = [
    Input(
        "interval",
        "checkpoints.interval",
        "A checkpoint every, µs",
        "empty: none but savepoints",
        "50000",
    ),
    Input("seed", "seed", "Seed", "the same seed gives the same run", "1"),
    Input(
        "buffer", "buffer", "Buffer, records", "at each end of a channel; full: back pressure", "8"
    ),
    Input(
        "lost_notices",
        "lost_notices",
        "Lose the completion notice",
        "of checkpoint 2, or several: 2, 3",
        mode="text",
    ),
    Input("slow_task", "slow", "Slow subtask", "as in count[1]", mode="text", choices="subtasks"),
    Input("slow_factor", "slow.factor", "How many times slower", "than the others", "4", "decimal"),
    Input(
        "failure_process",
        "failures[0].process",
        "A subtask fails",
        "empty: nothing fails",
        mode="text",
        choices="subtasks",
    ),
    Input("failure_at", "failures[0].at", "It fails at, µs", "since the run began", "70000"),
]
ADVANCED = [
    Input("min_pause", "checkpoints.min_pause", "Pause between checkpoints, µs", "at least", "0"),
    Input("max_concurrent", "checkpoints.max_concurrent", "Checkpoints at once", "at most", "1"),
    Input("timeout", "checkpoints.timeout", "A checkpoint expires after, µs", "", "10000000"),
    Input(
        "align_timeout",
        "checkpoints.align_timeout",
        "Timeout of alignment, µs",
        "for “aligned with timeout”",
        "5000",
    ),
    Input(
        "tolerable_failures",
        "checkpoints.tolerable_failures",
        "Failed checkpoints in a row",
        "that the run survives",
        "0",
    ),
    Input("retained", "checkpoints.retained", "Checkpoints kept", "the newest", "1"),
    Input(
        "savepoints",
        "checkpoints.savepoints",
        "Savepoints at, µs",
        "several with commas",
        mode="text",
    ),
    Input("mean_delay", "mean_delay", "Delay of a channel, µs", "on average", "300"),
    Input("control_delay", "control_delay", "Delay of the coordinator's word, µs", "", "200"),
    Input("sync_time", "sync_time", "Copying a state, µs", "the task stands still", "200"),
    Input("async_time", "async_time", "Uploading a state, µs", "beside its work", "2000"),
    Input("restart_delay", "restart_delay", "From failure to restart, µs", "", "10000"),
    Input(
        "tx_timeout",
        "tx_timeout",
        "A transaction is gone after, µs",
        "where it was not committed; empty: never",
    ),
    Input(
        "decline_checkpoint",
        "declines[0].checkpoint",
        "Checkpoint that a subtask declines",
        "its number",
    ),
    Input(
        "decline_process",
        "declines[0].process",
        "The subtask that declines it",
        "",
        mode="text",
        choices="subtasks",
    ),
]
_CHOSEN = {"protocol": "flink", "mode": "aligned", "failover": "full"}
_PATHS = {
    "protocol": "protocol",
    "checkpoints.mode": "mode",
    "failover": "failover",
    "batches.interval": "interval",
} | {item.path: item.name for item in (*MAIN, *ADVANCED)}


@dataclass(frozen=True)
class Shown:
    """An input with what was typed."""

    input: Input
    value: str


@dataclass(frozen=True)
class Fields:
    """typed: what was chosen. error: the sentence for ``error_field``, None where all is well."""

    typed: Mapping[str, str]
    main: list[Shown]
    advanced: list[Shown]
    incremental: bool
    error_field: str | None
    error: str | None
    subtasks: list[str]
    protocols: list[Choice]
    modes: list[Choice]
    failovers: list[Choice]

    @property
    def shows_advanced(self) -> bool:
        """Whether the part of the form that is folded holds anything of the person's."""
        changed = any(item.value != item.input.default for item in self.advanced)
        names = {item.input.name for item in self.advanced}
        return changed or not self.incremental or self.error_field in names


def fields(posted: QueryDict, document: Mapping[str, Any], refusal: Mapping | None) -> Fields:
    subtasks = _subtasks(document["dataflow"])
    field = _field_of((refusal or {}).get("field") or "", subtasks)

    def shown(inputs: list[Input]) -> list[Shown]:
        return [Shown(item, posted.get(item.name, item.default)) for item in inputs]

    return Fields(
        {name: posted.get(name, default) for name, default in _CHOSEN.items()},
        shown(MAIN),
        shown(ADVANCED),
        "incremental" in posted or not posted,
        field,
        refusal["detail"] if refusal and field else None,
        subtasks,
        PROTOCOLS,
        MODES,
        FAILOVERS,
    )


def parameters(posted: QueryDict) -> dict[str, Any]:
    """As the API takes them. What is no number stays a text, for the check that refuses it."""
    typed = {item.name: posted.get(item.name, item.default).strip() for item in (*MAIN, *ADVANCED)}
    protocol = posted.get("protocol", _CHOSEN["protocol"])
    if protocol in OWN_FIELDS:
        return {"protocol": protocol, **_own(typed, *OWN_FIELDS[protocol]), **_troubles(typed)}
    return {**_of_flink(posted, typed), **_troubles(typed)}


def _own(typed: Mapping[str, str], numbers: tuple[str, ...], settings: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: as_number(typed[name]) for name in numbers if typed[name]}
    found[settings] = {"interval": as_number(typed["interval"]) if typed["interval"] else None}
    return found


def _troubles(typed: Mapping[str, str]) -> dict[str, Any]:
    """Who is slow, and who fails when: the same under every protocol."""
    found: dict[str, Any] = {}
    if task := typed["slow_task"]:
        found["slow"] = {task: _factor(typed["slow_factor"])}
    if task := typed["failure_process"]:
        found["failures"] = [{"at": as_number(typed["failure_at"]), "process": task}]
    return found


def _of_flink(posted: QueryDict, typed: Mapping[str, str]) -> dict[str, Any]:
    checkpoints: dict[str, Any] = {"interval": None}
    found: dict[str, Any] = {
        "protocol": posted.get("protocol", _CHOSEN["protocol"]),
        "failover": posted.get("failover", _CHOSEN["failover"]),
        "incremental": "incremental" in posted,
        "checkpoints": checkpoints | {"mode": posted.get("mode", _CHOSEN["mode"])},
    }
    for item in (*MAIN, *ADVANCED):
        outer, dot, inner = item.path.partition(".")
        if not typed[item.name] or item.mode != "numeric" or "[" in item.path:
            continue
        part = found[outer] if dot else found
        part[inner or outer] = as_number(typed[item.name])
    found["lost_notices"] = _numbers(typed["lost_notices"])
    found["checkpoints"]["savepoints"] = _numbers(typed["savepoints"])
    if typed["decline_checkpoint"] or typed["decline_process"]:
        number = as_number(typed["decline_checkpoint"])
        found["declines"] = [{"checkpoint": number, "process": typed["decline_process"]}]
    return found


def _field_of(path: str, subtasks: list[str]) -> str | None:
    """The field of the form for a refused parameter; None where it is none of the form's."""
    if path.startswith("slow."):
        return "slow_factor" if path.removeprefix("slow.") in subtasks else "slow_task"
    return _PATHS.get(path) or _PATHS.get(re.sub(r"\[\d+\]$", "", path))


def _subtasks(dataflow: Any, most: int = 500) -> list[str]:
    """Of a dataflow that may still be wrong: what can be told of it."""
    names: list[str] = []
    vertices = dataflow.get("vertices") if isinstance(dataflow, dict) else None
    for vertex in vertices if isinstance(vertices, list) else []:
        wide = vertex.get("parallelism", 1) if isinstance(vertex, dict) else None
        if isinstance(wide, int):
            names += [f"{vertex.get('id')}[{n}]" for n in range(min(wide, most - len(names)))]
    return names


def _numbers(typed: str) -> list[int | str]:
    return [as_number(text) for text in typed.replace(",", " ").split()]


def _factor(typed: str) -> float | str:
    return float(typed) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", typed) else typed

"""Compares what Flink's adapter gives of an upload with a case's expected.json, fact by fact."""

import re
from collections import Counter
from functools import cache
from json import dumps, loads
from pathlib import Path

from snapshots.domain.assembling.assembly import Assembly, assemble
from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import CheckpointInventory, OperatorInventory, UploadInventory
from snapshots.readers.engines.flink.adapter.reader import FlinkEngineUpload, FlinkReader
from tests.readers.engines.flink.cases import CASES, Facts
from tests.readers.engines.flink.keyed import as_flink


def folder_of(shared_data: Path, name: str) -> Path:
    return shared_data / ("flink" if name in CASES else "flink-legacy") / name


def expected_of(shared_data: Path, name: str) -> dict:
    return loads((folder_of(shared_data, name) / "expected.json").read_text())


@cache
def read(shared_data: Path, name: str) -> FlinkEngineUpload:
    return FlinkReader().read(folder_of(shared_data, name))


@cache
def entries(shared_data: Path, name: str) -> tuple[StateEntry, ...]:
    return tuple(read(shared_data, name).entries())


@cache
def inventory(shared_data: Path, name: str) -> UploadInventory:
    entries(shared_data, name)
    return read(shared_data, name).inventory()


@cache
def derived(shared_data: Path, name: str) -> Assembly:
    return assemble(*read(shared_data, name).recording())


def expected_snapshots(expected: dict) -> list[dict]:
    return expected.get("snapshots") or [{"path": None, "flink": expected["flinkMetadata"]}]


def stored(upload: FlinkEngineUpload, found: UploadInventory, path: str | None):
    """Return the checkpoint with this `_metadata`, and its number."""
    for checkpoint in upload.checkpoints:
        if checkpoint.metadata is not None and path in (None, checkpoint.stored.path):
            return checkpoint.number, found.checkpoints[checkpoint.number]
    raise AssertionError(path)


# --- what is expected -----------------------------------------------------------------------------


def expected_facts(snapshot: dict) -> Facts:
    flink = snapshot["flink"]
    facts: Facts = {("id",): flink["checkpointId"], ("bytes",): flink["stateSize"]}
    facts["fact", "version of _metadata"] = flink["metadataVersion"]
    facts |= {("fact", name): value for name, value in _properties(flink["properties"]).items()}
    facts["hooks",] = flink["masterStates"]
    for operator in flink["operators"]:
        of = operator["id"]
        facts |= {
            (of, "name"): operator["name"],
            (of, "uid"): operator["uid"],
            (of, "parallelism"): operator["parallelism"],
            (of, "max"): operator["maxParallelism"],
            (of, "finished"): operator["fullyFinished"],
            (of, "bytes"): operator["stateSize"],
            (of, "coordinator"): operator["coordinatorBytes"],
        }
        for subtask in operator["subtasks"]:
            facts |= _expected_subtask(of, subtask)
    if total := snapshot.get("inFlight"):
        facts |= {
            ("in flight", "buffers"): total["buffers"],
            ("in flight", "bytes"): total["bytes"],
        }
    if rest := snapshot.get("restSizes"):
        facts["kind",] = "savepoint" if rest["is_savepoint"] else "checkpoint"
        told = {
            "state size by the REST API": rest["state_size"],
            "uploaded": rest["checkpointed_size"],
            "persisted in flight, with the length of each buffer": rest["persisted_data"],
            "type by the REST API": rest["checkpoint_type"],
            "stored at": rest["external_path"],
        }
        facts |= {("fact", name): value for name, value in told.items() if value is not None}
    return facts


def _properties(text: str | None) -> dict[str, str]:
    """Return the properties in the text that Flink makes of them."""
    told = dict(re.findall(r"(\w+)='?([\w ]+)'?", text or ""))
    found = {"type": told.get("name"), "sharing of files": told.get("sharingFilesStrategy")}
    found["savepoint format"] = told.get("formatType", "").lower()
    found["flags"] = ", ".join(sorted(name for name, value in told.items() if value == "true"))
    return {name: value for name, value in found.items() if value}


def _expected_subtask(of: str, subtask: dict) -> Facts:
    where = of, subtask["index"]
    facts: Facts = {(*where, "finished"): subtask["finished"]}
    facts[*where, "bytes"] = subtask.get("stateSize", 0)
    facts |= {(*where, part): size for part, size in _expected_parts(subtask).items() if size}
    for handle in subtask.get("managedKeyedState", ()):
        facts[*where, "key groups"] = tuple(handle["keyGroups"])
        facts[*where, "keyed"] = handle["stateSize"]
        for name, state in handle.get("states", {}).items():
            facts[*where, "kind", name] = state["type"].lower()
            facts[*where, "values", name] = Counter(
                dumps(_keyed(value), sort_keys=True) for value in state["values"]
            )
    for handle in subtask.get("managedOperatorState", ()):
        for name, state in handle["states"].items():
            if "values" in state:
                is_map = state["mode"] == "BROADCAST"
                facts[*where, "elements", name] = [state["values"]] if is_map else state["values"]
    return facts


def _expected_parts(subtask: dict) -> dict[str, int | None]:
    return {
        "raw keyed state": subtask.get("rawKeyedStateBytes"),
        "operator state": sum(one["bytes"] for one in subtask.get("managedOperatorState", ())),
        "in flight, at the input": _sizes(subtask.get("inputChannels", ())),
        "in flight, at the output": _sizes(subtask.get("resultSubpartitions", ())),
    }


def _sizes(channels: list[dict]) -> int:
    return sum(one["handleSize"] for one in channels)


def _keyed(value: dict) -> dict:
    """Return a value without the void namespace; the value of a timer is its time stamp."""
    found = dict(value)
    if found.get("namespace", True) is None:
        del found["namespace"]
    if "timestamp" in found:
        found["value"] = found.pop("timestamp")
    return found


# --- what is found --------------------------------------------------------------------------------


def found_facts(checkpoint: CheckpointInventory, own: list[StateEntry], wanted: Facts) -> Facts:
    """Return the facts of a checkpoint with its entries; values only where they are wanted."""
    facts: Facts = {("id",): checkpoint.id, ("bytes",): checkpoint.bytes}
    facts["kind",] = checkpoint.kind
    facts |= {("fact", fact.name): fact.value for fact in checkpoint.facts}
    facts["hooks",] = sum(fact.name.startswith("hook ") for fact in checkpoint.facts)
    facts["in flight", "buffers"] = sum(one.buffers for one in checkpoint.channels)
    facts["in flight", "bytes"] = sum(one.bytes for one in checkpoint.channels)
    for operator in checkpoint.operators:
        facts |= _found_operator(operator)
    states: dict[tuple, list[StateEntry]] = {}
    for entry in own:
        states.setdefault((entry.operator, entry.subtask, entry.state), []).append(entry)
    for operator, subtask, kind, name in [where for where in wanted if len(where) == 4]:
        if kind == "values":
            found = states.get((operator, subtask, name), ())
            facts[operator, subtask, kind, name] = Counter(
                dumps(_shown(entry), sort_keys=True) for entry in found
            )
        elif kind == "elements":
            found = states.get((operator, subtask, name), ())
            facts[operator, subtask, kind, name] = _elements(found)
    return facts


def _found_operator(operator: OperatorInventory) -> Facts:
    of = operator.id
    facts: Facts = {
        (of, "name"): operator.name,
        (of, "uid"): operator.uid,
        (of, "parallelism"): operator.parallelism,
        (of, "max"): operator.max_parallelism,
        (of, "finished"): operator.finished,
        (of, "bytes"): operator.bytes,
        (of, "coordinator"): None,
    }
    for subtask in operator.subtasks:
        if subtask.index < 0:
            facts[of, "coordinator"] = subtask.bytes
            continue
        where = of, subtask.index
        facts[*where, "finished"] = subtask.finished
        facts[*where, "bytes"] = subtask.bytes
        facts[*where, "key groups"] = subtask.key_groups
        facts[*where, "keyed"] = subtask.parts.get("keyed state")
        facts |= {(*where, part): size for part, size in subtask.parts.items()}
        for state in operator.states:
            facts[*where, "kind", state.name] = state.kind
    return facts


def _shown(entry: StateEntry) -> dict:
    found = {"keyGroup": entry.key_group, "key": as_flink(entry.key)}
    found["value"] = "opaque" if isinstance(entry.value, NotRead) else as_flink(entry.value)
    if entry.namespace is not None:
        found["namespace"] = as_flink(entry.namespace)
    return found


def _elements(found: list[StateEntry]) -> list[object]:
    assert [entry.key for entry in found] == list(range(len(found)))
    return ["opaque" if isinstance(one.value, NotRead) else as_flink(one.value) for one in found]

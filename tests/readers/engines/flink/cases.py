"""Compare the real Flink cases of the shared data with their expected.json.

Expected and actual values are facts, {path: value}, which are compared and counted one by one.
"""

import json
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.channels.elements import RECORD, WATERMARK, Element
from snapshots.readers.engines.flink.channels.in_flight import Half
from snapshots.readers.engines.flink.channels.joining import Channel, Joined
from snapshots.readers.engines.flink.checkpoint_kind import SAVEPOINT, Properties
from snapshots.readers.engines.flink.handles import (
    INPUT,
    Changelog,
    Channels,
    EmptySegment,
    Incremental,
    Keyed,
    KeyGroups,
    OperatorState,
)
from snapshots.readers.engines.flink.metadata import Metadata, Operator
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from snapshots.readers.engines.flink.types.element_types import decoded, parse_type
from snapshots.readers.engines.flink.upload import FlinkUpload, StoredCheckpoint, read_upload
from snapshots.readers.formats.opaque import Opaque

CASES = (
    "aligned-hashmap-files", "aligned-hashmap-inline", "at-least-once", "bank-aligned",
    "bank-unaligned", "bounded", "changelog", "changelog-files", "compressed-orders", "failures",
    "file-merging", "forst-async-state", "rescaled", "rocksdb-full", "rocksdb-incremental",
    "savepoint-canonical", "savepoint-native", "sql-group-agg", "two-pipelines", "types",
    "types-nulls", "unaligned-orders", "v2-bank-fs", "v3-orders-rocksdb", "v4-unaligned-orders",
    "v5-unaligned-bank", "windows-timers",
)  # fmt: skip
LEGACY = (
    "flink1.12-heap-timers", "flink1.15-hashmap-native-savepoint", "flink1.18-sql-join",
    "flink1.19-rocksdb-checkpoint", "flink1.3-operator-state", "flink1.9-broadcast-and-keyed",
)  # fmt: skip
UNALIGNED = ("bank-unaligned", "unaligned-orders", "v4-unaligned-orders", "v5-unaligned-bank")

# The types that the jobs send, by the receiving operator, as the pages of the cases say.
ON_THE_WIRE = {
    "withdraw": "tuple<string,string,long>",
    "deposit": "tuple<string,string,long>",
    "enrich 0": "pojo demo.Order",
    "enrich 1": "tuple<string,double>",
    "apply-rules": "tuple<string,string,long>",
    "slow-sink": "string",
}
Facts = dict[tuple, object]


@dataclass(frozen=True)
class Case:
    """One case with its expected.json, and its files and REST answers as they were read."""

    name: str
    folder: Path
    expected: dict
    upload: FlinkUpload

    @property
    def has_graph(self) -> bool:
        return any(job.rest is not None for job in self.upload.jobs)

    def snapshots(self) -> list[tuple[dict, StoredCheckpoint]]:
        """Return each expected snapshot with the checkpoint that was read."""
        stored = {each.path: each for each in self.upload.checkpoints()}
        if "snapshots" in self.expected:
            return [(expected, stored[expected["path"]]) for expected in self.expected["snapshots"]]
        (only,) = stored.values()
        return [({"path": only.path, "flink": self.expected["flinkMetadata"]}, only)]


@cache
def load(shared_data: Path, name: str) -> Case:
    folder = shared_data / ("flink" if name in CASES else "flink-legacy") / name
    expected = json.loads((folder / "expected.json").read_text())
    return Case(name, folder, expected, read_upload(folder))


def agreement(case: Case) -> dict[str, int]:
    """Count the facts about a case's snapshots that are compared, and those that agree."""
    compared = agreed = 0
    for expected, stored in case.snapshots():
        facts = expected_facts(expected, graph=case.has_graph)
        actual = found_facts(case.upload, stored)
        compared += len(facts)
        agreed += sum(path in actual and actual[path] == fact for path, fact in facts.items())
    return {"compared": compared, "agreed": agreed}


# Expected facts


def expected_facts(snapshot: dict, *, graph: bool = True) -> Facts:
    """Return the expected facts; without REST answers (``graph``) no edge is known."""
    flink = snapshot["flink"]
    facts = {
        ("version",): flink["metadataVersion"],
        ("checkpoint id",): flink["checkpointId"],
        ("master states",): flink["masterStates"],
        ("size",): flink["stateSize"],
        ("properties",): _without_action(flink["properties"]),
    }
    for operator in flink["operators"]:
        facts |= _expected_operator(operator)
    if rest := snapshot.get("restSizes"):
        facts |= {("rest", name): value for name, value in rest.items()}
        facts["rest", "subtask size"] = snapshot["sumOfSubtaskStateSizes"]
    if total := snapshot.get("inFlight"):
        facts |= {("in flight", name): value for name, value in total.items()}
    for edge in flink.get("inFlightRecords", ()):
        facts |= _expected_edge(edge)
    for edge in (snapshot.get("recordsInFlight") or ()) if graph else ():
        facts["records", edge["from"], edge["to"]] = edge["recordsInChannelState"]
    return facts


def _without_action(properties: str) -> str | None:
    text = re.sub(r"postCheckpointAction=\w+, ", "", properties)
    return None if text == "null" else text


def _expected_operator(operator: dict) -> Facts:
    id = operator["id"]
    facts = {
        (id, key): operator[key]
        for key in ("name", "uid", "parallelism", "maxParallelism", "fullyFinished",
                    "coordinatorBytes", "stateSize", "checkpointedSize")
    }  # fmt: skip
    for subtask in operator["subtasks"]:
        where = id, subtask["index"]
        facts[*where, "finished"] = subtask["finished"]
        facts[*where, "size"] = subtask.get("stateSize", 0)
        if "rawKeyedStateBytes" in subtask:
            facts[*where, "raw keyed"] = subtask["rawKeyedStateBytes"]
        for handle in subtask.get("managedKeyedState", ()):
            facts |= {
                (*where, "keyed", key): value for key, value in handle.items() if key != "states"
            }
        for handle in subtask.get("managedOperatorState", ()):
            facts |= _expected_operator_state((*where, "operator"), handle)
        for side, names in (
            ("inputChannels", ("gate", "channel")),
            ("resultSubpartitions", ("partition", "subpartition")),
        ):
            for channel in subtask.get(side, ()):
                place = tuple(channel[name] for name in names)
                for key in ("handleSize", "bufferSizes", "bytes", "handle"):
                    facts[*where, side, place, key] = channel[key]
    return facts


def _expected_operator_state(where: tuple, handle: dict) -> Facts:
    facts = {(*where, "bytes"): handle["bytes"]}
    if "handle" in handle:
        facts[*where, "handle"] = handle["handle"]
    for name, state in handle["states"].items():
        facts |= {(*where, name, key): value for key, value in state.items()}
    return facts


def _expected_edge(edge: dict) -> Facts:
    facts = {}
    for channel in edge["channels"]:
        where = "edge", edge["from"], edge["partition"], edge["to"], edge["gate"]
        facts |= {
            (*where, channel["channel"], key): value
            for key, value in channel.items()
            if key != "channel"
        }
    return facts


# Actual facts


def found_facts(upload: FlinkUpload, stored: StoredCheckpoint) -> Facts:
    metadata = stored.metadata
    facts = {
        ("version",): metadata.version,
        ("checkpoint id",): metadata.checkpoint_id,
        ("master states",): len(metadata.master_states),
        ("size",): metadata.size,
        ("properties",): _properties(metadata),
    }
    for operator in metadata.operators:
        facts |= _operator(operator)
    for state in checkpoint_state.operator_states(upload, stored):
        if not state.raw:
            facts |= _operator_state(state)
    facts |= _rest(stored)
    in_flight = checkpoint_state.in_flight(upload, stored)
    for half in in_flight.halves:
        facts |= _half(half)
    facts |= {
        ("in flight", "channelEntries"): len(in_flight.halves),
        ("in flight", "buffers"): sum(len(half.buffers) for half in in_flight.halves),
        ("in flight", "bytes"): in_flight.byte_count,
    }
    return facts | _edges(upload, stored)


def _properties(metadata: Metadata) -> str | None:
    properties = metadata.properties
    if not isinstance(properties, Properties):
        return None
    name = f"name='{properties.name}'"
    kind = f"CheckpointType{{{name}, sharingFilesStrategy={properties.sharing}}}"
    if properties.kind == SAVEPOINT:
        kind = f"SavepointType{{{name}, formatType={properties.format.upper()}}}"
    flags = {name: str(value).lower() for name, value in properties.flags.items()}
    ends = ("Subsumed", "Finished", "Cancelled", "Failed", "Suspended")
    discards = ", ".join(f"discard{end}={flags['discard' + end]}" for end in ends)
    return f"CheckpointProperties{{forced={flags['forced']}, checkpointType={kind}, {discards}}}"


def _operator(operator: Operator) -> Facts:
    id = operator.id
    facts = {
        (id, "name"): operator.name,
        (id, "uid"): operator.uid,
        (id, "parallelism"): operator.parallelism,
        (id, "maxParallelism"): operator.max_parallelism,
        (id, "fullyFinished"): operator.finished,
        (id, "coordinatorBytes"): operator.coordinator and operator.coordinator.size,
        (id, "stateSize"): operator.size,
        (id, "checkpointedSize"): operator.uploaded_size,
    }
    for subtask in operator.subtasks:
        where = id, subtask.index
        facts[*where, "finished"] = subtask.finished
        facts[*where, "size"] = subtask.size
        if subtask.raw_keyed is not None:
            facts[*where, "raw keyed"] = subtask.raw_keyed.size
        if subtask.managed_keyed is not None:
            facts |= _keyed((*where, "keyed"), subtask.managed_keyed)
        for handle in (*subtask.inputs, *subtask.outputs):
            facts |= _channel_handles(where, handle)
    return facts


def _keyed(where: tuple, handle: Keyed) -> Facts:
    name = {Incremental: "IncrementalRemoteKeyedStateHandle",
            Changelog: "ChangelogStateBackendHandleImpl"}.get(type(handle))  # fmt: skip
    if isinstance(handle, KeyGroups):
        name = "KeyGroupsSavepointStateHandle" if handle.savepoint else "KeyGroupsStateHandle"
    facts = {
        (*where, "handle"): name,
        (*where, "keyGroups"): [handle.first, handle.first + handle.count - 1],
        (*where, "stateSize"): handle.size,
        (*where, "checkpointedSize"): handle.uploaded_size,
    }
    if isinstance(handle, Incremental):
        facts[*where, "sharedFiles"] = len(handle.shared)
        facts[*where, "privateFiles"] = len(handle.private)
    return facts


def _channel_handles(where: tuple, handle: Channels) -> Facts:
    is_input = handle.side == INPUT
    name = "InputChannelStateHandle" if is_input else "ResultSubpartitionStateHandle"
    side = "inputChannels" if is_input else "resultSubpartitions"
    merged = "Merged" if handle.merged else ""
    return {(*where, side, part.place, "handle"): merged + name for part in handle.parts}


def _half(half: Half) -> Facts:
    side = "inputChannels" if half.side == INPUT else "resultSubpartitions"
    where = half.operator, half.subtask, side, half.place
    return {
        (*where, "handleSize"): half.size,
        (*where, "bufferSizes"): list(map(len, half.buffers)),
        (*where, "bytes"): half.byte_count,
    }


def _operator_state(state: checkpoint_state.SubtaskState) -> Facts:
    where = state.operator.id, state.subtask.index, "operator"
    facts = {
        (*where, "bytes"): state.handle.size,
        (*where, "handle"): _operator_handle(state.handle),
    }
    for offsets, elements in zip(state.handle.states, state.contents.states, strict=True):
        values = [element.value for element in elements.elements]
        if elements.mode == "BROADCAST" and len(values) == 1:
            (values,) = values
        facts |= {
            (*where, elements.name, "mode"): elements.mode,
            (*where, elements.name, "offsets"): len(offsets.offsets),
            (*where, elements.name, "entries"): 0 if isinstance(values, Opaque) else len(values),
            (*where, elements.name, "values"): values,
        }
    return facts


def _operator_handle(handle: OperatorState) -> str:
    merging = "FileMerging" if handle.merging else ""
    empty = "Empty" if isinstance(handle.stream, EmptySegment) else ""
    return f"{empty}{merging}OperatorStreamStateHandle"


def _rest(stored: StoredCheckpoint) -> Facts:
    if stored.rest is None:
        return {}
    totals = stored.rest.totals
    return {
        ("rest", "state_size"): totals.state_size,
        ("rest", "checkpointed_size"): totals.uploaded_size,
        ("rest", "persisted_data"): totals.persisted,
        ("rest", "processed_data"): totals.processed,
        ("rest", "checkpoint_type"): stored.rest.kind,
        ("rest", "is_savepoint"): stored.rest.is_savepoint,
        ("rest", "external_path"): stored.rest.path,
        ("rest", "subtask size"): _size_of_subtasks(stored.metadata),
    }


def _size_of_subtasks(metadata: Metadata) -> int:
    """Return the state size in bytes as Flink's REST API counts it, without coordinators."""
    return metadata.size - sum(operator.coordinator_size for operator in metadata.operators)


def _edges(upload: FlinkUpload, stored: StoredCheckpoint) -> Facts:
    joined = checkpoint_state.channels(upload, stored)
    known = checkpoint_state.state_types(upload, stored)
    ends = _ends(upload, stored, joined)
    facts = {}
    for edge in joined.edges:
        source, target = ends[edge.source, edge.target, edge.gate]
        wire = ON_THE_WIRE.get(target) or ON_THE_WIRE.get(f"{target} {edge.gate}")
        facts["records", source, target] = sum(
            channel.elements.count(RECORD) for channel in edge.channels if channel.elements
        )
        for channel in edge.channels:
            ids = _id_of(source, stored), _id_of(target, stored)
            ends_of_channel = f"{channel.source}->{channel.target}"
            where = "edge", ids[0], edge.partition, ids[1], edge.gate, ends_of_channel
            type_ = parse_type(wire, known)
            facts |= {(*where, key): value for key, value in _channel(channel, type_).items()}
    return facts


def _ends(upload: FlinkUpload, stored: StoredCheckpoint, joined: Joined) -> dict:
    """Return the operators at each edge's ends: the last of a chain and the first of the next."""
    graph = next((job.rest.graph for job in upload.jobs if job.id == stored.job and job.rest), None)
    names = {}
    for vertex in graph.vertices if graph else ():
        first, last = vertex.members[0], vertex.members[-1]
        names[vertex.id] = first, last
    return {
        (edge.source, edge.target, edge.gate): (names[edge.source][1], names[edge.target][0])
        for edge in joined.edges
    }


def _id_of(name: str, stored: StoredCheckpoint) -> str:
    """Return the name of an edge's operator in the case: an id in version 4, which has no names."""
    return id_of_uid(name) if stored.metadata.version == 4 else name


def _channel(channel: Channel, type_) -> dict[str, object]:
    elements = channel.elements
    shown = [
        {"record": decoded(element, type_), "timestamp": element.timestamp}
        if element.kind == RECORD
        else {"watermark": element.timestamp}
        for element in elements
    ]
    return {
        "inputBytes": channel.input_bytes,
        "outputBytes": channel.output.byte_count if channel.output else 0,
        "elements": len(elements),
        "records": elements.count(RECORD),
        "watermarks": elements.count(WATERMARK),
        "elementsWhollyInInputChannel": elements.wholly_before(channel.input_bytes),
        "sha256": sha256(channel.data()).hexdigest(),
        "firstElements": shown[:3],
        "lastElements": shown[-3:],
        "sumOfThirdField": _sum_of_third(elements, type_),
    }


def _sum_of_third(elements: list[Element], type_) -> int | None:
    if not type_.name.startswith("tuple<string,string,long>"):
        return None
    return sum(decoded(element, type_)[2] for element in elements if element.kind == RECORD)

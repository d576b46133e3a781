"""Topology documents: checked, and read from the texts that people have.

A document is ``{"name", "processes": [{"id", "state"}], "channels": [{"id", "source", "target",
"fifo"}], "layout": {process: [x, y]}}``. That of a dataflow is ``{"name", "dataflow": {"vertices",
"edges"}}``, and its processes and channels follow from it. Whatever is wrong is a ``Refused`` with
a field, and with a line if the text has lines.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from snapshots.domain.dataflow_logs.dataflow import Dataflow
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.domain.model.values import canonical
from snapshots.problems import Refused
from snapshots.simulating.dataflow_documents import checked_dataflow, expanded

MAX_PROCESSES = 2_000
MAX_CHANNELS = 20_000
MAX_ID_LENGTH = 200
MAX_TEXT_BYTES = 4 * 1024**2

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_EDGE = re.compile(r"\s*(?:<->|->|,|\s)\s*")


def checked(document: Any) -> dict[str, Any]:
    """Return the document with every default filled in. Raises: Refused."""
    if not isinstance(document, Mapping):
        raise _refused("A topology is an object with processes and channels.", "wrong-type")
    if document.get("dataflow") is not None:
        name = checked_name(document.get("name", "dataflow"))
        return {"name": name, **document_of_dataflow(_dataflow(document["dataflow"]))}
    processes = _processes(_sequence(document.get("processes"), "processes"))
    ids = {process["id"] for process in processes}
    channels = _channels(_sequence(document.get("channels", []), "channels"), ids)
    return {
        "name": checked_name(document.get("name", "topology")),
        "processes": processes,
        "channels": channels,
        "layout": _layout(document.get("layout") or {}, ids),
    }


def checked_name(name: Any, field: str = "name") -> str:
    """Return a name of 1 to 200 characters without control characters. Raises: Refused."""
    if not isinstance(name, str):
        raise _refused("A name is a text.", "wrong-type", field)
    name = name.strip()
    if not name or len(name) > MAX_ID_LENGTH:
        raise _refused(f"A name has 1 to {MAX_ID_LENGTH} characters.", "invalid-field", field)
    if _CONTROL.search(name) or not _is_unicode(name):
        raise _refused("The name holds control characters.", "invalid-field", field)
    return name


def as_domain(document: Mapping[str, Any]) -> Topology:
    """Return the domain's topology of a checked document."""
    return Topology(
        processes=tuple(
            Process(item["id"], canonical(item["state"]) if "state" in item else None)
            for item in document["processes"]
        ),
        channels=tuple(
            Channel(item["id"], item["source"], item["target"], item["fifo"])
            for item in document["channels"]
        ),
    )


def document_of(topology: Topology) -> dict[str, Any]:
    """Return the definition of a topology of the domain, without a name."""
    return {
        "processes": [
            {"id": item.id} | ({} if item.state is None else {"state": orjson.loads(item.state)})
            for item in topology.processes
        ],
        "channels": [
            {"id": item.id, "source": item.source, "target": item.target, "fifo": item.fifo}
            for item in topology.channels
        ],
        "layout": {},
    }


def document_of_dataflow(dataflow: Dataflow) -> dict[str, Any]:
    """Return the definition of a dataflow, with the topology of subtasks that it runs as."""
    return {"dataflow": as_json(dataflow), **document_of(expanded(dataflow))}


def read(text: str, name: str = "topology") -> dict[str, Any]:
    """Return the checked document in a ``.top`` file, JSON or an edge list; the content decides
    which.

    ``name``: the name of a document that has none. Raises: Refused.
    """
    if len(text) > MAX_TEXT_BYTES:
        raise _refused(f"A topology has at most {MAX_TEXT_BYTES:,} bytes.", "too-large")
    stripped = text.lstrip("\ufeff \t\r\n")
    if not stripped:
        raise _refused("The topology is empty.", "empty")
    if stripped[0] in "{[":
        return _read_json(stripped, name)
    lines = list(_content_lines(text))
    if lines and lines[0][1].isdecimal():
        return checked({"name": name, **_read_top(lines)})
    return checked({"name": name, **_read_edges(lines)})


def decoded(raw: bytes) -> str:
    """Return the text of UTF-8. Raises: Refused, with the line, if it is not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        sentence = f"Line {line} is not UTF-8. Is this a text?"
        raise _refused(sentence, "not-utf8", line=line) from None


def _read_json(text: str, name: str) -> dict[str, Any]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _refused(f"Not JSON: {error.msg}.", "not-json", line=error.lineno) from None
    if isinstance(document, dict):
        document = {"name": name} | {k: v for k, v in document.items() if v != ""}
    return checked(document)


def _read_top(lines: list[tuple[int, str]]) -> dict[str, Any]:
    """Read the number of processes, a line ``ID TOKENS`` for each, then lines ``SRC DST``."""
    count, rest = int(lines[0][1][:9]), lines[1:]
    if len(rest) < count:
        raise _refused(
            f"Line {lines[0][0]} announces {count} processes, but {len(rest)} lines follow.",
            "truncated",
            "processes",
            lines[0][0],
        )
    processes = []
    for number, line in rest[:count]:
        parts = line.split()
        if len(parts) != 2 or not re.fullmatch(r"-?[0-9]{1,18}", parts[1]):
            raise _refused(
                f"Line {number}: expected a process and its tokens, “A 10”, not “{line[:80]}”.",
                "wrong-type",
                "processes",
                number,
            )
        processes.append({"id": parts[0], "state": {"tokens": int(parts[1])}})
    channels = [_edge(number, line.split()) for number, line in rest[count:]]
    return {"processes": processes, "channels": channels}


def _read_edges(lines: list[tuple[int, str]]) -> dict[str, Any]:
    """Read lines ``A B``, ``A,B``, ``A -> B`` or ``A <-> B`` (a channel each way)."""
    channels = []
    for number, line in lines:
        edge = _edge(number, [part for part in _EDGE.split(line) if part])
        channels.append(edge)
        if "<->" in line:
            channels.append({"source": edge["target"], "target": edge["source"]})
    ids = dict.fromkeys(end for edge in channels for end in (edge["source"], edge["target"]))
    return {"processes": [{"id": process} for process in ids], "channels": channels}


def _edge(number: int, parts: Sequence[str]) -> dict[str, str]:
    if len(parts) != 2:
        raise _refused(
            f"Line {number}: expected two processes, “A B”, and found {len(parts)} words.",
            "wrong-type",
            "channels",
            number,
        )
    return {"source": parts[0], "target": parts[1]}


def _content_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = line.strip()
        if line and not line.startswith("#"):
            yield number, line


def _dataflow(document: Any) -> Dataflow:
    dataflow = checked_dataflow(document, most_processes=MAX_PROCESSES, most_channels=MAX_CHANNELS)
    for index, vertex in enumerate(dataflow.vertices):
        checked_name(vertex.id, f"dataflow.vertices[{index}].id")
    return dataflow


def _processes(items: Sequence[Any]) -> list[dict[str, Any]]:
    if not 1 <= len(items) <= MAX_PROCESSES:
        raise _refused(
            f"A topology has 1 to {MAX_PROCESSES:,} processes; this one has {len(items):,}.",
            "too-many-processes",
            "processes",
        )
    processes: dict[str, dict[str, Any]] = {}
    for index, item in enumerate(items):
        field = f"processes[{index}]"
        item = {"id": item} if isinstance(item, str) else _mapping(item, field)
        process: dict[str, Any] = {"id": checked_name(item.get("id"), f"{field}.id")}
        if "state" in item:
            process["state"] = _state(item["state"], f"{field}.state")
        elif "tokens" in item:
            process["state"] = {"tokens": _state(item["tokens"], f"{field}.tokens")}
        if process["id"] in processes:
            raise _refused(f"Two processes have the id “{process['id']}”.", "invalid-field", field)
        processes[process["id"]] = process
    return list(processes.values())


def _channels(items: Sequence[Any], processes: set[str]) -> list[dict[str, Any]]:
    if len(items) > MAX_CHANNELS:
        raise _refused(
            f"A topology has at most {MAX_CHANNELS:,} channels; this one has {len(items):,}.",
            "too-many-channels",
            "channels",
        )
    channels: dict[str, dict[str, Any]] = {}
    for index, item in enumerate(items):
        channel = _channel(item, f"channels[{index}]", processes)
        if channel["id"] in channels:
            raise _refused(
                f"Two channels have the id “{channel['id']}”. Give one of them another id.",
                "invalid-field",
                f"channels[{index}].id",
            )
        channels[channel["id"]] = channel
    return list(channels.values())


def _channel(item: Any, field: str, processes: set[str]) -> dict[str, Any]:
    if isinstance(item, list) and len(item) == 2:
        item = {"source": item[0], "target": item[1]}
    item = _mapping(item, field)
    ends = [item.get("source"), item.get("target")]
    for end, process in zip(("source", "target"), ends, strict=True):
        if not isinstance(process, str) or process not in processes:
            raise _refused(
                f"The {end} of a channel is not one of the processes.",
                "unknown-process",
                f"{field}.{end}",
            )
    if ends[0] == ends[1]:
        raise _refused("A channel joins two different processes.", "wrong-end", f"{field}.target")
    fifo = item.get("fifo", True)
    if not isinstance(fifo, bool):
        raise _refused("fifo is true or false.", "wrong-type", f"{field}.fifo")
    name = checked_name(item.get("id") or "->".join(ends)[:MAX_ID_LENGTH], f"{field}.id")
    return {"id": name, "source": ends[0], "target": ends[1], "fifo": fifo}


def _state(state: Any, field: str) -> Any:
    """Check that a state is JSON whose whole numbers fit 64 bits, and return it."""
    if isinstance(state, Mapping):
        return {key: _state(item, field) for key, item in state.items()}
    if isinstance(state, list):
        return [_state(item, field) for item in state]
    if isinstance(state, float) and not math.isfinite(state):
        raise _refused("NaN and infinities are no numbers of JSON.", "not-finite", field)
    if isinstance(state, int | float) and abs(state) >= 2**63:
        raise _refused("A number is beyond 64 bits.", "number-range", field)
    return state


def _layout(layout: Any, processes: set[str]) -> dict[str, list[float]]:
    positions = {}
    for process, position in _mapping(layout, "layout").items():
        if process not in processes:
            raise _refused(
                f"The layout places “{process[:80]}”, which is not one of the processes.",
                "unknown-process",
                "layout",
            )
        if not _is_position(position):
            raise _refused("A place is [x, y], both in 0..1.", "wrong-type", f"layout.{process}")
        positions[process] = [float(part) for part in position]
    return positions


def _is_position(position: Any) -> bool:
    return (
        isinstance(position, list)
        and len(position) == 2
        and all(isinstance(part, int | float) and not isinstance(part, bool) for part in position)
        and all(0 <= part <= 1 for part in position)
    )


def _sequence(items: Any, field: str) -> Sequence[Any]:
    if not isinstance(items, list):
        raise _refused(f"{field} is a list.", "wrong-type", field)
    return items


def _mapping(item: Any, field: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise _refused("Expected an object.", "wrong-type", field)
    return item


def _is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)


def _refused(
    sentence: str, code: str, field: str | None = None, line: int | None = None
) -> Refused:
    return Refused(sentence, code=code, field=field, line=line)

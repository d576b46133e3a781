"""Turns the native header from JSON into a Header and back, and names each fault by its field.

Readers of other logs with a header share the first half: reading the line, and its checks.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import orjson

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, defect, quoted, refuse
from snapshots.domain.model.topology import Channel, ChannelId, JsonText, Process, Topology
from snapshots.readers.formats.fields import (
    LONGEST_NAME,
    Check,
    Unfit,
    given_name_problem,
    json_problem,
    json_text,
    text_problem,
)
from snapshots.readers.formats.head import Head
from snapshots.readers.formats.json_lines import object_on
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.lines import first_line

FORMAT = "cutline"
VERSION = 1
_HEADER_FIELDS = {"kind", "format", "version", "name", "time_unit", "processes", "channels"}
_LONGEST_UNIT = 16  # characters

Part = TypeVar("Part", Process, Channel)

TOLD = "told"
"""The field of a header with what a reader itself found, as objects of ``level`` and ``text``."""
MOST_TOLD = 10  # sentences


def names_format(head: Head, format: str) -> bool:
    """Return whether an input begins with a header that names this format."""
    fields = head.fields or {}
    return fields.get("kind") == "header" and fields.get("format") == format


def channel_id(source: str, target: str) -> ChannelId:
    """Return the id of a channel that its log names only by its ends."""
    return ChannelId(f"{source}->{target}")


def header_object(source: Path, limits: Limits) -> tuple[dict, int]:
    """Return the object on the first line that is not blank, and the line's number.

    Raises: InputRefused.
    """
    line, text = first_line(source, limits)
    return object_on(text, line), line


def require_header(fields: Mapping[str, object], line: int, sentence: str) -> None:
    """Check that a line is a header. Raises: InputRefused with the sentence."""
    if fields.get("kind") != "header":
        raise refuse("header-missing", sentence, line=line, field="kind")


class HeaderFaults:
    """Collects what is wrong with a header, each fault with the path of its field."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._defects = Defects()

    def add(self, field: str, reason: str) -> None:
        sentence = f"In the header, {field} {reason}."
        self._defects.add(defect("header-invalid", sentence, line=self._line, field=field))

    def passes(self, field: str, value: object, check: Check) -> bool:
        """Return whether a value passes a check; if not, add the fault."""
        problem = check(value)
        if problem is not None:
            self.add(field, problem[1])
        return problem is None

    def check_version(self, fields: Mapping[str, object], version: int) -> None:
        given = fields.get("version")
        if type(given) is not int or given != version:
            self.add("version", f"must be {version}, not {quoted(given)}")

    def raise_any(self) -> None:
        """Raises: InputRefused with all faults, if there are any."""
        self._defects.raise_refused()


def check_counts(processes: int, channels: int, limits: Limits, line: int) -> None:
    """Check how much a header names.

    Raises: InputRefused (``too-many-processes``, ``too-many-channels``, ``header-invalid``).
    """
    if processes == 0:
        raise refuse(
            "header-invalid", "In the header, processes is empty.", line=line, field="processes"
        )
    for field, count, most in (
        ("processes", processes, limits.processes),
        ("channels", channels, limits.channels),
    ):
        if count > most:
            raise refuse(
                f"too-many-{field}",
                f"The header has {count:,} {field}; at most {most:,} are read here.",
                line=line,
                field=field,
            )


def further_fields(
    fields: Mapping[str, object], known: Iterable[str], faults: HeaderFaults
) -> dict[str, object]:
    """Return the fields that have no meaning here; one that cannot be kept as JSON is a fault."""
    further = {name: value for name, value in fields.items() if name not in known}
    if json_problem(further) is not None:  # quicker than each by itself, in a header with very many
        for name, value in further.items():
            faults.passes(name, value, json_problem)
    return further


def parse_header(fields: Mapping[str, object], line: int, limits: Limits) -> Header:
    """Return the header of a native recording. Raises: InputRefused with every fault."""
    _check_format(fields, line)
    processes = fields.get("processes")
    channels = [] if fields.get("channels") is None else fields["channels"]
    faults = HeaderFaults(line)
    if not isinstance(processes, list):
        faults.add("processes", "must be a list of processes")
        processes = []
    if not isinstance(channels, list):
        faults.add("channels", "must be a list of channels")
        channels = []
    faults.raise_any()
    check_counts(len(processes), len(channels), limits, line)
    name = _text(fields, "name", "", faults)
    unit = _text(fields, "time_unit", "us", faults)
    if not 1 <= len(unit) <= _LONGEST_UNIT:
        faults.add("time_unit", f"must have 1 to {_LONGEST_UNIT} characters")
    topology, further = _topology(processes, channels, faults)
    extra = further_fields(fields, _HEADER_FIELDS, faults)
    faults.raise_any()
    return Header(name, unit, topology, extra | further)


def _check_format(fields: Mapping[str, object], line: int) -> None:
    require_header(
        fields,
        line,
        'The first line is not the header: it must be an object with "kind":"header" that '
        "names the processes and channels.",
    )
    faults = HeaderFaults(line)
    if fields.get("format") != FORMAT:
        faults.add("format", f"must be {quoted(FORMAT)}, not {quoted(fields.get('format'))}")
    faults.raise_any()
    faults.check_version(fields, VERSION)
    faults.raise_any()


def _text(fields: Mapping[str, object], field: str, default: str, faults: HeaderFaults) -> str:
    value = fields.get(field)
    if value is None:
        return default
    if not isinstance(value, str):
        faults.passes(field, value, text_problem)
        return default
    if "\x00" in value:
        faults.add(field, "must not hold a NUL character")
    if len(value) > LONGEST_NAME:
        faults.add(field, f"must not be longer than {LONGEST_NAME} characters")
    return value


def _topology(
    processes: list, channels: list, faults: HeaderFaults
) -> tuple[Topology, dict[str, object]]:
    """Return the topology, and the fields without meaning as {"channels": {id: fields}, …}."""
    further: dict[str, dict[str, object]] = {"processes": {}, "channels": {}}
    nodes: dict[str, Process] = {}
    for place, item in enumerate(processes):
        _part(item, f"processes[{place}]", nodes, faults, further["processes"], _process)
    links: dict[str, Channel] = {}
    for place, item in enumerate(channels):
        path = f"channels[{place}]"
        _part(item, path, links, faults, further["channels"], _channel)
        if isinstance(item, dict):
            _check_ends(item, path, nodes, faults)
    topology = Topology(tuple(nodes.values()), tuple(links.values()))
    return topology, {name: fields for name, fields in further.items() if fields}


def _part(
    item: object,
    path: str,
    parts: dict[str, Part],
    faults: HeaderFaults,
    further: dict[str, object],
    make: Callable[[dict, str, HeaderFaults], Part],
) -> None:
    """Add a process or channel to ``parts``, and its fields without meaning to ``further``."""
    if not isinstance(item, dict):
        faults.add(path, f"must be an object, not {quoted(item)}")
        return
    fields = dict(item)
    part = make(fields, path, faults)
    if not faults.passes(f"{path}.id", part.id, given_name_problem):
        return
    if part.id in parts:
        faults.add(f"{path}.id", f"is {quoted(part.id)}, which is used twice")
    parts[part.id] = part
    if fields and faults.passes(path, fields, json_problem):
        further[part.id] = fields


def _process(fields: dict, path: str, faults: HeaderFaults) -> Process:
    text = _state(fields.pop("state", None), path, faults)
    scope = fields.pop("scope", None)
    if scope is not None:
        faults.passes(f"{path}.scope", scope, given_name_problem)
    return Process(fields.pop("id", None), text, scope)


def _state(state: object, path: str, faults: HeaderFaults) -> JsonText | None:
    try:
        return None if state is None else JsonText(json_text(state))
    except Unfit as unfit:
        faults.add(f"{path}.state", unfit.problem[1])
        return None


def _channel(fields: dict, path: str, faults: HeaderFaults) -> Channel:
    fifo = _flag(fields, "fifo", True, path, faults)
    overtaking = _flag(fields, "overtaking", False, path, faults)
    source, target = fields.pop("source", None), fields.pop("target", None)
    return Channel(fields.pop("id", None), source, target, fifo, overtaking)


def _flag(fields: dict, name: str, default: bool, path: str, faults: HeaderFaults) -> bool:
    value = fields.pop(name, default)
    if type(value) is not bool:
        faults.add(f"{path}.{name}", f"must be true or false, not {quoted(value)}")
    return value


def _check_ends(item: dict, path: str, nodes: dict[str, Process], faults: HeaderFaults) -> None:
    for end in ("source", "target"):
        name = item.get(end)
        if type(name) is not str or name not in nodes:
            faults.add(f"{path}.{end}", f"must be one of the processes, not {quoted(name)}")
            return
    source, target = (nodes[item[end]].scope for end in ("source", "target"))
    if source != target:
        faults.add(
            path,
            f"leads from the scope {quoted(source)} to the scope {quoted(target)}; a snapshot "
            "is of one scope, so no channel may leave it",
        )


def header_text(header: Header) -> bytes:
    """Return the JSON of a native header; ``parse_header`` turns it into the same header again."""
    of_processes, of_channels = (_further(header, part) for part in ("processes", "channels"))
    fields = {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "name": header.name,
        "time_unit": header.time_unit,
        "processes": [
            _process_fields(process) | of_processes.get(process.id, {})
            for process in header.topology.processes
        ],
        "channels": [
            _channel_fields(channel) | of_channels.get(channel.id, {})
            for channel in header.topology.channels
        ],
    }
    extra = {
        key: value for key, value in header.extra.items() if key not in ("processes", "channels")
    }
    return orjson.dumps(fields | extra)


def _further(header: Header, part: str) -> dict[str, dict]:
    further = header.extra.get(part, {})
    assert isinstance(further, dict)  # as _topology writes it
    return further


def _process_fields(process: Process) -> dict[str, object]:
    fields: dict[str, object] = {"id": process.id}
    if process.state is not None:
        fields["state"] = orjson.Fragment(process.state)
    if process.scope is not None:
        fields["scope"] = process.scope
    return fields


def _channel_fields(channel: Channel) -> dict[str, object]:
    fields = {
        "id": channel.id,
        "source": channel.source,
        "target": channel.target,
        "fifo": channel.fifo,
    }
    return fields | {"overtaking": True} if channel.overtaking else fields

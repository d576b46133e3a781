"""The native header: JSON to a Header and back, with every fault named by its field."""

from collections.abc import Callable, Mapping

import orjson

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.defects import Defects, defect, quoted, refuse
from snapshots.domain.model.topology import Channel, Process, Topology
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
from snapshots.readers.formats.limits import Limits

FORMAT = "cutline"
VERSION = 1
_HEADER_FIELDS = {"kind", "format", "version", "name", "time_unit", "processes", "channels"}
_LONGEST_UNIT = 16  # characters


def names_format(head: Head, format: str) -> bool:
    """Return whether an input begins with a header that names this format."""
    fields = head.fields or {}
    return fields.get("kind") == "header" and fields.get("format") == format


class HeaderFaults:
    """Collects what is wrong with a header, each fault with the path of its field."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._defects = Defects()

    def add(self, field: str, reason: str) -> None:
        self._defects.add(
            defect(
                "header-invalid",
                f"In the header, {field} {reason}.",
                line=self._line,
                field=field,
            )
        )

    def passes(self, field: str, value: object, check: Check) -> bool:
        problem = check(value)
        if problem is not None:
            self.add(field, problem[1])
        return problem is None

    def raise_any(self) -> None:
        self._defects.raise_refused()


def check_counts(processes: int, channels: int, limits: Limits, line: int) -> None:
    """Raises: InputRefused (``too-many-processes``, ``too-many-channels``, ``header-invalid``)."""
    if processes == 0:
        raise refuse(
            "header-invalid", "In the header, processes is empty.", line=line, field="processes"
        )
    if processes > limits.processes:
        raise refuse(
            "too-many-processes",
            f"The header has {processes:,} processes; at most {limits.processes:,} are read here.",
            line=line,
            field="processes",
        )
    if channels > limits.channels:
        raise refuse(
            "too-many-channels",
            f"The header has {channels:,} channels; at most {limits.channels:,} are read here.",
            line=line,
            field="channels",
        )


def parse_header(fields: Mapping[str, object], line: int, limits: Limits) -> Header:
    """The header of a native recording. Raises: InputRefused with every fault found."""
    _check_format(fields, line)
    processes, channels = fields.get("processes"), fields.get("channels")
    faults = HeaderFaults(line)
    if type(processes) is not list:
        faults.add("processes", "must be a list of processes")
    if channels is not None and type(channels) is not list:
        faults.add("channels", "must be a list of channels")
    faults.raise_any()
    check_counts(len(processes), len(channels or ()), limits, line)
    name = _text(fields, "name", "", faults)
    unit = _text(fields, "time_unit", "us", faults)
    if not 1 <= len(unit) <= _LONGEST_UNIT:
        faults.add("time_unit", f"must have 1 to {_LONGEST_UNIT} characters")
    topology, further = _topology(processes, channels or [], faults)
    extra = {key: value for key, value in fields.items() if key not in _HEADER_FIELDS}
    if json_problem(extra) is not None:
        _find_faults(extra, faults)
    faults.raise_any()
    return Header(name, unit, topology, extra | further)


def _find_faults(extra: Mapping[str, object], faults: HeaderFaults) -> None:
    """Name the fields that cannot be kept; slow, where a header has very many of them."""
    for key, value in extra.items():
        faults.passes(key, value, json_problem)


def _check_format(fields: Mapping[str, object], line: int) -> None:
    if fields.get("kind") != "header":
        raise refuse(
            "header-missing",
            'The first line is not the header: it must be an object with "kind":"header" that '
            "names the processes and channels.",
            line=line,
            field="kind",
        )
    if fields.get("format") != FORMAT:
        raise refuse(
            "header-invalid",
            f"In the header, format must be {quoted(FORMAT)}, not {quoted(fields.get('format'))}.",
            line=line,
            field="format",
        )
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise refuse(
            "header-invalid",
            f"In the header, version must be {VERSION}, not {quoted(fields.get('version'))}.",
            line=line,
            field="version",
        )


def _text(fields: Mapping[str, object], field: str, default: str, faults: HeaderFaults) -> str:
    value = fields.get(field)
    if value is None:
        return default
    if not faults.passes(field, value, text_problem):
        return default
    if "\x00" in value:
        faults.add(field, "must not hold a NUL character")
    if len(value) > LONGEST_NAME:
        faults.add(field, f"must not be longer than {LONGEST_NAME} characters")
    return value


def _topology(
    processes: list, channels: list, faults: HeaderFaults
) -> tuple[Topology, dict[str, object]]:
    """The topology, and the fields of its parts that mean nothing here: {part: {id: fields}}."""
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
    return topology, {part: fields for part, fields in further.items() if fields}


def _part(
    item: object,
    path: str,
    parts: dict,
    faults: HeaderFaults,
    further: dict[str, object],
    make: Callable[[dict, str, HeaderFaults], Process | Channel],
) -> None:
    if type(item) is not dict:
        faults.add(path, f"must be an object, not {quoted(item)}")
        return
    fields = dict(item)
    part = make(fields, path, faults)
    if not faults.passes(f"{path}.id", part.id, given_name_problem):
        return
    if part.id in parts:
        faults.add(f"{path}.id", f"is {quoted(part.id)}, which stands twice")
    parts[part.id] = part
    if fields and faults.passes(path, fields, json_problem):
        further[part.id] = fields


def _process(fields: dict, path: str, faults: HeaderFaults) -> Process:
    text = _state(fields.pop("state", None), path, faults)
    scope = fields.pop("scope", None)
    if scope is not None:
        faults.passes(f"{path}.scope", scope, given_name_problem)
    return Process(fields.pop("id", None), text, scope)


def _state(state: object, path: str, faults: HeaderFaults) -> str | None:
    try:
        return None if state is None else json_text(state)
    except Unfit as unfit:
        faults.add(f"{path}.state", unfit.problem[1])
        return None


def _channel(fields: dict, path: str, faults: HeaderFaults) -> Channel:
    fifo = _flag(fields, "fifo", True, path, faults)
    overtaking = _flag(fields, "overtaking", False, path, faults)
    ends = [fields.pop(end, None) for end in ("source", "target")]
    return Channel(fields.pop("id", None), *ends, fifo, overtaking)


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
    """The JSON of a native header, for which ``parse_header`` gives the same header back."""
    further = {part: header.extra.get(part, {}) for part in ("processes", "channels")}
    fields = {
        "kind": "header",
        "format": FORMAT,
        "version": VERSION,
        "name": header.name,
        "time_unit": header.time_unit,
        "processes": [
            _process_fields(process) | further["processes"].get(process.id, {})
            for process in header.topology.processes
        ],
        "channels": [
            _channel_fields(channel) | further["channels"].get(channel.id, {})
            for channel in header.topology.channels
        ],
    }
    extra = {key: value for key, value in header.extra.items() if key not in further}
    return orjson.dumps(fields | extra)


def _process_fields(process: Process) -> dict[str, object]:
    known = {} if process.state is None else {"state": orjson.Fragment(process.state)}
    scope = {} if process.scope is None else {"scope": process.scope}
    return {"id": process.id} | known | scope


def _channel_fields(channel: Channel) -> dict[str, object]:
    overtaking = {"overtaking": True} if channel.overtaking else {}
    return {
        "id": channel.id,
        "source": channel.source,
        "target": channel.target,
        "fifo": channel.fifo,
    } | overtaking

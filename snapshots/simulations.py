"""Simulated recordings: what may be asked for, and the run as a native file."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any

from snapshots import topologies
from snapshots.domain.simulation import ALGORITHMS, Simulation, SnapshotStart, simulate
from snapshots.domain.topology import ChannelId, ProcessId, Topology
from snapshots.domain.workloads import WORKLOADS
from snapshots.problems import Refused
from snapshots.readers.native import write_lines
from snapshots.uploads import Draft

MOST_EVENTS = 1_000_000
MOST_SNAPSHOTS = 1_000
MOST_RECORDS = 2_000_000  # events that snapshots add: records, markers, and collecting
MOST_COLOURED = 50  # snapshots of Lai and Yang: every message names those its sender has recorded
LARGEST_TIME = 10**15  # us, some thirty years
LARGEST_SEED = 2**63 - 1
LARGEST_DELAY = 10**9  # us
DEFAULT_SNAPSHOTS = 3
_LINES_BETWEEN_REPORTS = 2_000
_MEMBERS = (
    "name",
    "workload",
    "algorithm",
    "seed",
    "events",
    "initiators",
    "snapshot_times",
    "snapshots",
    "mean_delay",
    "mean_pause",
    "drain",
    "collect",
    "reorder",
    "stuck",
    "silent",
)
_LATER = {"algorithm": "chandy-lamport", "collect": False, "reorder": [], "stuck": [], "silent": []}
"""What is lacking in the parameters of runs that were asked for before these were known."""


def checked_parameters(topology: Topology, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with every default filled in. Raises: Refused with the parameter as field.

    workload: a name of domain.workloads. algorithm: one of domain.simulation. events: about how
    many. snapshot_times: us; at each one snapshot begins, at all ``initiators`` together. Or, in
    place of these two, snapshots: a list of ``{"at", "initiators"}``. mean_delay, mean_pause: us.
    reorder, stuck: channels, silent: processes, as in domain.simulation.Simulation; reorder may be
    "all".
    """
    for name in parameters:
        if name not in _MEMBERS:
            raise _refused(f"There is no parameter {name[:60]!r}.", name[:60])
    name = parameters.get("name")
    checked = {
        "name": topologies.checked_name(name) if name else "",
        "workload": _one_of(parameters, "workload", WORKLOADS, "random"),
        "algorithm": _one_of(parameters, "algorithm", ALGORITHMS, "chandy-lamport"),
        "seed": _whole(parameters, "seed", 1, 0, LARGEST_SEED),
        "events": _whole(parameters, "events", 1000, 1, MOST_EVENTS),
        "mean_delay": _whole(parameters, "mean_delay", 2000, 0, LARGEST_DELAY),
        "mean_pause": _whole(parameters, "mean_pause", 2000, 0, LARGEST_DELAY),
        "drain": _flag(parameters, "drain", True),
        "collect": _flag(parameters, "collect", False),
        "reorder": _channels(topology, parameters, "reorder"),
        "stuck": _channels(topology, parameters, "stuck"),
        "silent": _processes(topology, parameters.get("silent") or [], "silent"),
    }
    checked |= _snapshots(topology, parameters, checked)
    _check_size(topology, checked)
    _check_beginnings(checked)
    return checked


def _one_of(parameters: Mapping[str, Any], field: str, names: Mapping, default: str) -> str:
    value = parameters.get(field, default)
    if not isinstance(value, str) or value not in names:
        raise _refused(f"The {field} is one of {', '.join(names)}.", field)
    return value


def _flag(parameters: Mapping[str, Any], field: str, default: bool) -> bool:
    value = parameters.get(field, default)
    if not isinstance(value, bool):
        raise _refused(f"{field} is true or false.", field)
    return value


def _whole(parameters: Mapping[str, Any], field: str, default: int, low: int, high: int) -> int:
    value = parameters.get(field)
    if value is None:
        return default
    if not _is_whole(value) or not low <= value <= high:
        raise _refused(f"{field} is a whole number from {low:,} to {high:,}.", field)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _channels(topology: Topology, parameters: Mapping[str, Any], field: str) -> list[str]:
    given = parameters.get(field) or []
    if given == "all" and field == "reorder":
        return [channel.id for channel in topology.channels]
    return _listed(given, topology.channel_by_id, "channel", field)


def _processes(topology: Topology, given: Any, field: str) -> list[str]:
    return _listed(given, topology.process_by_id, "process", field)


def _listed(given: Any, known: Mapping[str, Any], what: str, field: str) -> list[str]:
    """Each once. Raises: Refused, with the place in the list as field."""
    if not isinstance(given, list):
        raise _refused(f"{field} is a list: a {what} each.", field)
    for place, name in enumerate(given):
        if not isinstance(name, str) or name not in known:
            shown = name[:60] if isinstance(name, str) else name
            raise _refused(f"{shown!r} is not a {what} of this topology.", f"{field}[{place}]")
    return list(dict.fromkeys(given))


def _snapshots(
    topology: Topology, parameters: Mapping[str, Any], checked: Mapping[str, Any]
) -> dict[str, Any]:
    """``snapshots`` where they are given, else ``initiators`` and ``snapshot_times``."""
    given = parameters.get("snapshots")
    if given is None:
        times = parameters.get("snapshot_times")
        return {
            "initiators": _initiators(topology, parameters.get("initiators"), "initiators"),
            "snapshot_times": _spread(topology, checked) if times is None else _times(times),
        }
    if parameters.get("snapshot_times") is not None or parameters.get("initiators"):
        raise _refused("Give snapshots, or snapshot_times with initiators, not both.", "snapshots")
    if not isinstance(given, list):
        raise _refused('snapshots is a list of {"at", "initiators"}.', "snapshots")
    if len(given) > MOST_SNAPSHOTS:
        raise _refused(f"At most {MOST_SNAPSHOTS:,} snapshots.", "snapshots")
    starts = [_start(topology, start, f"snapshots[{n}]") for n, start in enumerate(given)]
    return {"snapshots": sorted(starts, key=lambda start: start["at"])}


def _start(topology: Topology, given: Any, field: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise _refused('A snapshot is {"at": microseconds, "initiators": [processes]}.', field)
    for name in given:
        if name not in ("at", "initiators"):
            raise _refused(f"A snapshot has no {name[:60]!r}.", f"{field}.{name[:60]}")
    return {
        "at": _time(given.get("at"), f"{field}.at"),
        "initiators": _initiators(topology, given.get("initiators"), f"{field}.initiators"),
    }


def _initiators(topology: Topology, given: Any, field: str) -> list[str]:
    """The listed processes, by default the first one from which a channel leaves."""
    if given is None or given == []:
        senders = [process for process, leaving in topology.outgoing.items() if leaving]
        return [(senders or [topology.processes[0].id])[0]]
    return _processes(topology, given, field)


def _times(given: Any) -> list[int]:
    if not isinstance(given, list):
        raise _refused("snapshot_times is a list of microseconds.", "snapshot_times")
    if len(given) > MOST_SNAPSHOTS:
        raise _refused(f"At most {MOST_SNAPSHOTS:,} snapshots.", "snapshot_times")
    return sorted(_time(at, f"snapshot_times[{place}]") for place, at in enumerate(given))


def _time(given: Any, field: str) -> int:
    if not _is_whole(given) or not 0 <= given <= LARGEST_TIME:
        raise _refused(
            f"A snapshot time is a whole number of microseconds from 0 to {LARGEST_TIME:,}.", field
        )
    return given


def _spread(topology: Topology, checked: Mapping[str, Any]) -> list[int]:
    """DEFAULT_SNAPSHOTS times, evenly over the expected duration."""
    duration = _simulation(topology, {**checked, "snapshots": []}).expected_duration()
    return [
        duration * number // (DEFAULT_SNAPSHOTS + 1) for number in range(1, DEFAULT_SNAPSHOTS + 1)
    ]


def _check_size(topology: Topology, checked: Mapping[str, Any]) -> None:
    field = "snapshots" if "snapshots" in checked else "snapshot_times"
    count = len(checked[field])
    processes, channels = len(topology.processes), len(topology.channels)
    records = count * (processes + 3 * channels)
    if records > MOST_RECORDS:
        raise _refused(
            f"{count:,} snapshots of this topology are {records:,} events of their own; at "
            f"most {MOST_RECORDS:,} are simulated here. Take fewer snapshots.",
            field,
        )
    pieces = count * 2 * processes * channels if checked["collect"] else 0
    if records + pieces > MOST_RECORDS:
        raise _refused(
            f"Collecting {count:,} snapshots of this topology takes up to {pieces:,} events: every "
            f"process's piece passes every channel. At most {MOST_RECORDS:,} are simulated here. "
            "Take fewer snapshots, or do not collect.",
            "collect",
        )
    if checked["algorithm"] == "lai-yang" and count > MOST_COLOURED:
        raise _refused(
            f"With lai-yang every message carries the snapshots that its sender has recorded; at "
            f"most {MOST_COLOURED} are simulated here.",
            field,
        )


def _check_beginnings(checked: Mapping[str, Any]) -> None:
    """Some process begins every snapshot."""
    silent = {ProcessId(process) for process in checked["silent"]}
    for number, start in enumerate(_starts(checked), start=1):
        if silent.issuperset(start.initiators):
            raise _refused(
                f"Snapshot {number} would never begin: {', '.join(start.initiators)} should begin "
                "it and never records.",
                "silent",
            )


def _refused(sentence: str, field: str) -> Refused:
    return Refused(sentence, code="invalid-field", field=field)


def _starts(checked: Mapping[str, Any]) -> tuple[SnapshotStart, ...]:
    if "snapshots" in checked:
        pairs = [(start["at"], start["initiators"]) for start in checked["snapshots"]]
    else:
        pairs = [(at, checked["initiators"]) for at in checked["snapshot_times"]]
    return tuple(SnapshotStart(at, tuple(map(ProcessId, names))) for at, names in pairs)


def _simulation(topology: Topology, parameters: Mapping[str, Any]) -> Simulation:
    checked = {**_LATER, **parameters}
    return Simulation(
        topology=topology,
        workload=WORKLOADS[checked["workload"]](),
        seed=checked["seed"],
        events=checked["events"],
        snapshots=_starts(checked),
        mean_delay=checked["mean_delay"],
        mean_pause=checked["mean_pause"],
        drain=checked["drain"],
        collect=checked["collect"],
        reorder=frozenset(map(ChannelId, checked["reorder"])),
        stuck=frozenset(map(ChannelId, checked["stuck"])),
        silent=frozenset(map(ProcessId, checked["silent"])),
    )


def write(
    draft: Draft,
    name: str,
    parameters: Mapping[str, Any],
    progress: Callable[[str, int, int], None],
) -> None:
    """Run the simulation into the draft, as compressed native lines.

    parameters: checked ones, and the ``topology`` document. progress may raise to cancel.
    """
    simulation = _simulation(topologies.as_domain(parameters["topology"]), parameters)
    protocol = ALGORITHMS[parameters.get("algorithm", _LATER["algorithm"])]
    lines = write_lines(simulation.header(name), simulate(simulation, protocol))
    with gzip.GzipFile(fileobj=draft, mode="wb", compresslevel=1, mtime=0) as packed:
        for number, line in enumerate(lines):
            packed.write(line)
            if number % _LINES_BETWEEN_REPORTS == 0:
                progress("simulating", min(number, simulation.events), simulation.events)

"""Simulated recordings: what may be asked for, and the run as a native file."""

import gzip
from collections.abc import Callable, Mapping
from typing import Any

from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.domain.simulators.basic import ALGORITHMS, Simulation, SnapshotStart, simulate
from snapshots.domain.simulators.workloads import WORKLOADS
from snapshots.files.uploads import Draft
from snapshots.readers.logs.native import write_lines
from snapshots.simulating import dataflows as dataflow_simulations
from snapshots.simulating import topology_documents
from snapshots.simulating.parameters import (
    LARGEST_DELAY,
    LARGEST_SEED,
    check_names,
    flag,
    one_of,
    refused,
    time,
    times,
    whole,
)
from snapshots.simulating.simulated_runs import SimulatedRun

MOST_EVENTS = 1_000_000
MOST_SNAPSHOTS = 1_000
MOST_RECORDS = 2_000_000  # events that snapshots add: records, markers, and collecting
MOST_COLOURED = 50  # snapshots of Lai and Yang: every message names those its sender has recorded
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


def checked_for(
    definition: Mapping[str, Any], parameters: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """The checked parameters of a run on a stored topology, and a word that tells the run apart
    from others on it. Raises: Refused with the parameter as field."""
    if "dataflow" in definition:
        checked = dataflow_simulations.checked_parameters(definition, parameters)
        return checked, dataflow_simulations.word(checked)
    checked = checked_parameters(topology_documents.as_domain(definition), parameters)
    return checked, checked["workload"]


def checked_parameters(topology: Topology, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with every default filled in. Raises: Refused with the parameter as field.

    workload: a name of domain.workloads. algorithm: one of domain.simulation. events: about how
    many. snapshot_times: us; at each one snapshot begins, at all ``initiators`` together. Or, in
    place of these two, snapshots: a list of ``{"at", "initiators"}``. mean_delay, mean_pause: us.
    reorder, stuck: channels, silent: processes, as in domain.simulation.Simulation; reorder may be
    "all".
    """
    check_names(parameters, _MEMBERS)
    name = parameters.get("name")
    checked = {
        "name": topology_documents.checked_name(name) if name else "",
        "workload": one_of(parameters, "workload", WORKLOADS, "random"),
        "algorithm": one_of(parameters, "algorithm", ALGORITHMS, "chandy-lamport"),
        "seed": whole(parameters, "seed", 1, 0, LARGEST_SEED),
        "events": whole(parameters, "events", 1000, 1, MOST_EVENTS),
        "mean_delay": whole(parameters, "mean_delay", 2000, 0, LARGEST_DELAY),
        "mean_pause": whole(parameters, "mean_pause", 2000, 0, LARGEST_DELAY),
        "drain": flag(parameters, "drain", True),
        "collect": flag(parameters, "collect", False),
        "reorder": _channels(topology, parameters, "reorder"),
        "stuck": _channels(topology, parameters, "stuck"),
        "silent": _processes(topology, parameters.get("silent") or [], "silent"),
    }
    checked |= _snapshots(topology, parameters, checked)
    _check_size(topology, checked)
    _check_beginnings(checked)
    return checked


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
        raise refused(f"{field} is a list: a {what} each.", field)
    for place, name in enumerate(given):
        if not isinstance(name, str) or name not in known:
            shown = name[:60] if isinstance(name, str) else name
            raise refused(f"{shown!r} is not a {what} of this topology.", f"{field}[{place}]")
    return list(dict.fromkeys(given))


def _snapshots(
    topology: Topology, parameters: Mapping[str, Any], checked: Mapping[str, Any]
) -> dict[str, Any]:
    """``snapshots`` where they are given, else ``initiators`` and ``snapshot_times``."""
    given = parameters.get("snapshots")
    if given is None:
        given_times = parameters.get("snapshot_times")
        return {
            "initiators": _initiators(topology, parameters.get("initiators"), "initiators"),
            "snapshot_times": _spread(topology, checked)
            if given_times is None
            else times(given_times, "snapshot_times", "snapshots", MOST_SNAPSHOTS),
        }
    if parameters.get("snapshot_times") is not None or parameters.get("initiators"):
        raise refused("Give snapshots, or snapshot_times with initiators, not both.", "snapshots")
    if not isinstance(given, list):
        raise refused('snapshots is a list of {"at", "initiators"}.', "snapshots")
    if len(given) > MOST_SNAPSHOTS:
        raise refused(f"At most {MOST_SNAPSHOTS:,} snapshots.", "snapshots")
    starts = [_start(topology, start, f"snapshots[{n}]") for n, start in enumerate(given)]
    return {"snapshots": sorted(starts, key=lambda start: start["at"])}


def _start(topology: Topology, given: Any, field: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise refused('A snapshot is {"at": microseconds, "initiators": [processes]}.', field)
    for name in given:
        if name not in ("at", "initiators"):
            raise refused(f"A snapshot has no {name[:60]!r}.", f"{field}.{name[:60]}")
    return {
        "at": time(given.get("at"), f"{field}.at"),
        "initiators": _initiators(topology, given.get("initiators"), f"{field}.initiators"),
    }


def _initiators(topology: Topology, given: Any, field: str) -> list[str]:
    """The listed processes, by default the first one from which a channel leaves."""
    if given is None or given == []:
        senders = [process for process, leaving in topology.outgoing.items() if leaving]
        return [(senders or [topology.processes[0].id])[0]]
    return _processes(topology, given, field)


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
        raise refused(
            f"{count:,} snapshots of this topology are {records:,} events of their own; at "
            f"most {MOST_RECORDS:,} are simulated here. Take fewer snapshots.",
            field,
        )
    pieces = count * 2 * processes * channels if checked["collect"] else 0
    if records + pieces > MOST_RECORDS:
        raise refused(
            f"Collecting {count:,} snapshots of this topology takes up to {pieces:,} events: every "
            f"process's piece passes every channel. At most {MOST_RECORDS:,} are simulated here. "
            "Take fewer snapshots, or do not collect.",
            "collect",
        )
    if checked["algorithm"] == "lai-yang" and count > MOST_COLOURED:
        raise refused(
            f"With lai-yang every message carries the snapshots that its sender has recorded; at "
            f"most {MOST_COLOURED} are simulated here.",
            field,
        )


def _check_beginnings(checked: Mapping[str, Any]) -> None:
    """Some process begins every snapshot."""
    silent = {ProcessId(process) for process in checked["silent"]}
    for number, start in enumerate(_starts(checked), start=1):
        if silent.issuperset(start.initiators):
            raise refused(
                f"Snapshot {number} would never begin: {', '.join(start.initiators)} should begin "
                "it and never records.",
                "silent",
            )


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
    run = _run(name, parameters)
    lines = write_lines(run.header, run.events)
    with gzip.GzipFile(fileobj=draft, mode="wb", compresslevel=1, mtime=0) as packed:
        for number, line in enumerate(lines):
            packed.write(line)
            if number % _LINES_BETWEEN_REPORTS == 0:
                progress("simulating", min(number, run.expected), run.expected)


def _run(name: str, parameters: Mapping[str, Any]) -> SimulatedRun:
    if "dataflow" in parameters["topology"]:
        return dataflow_simulations.run(name, parameters)
    simulation = _simulation(topology_documents.as_domain(parameters["topology"]), parameters)
    protocol = ALGORITHMS[parameters.get("algorithm", _LATER["algorithm"])]
    events = simulate(simulation, protocol)
    return SimulatedRun(simulation.header(name), events, simulation.events)

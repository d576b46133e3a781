"""Simulated recordings: what may be asked for, and the run as a native file."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snapshots import topologies
from snapshots.domain.simulation import Simulation, SnapshotStart, simulate
from snapshots.domain.topology import ProcessId, Topology
from snapshots.domain.workloads import WORKLOADS
from snapshots.problems import Refused
from snapshots.readers.native import write_lines
from snapshots.uploads import Draft

MOST_EVENTS = 1_000_000
MOST_SNAPSHOTS = 1_000
MOST_RECORDS = 2_000_000  # snapshots x (processes + channels): what their protocol events may be
LARGEST_TIME = 10**15  # us, some thirty years
LARGEST_SEED = 2**63 - 1
LARGEST_DELAY = 10**9  # us
DEFAULT_SNAPSHOTS = 3
_LINES_BETWEEN_REPORTS = 2_000
_MEMBERS = (
    "name",
    "workload",
    "seed",
    "events",
    "initiators",
    "snapshot_times",
    "mean_delay",
    "mean_pause",
    "drain",
)


def checked_parameters(topology: Topology, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with every default filled in. Raises: Refused with the parameter as field.

    workload: a name of domain.workloads. events: about how many. snapshot_times: us; at each one
    snapshot begins, at all ``initiators`` together. mean_delay, mean_pause: us.
    """
    for name in parameters:
        if name not in _MEMBERS:
            raise _refused(f"There is no parameter {name[:60]!r}.", name[:60])
    workload = parameters.get("workload", "random")
    if not isinstance(workload, str) or workload not in WORKLOADS:
        raise _refused(f"The workload is one of {', '.join(WORKLOADS)}.", "workload")
    drain = parameters.get("drain", True)
    if not isinstance(drain, bool):
        raise _refused("drain is true or false.", "drain")
    name = parameters.get("name")
    checked = {
        "name": topologies.checked_name(name) if name else "",
        "workload": workload,
        "seed": _whole(parameters, "seed", 1, 0, LARGEST_SEED),
        "events": _whole(parameters, "events", 1000, 1, MOST_EVENTS),
        "mean_delay": _whole(parameters, "mean_delay", 2000, 0, LARGEST_DELAY),
        "mean_pause": _whole(parameters, "mean_pause", 2000, 0, LARGEST_DELAY),
        "drain": drain,
        "initiators": _initiators(topology, parameters.get("initiators")),
    }
    times = parameters.get("snapshot_times")
    checked["snapshot_times"] = _spread(topology, checked) if times is None else _times(times)
    _check_size(topology, checked["snapshot_times"])
    return checked


def _whole(parameters: Mapping[str, Any], field: str, default: int, low: int, high: int) -> int:
    value = parameters.get(field)
    if value is None:
        return default
    if not _is_whole(value) or not low <= value <= high:
        raise _refused(f"{field} is a whole number from {low:,} to {high:,}.", field)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _initiators(topology: Topology, given: Any) -> list[str]:
    """The listed processes, by default the first one from which a channel leaves."""
    if given is None or given == []:
        senders = [process for process, leaving in topology.outgoing.items() if leaving]
        return [(senders or [topology.processes[0].id])[0]]
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise _refused("initiators is a list of processes.", "initiators")
    for place, process in enumerate(given):
        if not isinstance(process, str) or process not in topology.process_by_id:
            shown = process[:60] if isinstance(process, str) else process
            raise _refused(f"{shown!r} is not a process of this topology.", f"initiators[{place}]")
    return list(dict.fromkeys(given))


def _times(given: Any) -> list[int]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise _refused("snapshot_times is a list of microseconds.", "snapshot_times")
    if len(given) > MOST_SNAPSHOTS:
        raise _refused(f"At most {MOST_SNAPSHOTS:,} snapshots.", "snapshot_times")
    for place, at in enumerate(given):
        if not _is_whole(at) or not 0 <= at <= LARGEST_TIME:
            raise _refused(
                f"A snapshot time is a whole number of microseconds from 0 to {LARGEST_TIME:,}.",
                f"snapshot_times[{place}]",
            )
    return sorted(given)


def _spread(topology: Topology, checked: Mapping[str, Any]) -> list[int]:
    """DEFAULT_SNAPSHOTS times, evenly over the expected duration."""
    duration = _simulation(topology, {**checked, "snapshot_times": []}).expected_duration()
    return [
        duration * number // (DEFAULT_SNAPSHOTS + 1) for number in range(1, DEFAULT_SNAPSHOTS + 1)
    ]


def _check_size(topology: Topology, times: Sequence[int]) -> None:
    records = len(times) * (len(topology.processes) + 3 * len(topology.channels))
    if records > MOST_RECORDS:
        raise _refused(
            f"{len(times):,} snapshots of this topology are {records:,} events of their own; at "
            f"most {MOST_RECORDS:,} are simulated here. Take fewer snapshots.",
            "snapshot_times",
        )


def _refused(sentence: str, field: str) -> Refused:
    return Refused(sentence, code="invalid-field", field=field)


def _simulation(topology: Topology, checked: Mapping[str, Any]) -> Simulation:
    initiators = tuple(ProcessId(process) for process in checked["initiators"])
    return Simulation(
        topology=topology,
        workload=WORKLOADS[checked["workload"]](),
        seed=checked["seed"],
        events=checked["events"],
        snapshots=tuple(SnapshotStart(at, initiators) for at in checked["snapshot_times"]),
        mean_delay=checked["mean_delay"],
        mean_pause=checked["mean_pause"],
        drain=checked["drain"],
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
    lines = write_lines(simulation.header(name), simulate(simulation))
    with gzip.GzipFile(fileobj=draft, mode="wb", compresslevel=1, mtime=0) as packed:
        for number, line in enumerate(lines):
            packed.write(line)
            if number % _LINES_BETWEEN_REPORTS == 0:
                progress("simulating", min(number, simulation.events), simulation.events)

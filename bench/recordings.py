"""The recordings that are measured: simulated bank transfers, written as native logs."""

from dataclasses import replace
from pathlib import Path

from snapshots.domain.model import shapes
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank
from snapshots.readers.logs.native import write_lines

PROCESSES = 50
DEGREE = 16  # channels that leave a process, on average: 800 channels
SNAPSHOTS = 10
IN_FLIGHT = 300  # messages under way at any time


def write_log(path: Path, events: int, *, seed: int = 1, processes: int = PROCESSES) -> None:
    """Write a run of about ``events`` events with concurrent snapshots."""
    run = simulation(events, seed, processes)
    with path.open("wb") as log:
        log.writelines(write_lines(run.header(f"{events:,} events"), simulate(run)))


def simulation(events: int, seed: int, processes: int = PROCESSES) -> Simulation:
    topology = shapes.random_connected(processes, min(DEGREE, processes - 1), seed)
    run = Simulation(
        topology=topology,
        workload=Bank(),
        seed=seed,
        events=events,
        mean_pause=2000,
        mean_delay=2000 * IN_FLIGHT // processes,
    )
    duration = run.expected_duration()
    starts = tuple(
        SnapshotStart(
            at=duration * (number + 1) // (SNAPSHOTS + 1),
            initiators=(topology.processes[number * 7 % processes].id,),
        )
        for number in range(SNAPSHOTS)
    )
    return replace(run, snapshots=starts)

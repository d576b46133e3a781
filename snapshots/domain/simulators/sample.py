"""What a sample of the gallery is, and simulated runs for samples."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.script import Log
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Workload


@dataclass(frozen=True)
class Sample:
    """A run for the gallery.

    slug: its unique name in addresses.
    log: makes the log anew at each call, always the same.
    """

    slug: str
    title: str
    description: str
    log: Callable[[], Log]


def snapshotted(
    name: str,
    topology: Topology,
    workload: Workload,
    times: Iterable[int],
    seed: int,
    events: int = 400,
    mean_delay: int = 2000,
    mean_pause: int = 2000,
) -> Log:
    """Simulate a run; the processes take turns in beginning a snapshot at ``times``."""
    names = [process.id for process in topology.processes]
    simulation = Simulation(
        topology,
        workload,
        seed=seed,
        events=events,
        snapshots=tuple(
            SnapshotStart(at, (names[number % len(names)],)) for number, at in enumerate(times)
        ),
        mean_delay=mean_delay,
        mean_pause=mean_pause,
        interferes=True,
    )
    return Log(simulation.header(name), tuple(simulate(simulation)))

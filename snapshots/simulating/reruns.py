"""Run a simulated recording again, in memory: without its snapshots, or with a rule broken.

Only small runs are taken, since a request waits for them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from snapshots.domain.model.topology import Topology
from snapshots.domain.replaying.non_interference import Comparison, compare
from snapshots.domain.simulators.algorithms import ALGORITHMS
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.script import Log
from snapshots.problems import Conflict, Invalid
from snapshots.simulating import topology_documents
from snapshots.simulating.workload_runs import RULES, WorkloadParameters

MOST_EVENTS = 5_000
MOST_SNAPSHOT_EVENTS = 20_000
DEMONSTRATION: Mapping[str, Any] = {
    "workload": "bank",
    "events": 90,
    "seed": 1,
    "mean_delay": 4_000,
    "snapshot_times": [12_000],
    "initiators": ["A"],
    "topology": {
        "processes": [{"id": name, "state": 1000} for name in "ABC"],
        "channels": [
            {"id": f"{source}->{target}", "source": source, "target": target, "fifo": True}
            for source, target in ("AB", "BA", "BC", "CB", "CA", "AC")
        ],
    },
}
"""The parameters of the run that the pages of ``/learn`` show: three banks, one snapshot."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """The checked parameters of a run that can be run again, and its topology."""

    parameters: WorkloadParameters
    topology: Topology

    def log(self) -> Log:
        """Run it."""
        simulation = self.parameters.simulation(self.topology)
        events = simulate(simulation, ALGORITHMS[self.parameters.algorithm])
        return Log(simulation.header(self.parameters.label), tuple(events))

    def beside_itself_without_snapshots(self) -> Comparison:
        """Run it with and without snapshots, and compare the two."""
        simulation = self.parameters.simulation(self.topology)
        algorithm = ALGORITHMS[self.parameters.algorithm]
        alone = replace(simulation, snapshots=(), drain=True)
        return compare(
            tuple(simulate(simulation, algorithm)),
            tuple(simulate(alone, algorithm)),
            ends_early=not simulation.drain,
        )

    def with_seed(self, seed: int) -> "Rerun":
        """Return the same run with another seed. Raises: Refused."""
        return self._changed({"seed": seed})

    def breaking(self, rule: str, place: str) -> "Rerun":
        """Return the same run in which this rule alone is broken at a channel or process.

        Raises: Invalid for an unknown rule, Refused for an unknown channel or process.
        """
        if rule not in RULES:
            raise Invalid(f"rule is one of {', '.join(RULES)}.", field="rule")
        return self._changed({name: [place] if name == rule else [] for name in RULES})

    def following(self) -> "Rerun":
        """Return the same run in which no marker rule is broken."""
        return self._changed({name: [] for name in RULES})

    def _changed(self, changes: Mapping[str, Any]) -> "Rerun":
        given = {**self.parameters.stored(), **changes}
        return Rerun(WorkloadParameters.checked(given, self.topology), self.topology)


def rerun_of(stored: Mapping[str, Any] | None) -> Rerun:
    """Return how a recording was simulated, from its parameters.

    Raises: Conflict if it was not simulated so, or if it is too large.
    """
    if not stored or "topology" not in stored or "dataflow" in stored["topology"]:
        raise Conflict(
            "Only a run that was simulated on a topology of processes and channels can be run "
            "again here. Logs of others hold one run, and the engines' checkpoints take part in "
            "their dataflows."
        )
    topology = topology_documents.as_domain(stored["topology"])
    parameters = WorkloadParameters.read(stored, topology)
    added = len(parameters.simulation(topology).snapshots) * (
        len(topology.processes) + 3 * len(topology.channels)
    )
    if parameters.collect:
        added *= 1 + len(topology.processes)
    if parameters.events > MOST_EVENTS or added > MOST_SNAPSHOT_EVENTS:
        raise Conflict(
            f"The run has about {parameters.events:,} events, and its snapshots add up to "
            f"{added:,}. Here at most {MOST_EVENTS:,} and {MOST_SNAPSHOT_EVENTS:,} are run again; "
            "simulate a smaller one."
        )
    return Rerun(parameters, topology)

"""Regional failover of a simulated SeaTunnel job: who restarts, and what is skipped by its id.

The failed vertex restarts with all vertices before it; those behind it go on with the state that
they have. So they receive records for the second time, and skip them by their ids, unless a source
cannot give the same records again. docs/formats/protocols.md, "5.1 Regional failover", says what
comes from SeaTunnel's design and what is decided here.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from snapshots.domain.dataflow_logs.dataflow import SOURCE, Dataflow, DataflowRefused
from snapshots.domain.dataflow_logs.events import SKIPPED
from snapshots.domain.simulators.dataflows.counting import Counted
from snapshots.domain.simulators.dataflows.functions import Rid

PIPELINE, REGION = SEATUNNEL_FAILOVERS = ("pipeline", "region")
RESTART, GO_ON = ON_UNREPEATABLE = ("restart the pipeline", "go on")


def with_all_before(dataflow: Dataflow, vertices: Iterable[str]) -> set[str]:
    """Return the vertices and all those from which a way leads to them."""
    found = set(vertices)
    for name in reversed(dataflow.in_order):
        if any(edge.target in found for edge in dataflow.edges_from(name)):
            found.add(name)
    return found


def check_unrepeatable(names: Iterable[str], dataflow: Dataflow) -> None:
    """Refuse names that are no sources. Raises: DataflowRefused, with the field."""
    for index, name in enumerate(names):
        vertex = dataflow.vertex_by_id.get(name)
        if vertex is None or vertex.kind != SOURCE:
            raise DataflowRefused(f"unrepeatable[{index}]", f"There is no source {name!r}.")


@dataclass
class Taken:
    """The records whose effect is in a task's state, each with the value that it had.

    An engine needs only those behind the barrier of the newest complete checkpoint.

    counts: how many of them each checkpoint's state holds.
    """

    values: dict[Rid, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)

    def note(self, cid: int) -> None:
        """Note that the state of now goes into the checkpoint."""
        self.counts[cid] = len(self.values)

    def go_back(self, cid: int | None) -> None:
        """Forget what the state of the checkpoint does not hold; None forgets all."""
        kept = 0 if cid is None else self.counts.get(cid, 0)
        self.values = dict(islice(self.values.items(), kept))


@dataclass(eq=False)
class Skipping:
    """Tells which records a task that went on skips, and counts them.

    Args:
        source_of: the source of a split.
        unrepeatable: the sources whose records cannot be told by their ids.
    """

    counted: Counted
    source_of: Mapping[str, str]
    unrepeatable: Collection[str]

    def label(self, vertex: str, taken: Taken, rid: Rid, value: int) -> str | None:
        """Return SKIPPED for a record that the task has taken before, None for one to take."""
        if rid not in taken.values:
            taken.values[rid] = value
            return None
        if self.source_of[rid.split] in self.unrepeatable:
            self.counted.taken_twice[vertex] += 1
            return None
        self.counted.skipped[vertex] += 1
        if taken.values[rid] != value:
            self.counted.skipped_differing[vertex] += 1
        return SKIPPED

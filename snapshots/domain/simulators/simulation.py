"""Say what to simulate: a workload on a topology, the snapshots, and what goes wrong."""

import math
from dataclasses import dataclass, replace

from snapshots.domain.assembling.assembly import Header
from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.domain.simulators.workloads import Workload

TIME_UNIT = "us"


@dataclass(frozen=True, slots=True)
class SnapshotStart:
    """The time in us at which these processes begin one snapshot, each unaware of the others."""

    at: int
    initiators: tuple[ProcessId, ...]


@dataclass(frozen=True)
class Simulation:
    """What to simulate; times are in us. Snapshots are named s1, s2 … as listed.

    events: about how many events the processes have of their own. The workload stops when it is
        reached. What snapshots add comes on top.
    drain: whether the run goes on until every message and marker has arrived. If not, it ends when
        every snapshot has ended, and what is under way stays there.
    mean_delay: the mean time that a message travels.
    mean_pause: the mean time that a process rests before it acts.
    collect: whether the pieces of every snapshot are flooded (protocols/flooding.py) as soon as a
        process has its own. Their sends and receives do not count among ``events``.
    reorder: FIFO channels that deliver in any order nevertheless.
    stuck: channels in which every marker stays for ever. If the channel keeps the order, all that
        is behind the marker stays, too. Lai and Yang's red messages bring what such a marker had to
        say.
    silent: processes that receive markers and never record.
    late_markers: channels on which a marker goes out only after the next message.
    no_markers: channels on which no marker goes out.
    early_markers: processes that send their markers when they should record, and record only after
        they have sent their next message.
    late_records: processes that do not record when the first marker arrives, but only after they
        have received their next message.
    empty_channels: channels that are recorded as empty, whatever came.
    interferes: whether snapshots draw from the random numbers of the workload, hold messages up and
        count among ``events``, so that they change the computation. All runs of version 0.1 were
        so; the samples stay as their tours describe them.
    """

    topology: Topology
    workload: Workload
    seed: int = 1
    events: int = 1000
    snapshots: tuple[SnapshotStart, ...] = ()
    mean_delay: int = 2000
    mean_pause: int = 2000
    drain: bool = True
    collect: bool = False
    reorder: frozenset[ChannelId] = frozenset()
    stuck: frozenset[ChannelId] = frozenset()
    silent: frozenset[ProcessId] = frozenset()
    late_markers: frozenset[ChannelId] = frozenset()
    no_markers: frozenset[ChannelId] = frozenset()
    early_markers: frozenset[ProcessId] = frozenset()
    late_records: frozenset[ProcessId] = frozenset()
    empty_channels: frozenset[ChannelId] = frozenset()
    interferes: bool = False

    def header(self, name: str) -> Header:
        """Return what stands before the events: the topology with the workload's start states."""
        states = self.workload.start(self.topology)
        processes = tuple(
            replace(process, state=self.workload.text(states[process.id]))
            for process in self.topology.processes
        )
        return Header(name, TIME_UNIT, replace(self.topology, processes=processes))

    def expected_duration(self) -> int:
        """Return about how long the workload runs, in us, if every process acts at every chance."""
        acts = self.events / 2 / max(1, len(self.topology.processes))
        return math.ceil(acts * self.mean_pause)

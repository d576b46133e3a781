"""Runs of a workload while a snapshot algorithm records it: the parameters, and the run."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from snapshots.domain.model.topology import ChannelId, ProcessId, Topology
from snapshots.domain.simulators.algorithms import ALGORITHMS
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.protocols import chandy_lamport
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import WORKLOADS, RandomTraffic
from snapshots.simulating import run_parameters as common
from snapshots.simulating.parameters import (
    API_ONLY,
    MAIN,
    Delay,
    OneOf,
    Option,
    Parameters,
    Shown,
    Time,
    Times,
    Whole,
    context_of,
    declared,
    defaults,
    not_there,
    refused,
)
from snapshots.simulating.simulated_runs import SimulatedRun

MOST_SNAPSHOTS = 1_000
MOST_RECORDS = 2_000_000  # events that snapshots add: records, markers, and collecting
MOST_COLOURED = 50  # snapshots whose names every message carries
DEFAULT_SNAPSHOTS = 3
INITIATORS = (
    "The processes that begin a snapshot together. If none is given, it is the first process that "
    "can send."
)
RUN = defaults(Simulation)
RULES = ("late_markers", "no_markers", "empty_channels", "early_markers", "late_records")
"""The parameters that break one of the two marker rules of Chandy and Lamport."""


def _one_of(registered: Mapping[str, Any]) -> OneOf:
    return OneOf(tuple(Option(it.NAME, it.TITLE, it.SENTENCE) for it in registered.values()))


def _known_channel(name: str, info: ValidationInfo) -> str:
    if name not in context_of(info).channel_by_id:
        raise not_there(f"{name[:60]!r} is not a channel of this topology.")
    return name


def _known_process(name: str, info: ValidationInfo) -> str:
    if name not in context_of(info).process_by_id:
        raise not_there(f"{name[:60]!r} is not a process of this topology.")
    return name


def _all_channels(names: Any, info: ValidationInfo) -> Any:
    return [channel.id for channel in context_of(info).channels] if names == "all" else names


def _once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


Channels = Annotated[list[Annotated[str, AfterValidator(_known_channel)]], AfterValidator(_once)]
AllOrChannels = Annotated[
    Channels, BeforeValidator(_all_channels, json_schema_input_type=list[str] | Literal["all"])
]
Processes = Annotated[list[Annotated[str, AfterValidator(_known_process)]], AfterValidator(_once)]


class PlannedSnapshot(Parameters):
    """One snapshot, which its initiators begin together."""

    at: Time = declared("At", "The time at which the snapshot begins.", shown=API_ONLY)
    initiators: Processes = declared("Initiators", INITIATORS, [], API_ONLY)


class WorkloadParameters(Parameters):
    """A workload on a topology, with snapshots."""

    name: common.Name = ""
    workload: Annotated[str, _one_of(WORKLOADS)] = declared(
        "Workload",
        "What the processes do.",
        RandomTraffic.NAME,
        Shown(main=True, begins=next(iter(WORKLOADS))),
    )
    algorithm: Annotated[str, _one_of(ALGORITHMS)] = declared(
        "Algorithm", "How snapshots are taken.", next(iter(ALGORITHMS)), MAIN
    )
    collect: bool = declared(
        "Collect the pieces",
        "Every process passes on what it recorded, until all know the whole state (section 3.3 of "
        "Chandy and Lamport's paper).",
        RUN.collect,
        MAIN,
    )
    events: Annotated[int, Whole(1, common.MOST_EVENTS)] = declared(
        "Events",
        "About how many events the processes have of their own. Snapshots add theirs to them.",
        RUN.events,
        MAIN,
    )
    seed: common.Seed = RUN.seed
    mean_delay: Delay = declared(
        "Delay of a message",
        "How long a message travels on average. The time of each message is random and finite.",
        RUN.mean_delay,
        MAIN,
    )
    mean_pause: Delay = declared(
        "Pause of a process",
        "How long a process rests before it acts again, on average.",
        RUN.mean_pause,
        API_ONLY,
    )
    drain: bool = declared(
        "Drain",
        "Whether the run goes on until every message has arrived. If not, the run ends when every "
        "snapshot has ended.",
        RUN.drain,
        API_ONLY,
    )
    snapshot_times: Times | None = declared(
        "Snapshots begin at",
        "The times at which snapshots begin. If none is given, three snapshots are spread evenly "
        "over the run.",
        None,
        MAIN,
        example=[20_000, 40_000],
        most=MOST_SNAPSHOTS,
    )
    initiators: Processes = declared(
        "Initiators", INITIATORS, [], Shown(main=True, suggests="processes")
    )
    snapshots: list[PlannedSnapshot] | None = declared(
        "Snapshots",
        "Snapshots that each have their own initiators, in place of snapshot_times and initiators.",
        None,
        API_ONLY,
        example=[{"at": 20_000, "initiators": ["A"]}],
        most=MOST_SNAPSHOTS,
    )
    reorder: AllOrChannels = declared(
        "Channels that reorder",
        "FIFO channels in which messages overtake each other although they must not, or “all”.",
        [],
    )
    stuck: Channels = declared(
        "Channels that keep a marker",
        "Channels in which every marker stays for ever. This violates condition L1 of the paper.",
        [],
    )
    silent: Processes = declared(
        "Processes that never record",
        "Processes that receive markers and never record. This violates condition L2 of the paper.",
        [],
    )

    late_markers: Channels = declared(
        "Channels with a late marker",
        "Channels on which a marker goes out only after the next message. This breaks the "
        "marker-sending rule of the paper.",
        [],
    )
    no_markers: Channels = declared(
        "Channels without a marker",
        "Channels on which no marker goes out. This breaks the marker-sending rule of the paper.",
        [],
    )
    empty_channels: Channels = declared(
        "Channels recorded as empty",
        "Channels that are recorded as empty, whatever came before their marker. This breaks the "
        "marker-receiving rule of the paper.",
        [],
    )
    early_markers: Processes = declared(
        "Processes with early markers",
        "Processes that send their markers when they should record, and record only after they "
        "have sent their next message. This breaks the marker-sending rule of the paper.",
        [],
    )
    late_records: Processes = declared(
        "Processes that record late",
        "Processes that do not record when the first marker arrives, but only after they have "
        "received their next message. This breaks the marker-receiving rule of the paper.",
        [],
    )

    @property
    def label(self) -> str:
        """The words that distinguish this run from others on the same topology."""
        return self.workload

    @classmethod
    def checked(cls, given: Mapping[str, Any], context: Any = None) -> Self:
        """Return the parameters with every default filled in, also those from the topology."""
        parameters = super().checked(given, context)._with_snapshots(context)
        parameters._check_size(context)
        parameters._check_beginnings()
        parameters._check_rules()
        return parameters

    def stored(self) -> dict[str, Any]:
        """Return what is kept with the recording; its snapshots are written in one way only."""
        others = {"snapshots"} if self.snapshots is None else {"initiators", "snapshot_times"}
        return self.model_dump(exclude=others)

    def run(self, topology: Topology, name: str) -> SimulatedRun:
        simulation = self.simulation(topology)
        events = simulate(simulation, ALGORITHMS[self.algorithm])
        return SimulatedRun(simulation.header(name), events, simulation.events)

    def _with_snapshots(self, topology: Topology) -> Self:
        if self.snapshots is None:
            times = self._spread(topology) if self.snapshot_times is None else self.snapshot_times
            initiators = self.initiators or _first_sender(topology)
            return self.model_copy(update={"initiators": initiators, "snapshot_times": times})
        if self.snapshot_times is not None or self.initiators:
            raise refused(
                "Give snapshots, or snapshot_times with initiators, not both.", "snapshots"
            )
        starts = [
            start.model_copy(update={"initiators": start.initiators or _first_sender(topology)})
            for start in self.snapshots
        ]
        return self.model_copy(update={"snapshots": sorted(starts, key=lambda start: start.at)})

    def _spread(self, topology: Topology) -> list[int]:
        """Return DEFAULT_SNAPSHOTS times, evenly over the expected duration."""
        parts = DEFAULT_SNAPSHOTS + 1
        duration = self.simulation(topology).expected_duration()
        return [duration * number // parts for number in range(1, parts)]

    def _starts(self) -> list[PlannedSnapshot]:
        if self.snapshots is not None:
            return self.snapshots
        return [
            PlannedSnapshot.model_construct(at=at, initiators=self.initiators)
            for at in self.snapshot_times or ()
        ]

    def simulation(self, topology: Topology) -> Simulation:
        """Return what is simulated on the topology."""
        return self.filled(
            Simulation,
            topology=topology,
            workload=WORKLOADS[self.workload](),
            snapshots=tuple(
                SnapshotStart(start.at, tuple(map(ProcessId, start.initiators)))
                for start in self._starts()
            ),
            reorder=frozenset(map(ChannelId, self.reorder)),
            stuck=frozenset(map(ChannelId, self.stuck)),
            silent=frozenset(map(ProcessId, self.silent)),
            late_markers=frozenset(map(ChannelId, self.late_markers)),
            no_markers=frozenset(map(ChannelId, self.no_markers)),
            empty_channels=frozenset(map(ChannelId, self.empty_channels)),
            early_markers=frozenset(map(ProcessId, self.early_markers)),
            late_records=frozenset(map(ProcessId, self.late_records)),
        )

    def _check_size(self, topology: Topology) -> None:
        field = "snapshot_times" if self.snapshots is None else "snapshots"
        count = len(self._starts())
        processes, channels = len(topology.processes), len(topology.channels)
        records = count * (processes + 3 * channels)
        if records > MOST_RECORDS:
            raise refused(
                f"{count:,} snapshots of this topology are {records:,} events of their own; at "
                f"most {MOST_RECORDS:,} are simulated here. Take fewer snapshots.",
                field,
            )
        pieces = count * 2 * processes * channels if self.collect else 0
        if records + pieces > MOST_RECORDS:
            raise refused(
                f"Collecting {count:,} snapshots of this topology takes up to {pieces:,} events: "
                f"every process's piece passes every channel. At most {MOST_RECORDS:,} are "
                "simulated here. Take fewer snapshots, or do not collect.",
                "collect",
            )
        if ALGORITHMS[self.algorithm].COLOURS_MESSAGES and count > MOST_COLOURED:
            raise refused(
                f"With {self.algorithm} every message carries the snapshots that its sender has "
                f"recorded; at most {MOST_COLOURED} are simulated here.",
                field,
            )

    def _check_rules(self) -> None:
        """Refuse to break a rule that the algorithm does not have."""
        for name in RULES:
            if getattr(self, name) and self.algorithm != chandy_lamport.NAME:
                raise refused(
                    f"{name} breaks a rule of {chandy_lamport.NAME}, which {self.algorithm} does "
                    "not have.",
                    name,
                )

    def _check_beginnings(self) -> None:
        """Refuse a snapshot that no process begins."""
        for number, start in enumerate(self._starts(), start=1):
            if set(self.silent).issuperset(start.initiators):
                raise refused(
                    f"Snapshot {number} would never begin: {', '.join(start.initiators)} should "
                    "begin it and never records.",
                    "silent",
                )


def _first_sender(topology: Topology) -> list[str]:
    """Return the first process from which a channel leaves, else the first of all."""
    senders = [process for process, leaving in topology.outgoing.items() if leaving]
    return [(senders or [topology.processes[0].id])[0]]

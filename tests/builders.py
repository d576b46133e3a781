"""Builders that all tests share: runs by hand, simulated runs, and runs of any shape.

A run is a `Log` (header and logged events); ``recorded`` makes the domain's Recording of it. Damage
is in `damage.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model import shapes
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import RECORD_CHANNEL, RECORD_STATE, LoggedEvent, Recording
from snapshots.domain.model.topology import Topology
from snapshots.domain.simulators.algorithms import Steps
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.protocols import chandy_lamport
from snapshots.domain.simulators.script import Log, Script
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import WORKLOADS, Bank, Workload
from tests.damage import relogged, unfinished, without

TWO_WAYS = ("p->q", "q->p")


def a_run(
    processes: Mapping[str, object] | None = None,
    channels: Iterable[str] | Mapping[str, tuple[str, str]] = TWO_WAYS,
    **options: object,
) -> Script:
    """Begin a run by hand, by default of p, which holds 10, and q, which holds 5. ``.log()`` ends
    it."""
    return Script(
        "a run", {"p": 10, "q": 5} if processes is None else processes, channels, **options
    )


def recorded(log: Log | Script) -> Recording:
    return assemble(*(log.log() if isinstance(log, Script) else log)).recording


def simulated(
    topology: Topology | None = None,
    workload: Workload | None = None,
    *,
    snapshots: Sequence[tuple[int, tuple[str, ...]]] = ((8_000, ("p1",)),),
    protocol: Steps = chandy_lamport,
    **options: object,
) -> Log:
    """Simulate money transfers, by default among four processes with one snapshot."""
    simulation = Simulation(
        topology or shapes.complete(4),
        workload or Bank(),
        snapshots=tuple(SnapshotStart(*start) for start in snapshots),
        **{"seed": 1, "events": 300, "mean_delay": 6_000, **options},
    )
    return Log(simulation.header("a simulated run"), tuple(simulate(simulation, protocol)))


@st.composite
def runs(draw, *, max_processes: int = 40, damaged: bool = True, fifo: bool | None = None) -> Log:
    """Generate runs of any shape: several concurrent snapshots, several initiators, messages never
    received, empty channels, processes without events, 1 to ``max_processes`` processes.

    damaged: whether some lack record_channel lines, break off, or hold random faults. fifo: whether
    channels are FIFO, None for some of each.
    """
    log = draw(correct_runs(max_processes=max_processes, fifo=fifo))
    if not damaged:
        return log
    if draw(st.integers(0, 3)) == 0:
        log = without(log, RECORD_CHANNEL)
    if log.events and draw(st.integers(0, 3)) == 0:
        log = unfinished(log, draw(st.integers(0, len(log.events))))
    if log.events and draw(st.booleans()):
        log = draw(random_damage(log))
    return log


@st.composite
def correct_runs(draw, *, max_processes: int = 40, fifo: bool | None = True) -> Log:
    """Generate correct runs of Chandy-Lamport, on topologies that are strongly connected and
    others."""
    size = draw(st.integers(1, max_processes))
    topology = draw(some_topologies(size))
    if fifo is False or (fifo is None and draw(st.integers(0, 3)) == 0):
        topology = shapes.without_order(topology)
    if draw(st.integers(0, 3)) == 0:
        channels = (replace(channel, overtaking=True) for channel in topology.channels)
        topology = replace(topology, channels=tuple(channels))
    names = [process.id for process in topology.processes]
    starts = draw(
        st.lists(
            st.tuples(
                st.integers(0, 12_000),
                st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True).map(tuple),
            ),
            max_size=4,
        )
    )
    return simulated(
        topology,
        WORKLOADS[draw(st.sampled_from(sorted(WORKLOADS)))](),
        snapshots=starts,
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(0, 250)),
        mean_delay=draw(st.sampled_from((300, 3_000, 9_000))),
        drain=draw(st.booleans()),
    )


@st.composite
def some_topologies(draw, size: int) -> Topology:
    """Generate topologies, mostly strongly connected, sometimes with channels missing or none at
    all."""
    topology = draw(
        st.one_of(
            st.just(shapes.ring(size)),
            st.just(shapes.complete(min(size, 6))),
            st.integers(0, 99).map(
                lambda seed: shapes.random_connected(size, min(2, max(1, size - 1)), seed)
            ),
        )
    )
    if draw(st.integers(0, 4)) == 0:
        kept = draw(st.integers(0, len(topology.channels)))
        topology = replace(topology, channels=topology.channels[:kept])
    return topology


@st.composite
def random_damage(draw, log: Log) -> Log:
    """Damage a log by one to four random faults, except those that would leave it without
    meaning."""
    for _ in range(draw(st.integers(1, 4))):
        fault = draw(st.sampled_from((_drop, _repeat, _swap, _change)))
        place = draw(st.integers(0, max(0, len(log.events) - 1)))
        damaged = relogged(log.header, fault(list(log.events), place))
        if _has_meaning(damaged):
            log = damaged
    return log


def _has_meaning(log: Log) -> bool:
    try:
        assemble(*log)
    except InputRefused:
        return False
    return True


def _drop(events: list[LoggedEvent], place: int) -> list[LoggedEvent]:
    return events[:place] + events[place + 1 :]


def _repeat(events: list[LoggedEvent], place: int) -> list[LoggedEvent]:
    return events[: place + 1] + events[place:]


def _swap(events: list[LoggedEvent], place: int) -> list[LoggedEvent]:
    """Swap an event with the next one of its process."""
    for later in range(place + 1, len(events)):
        if events[later].process == events[place].process:
            events[place], events[later] = events[later], events[place]
            break
    return events


def _change(events: list[LoggedEvent], place: int) -> list[LoggedEvent]:
    """Change what the next record says, or without one the state of an event."""
    for later in range(place, len(events)):
        event = events[later]
        if event.kind == RECORD_STATE:
            events[later] = replace(event, state='"another"')
            return events
        if event.kind == RECORD_CHANNEL:
            surplus = (*event.messages[::-1], "m1", "never sent")
            events[later] = replace(event, messages=surplus)
            return events
    if events:
        events[place] = replace(events[place], state=None)
    return events


def side_by_side(*logs: Log) -> Log:
    """Join runs that go on at the same time, each in a scope of its own.

    The names of the n-th begin with its number. Events are sorted by their time.
    """
    parts = [_in_scope(log, str(number)) for number, log in enumerate(logs, start=1)]
    header = replace(
        parts[0].header,
        topology=Topology(
            tuple(item for part in parts for item in part.header.topology.processes),
            tuple(item for part in parts for item in part.header.topology.channels),
        ),
    )
    events = sorted((event for part in parts for event in part.events), key=lambda item: item.at)
    return relogged(header, events)


def _in_scope(log: Log, name: str) -> Log:
    topology = log.header.topology

    def named(text: str | None) -> str | None:
        return None if text is None else f"{name} {text}"

    processes = (replace(item, id=named(item.id), scope=name) for item in topology.processes)
    channels = (
        replace(item, id=named(item.id), source=named(item.source), target=named(item.target))
        for item in topology.channels
    )
    return Log(
        replace(log.header, topology=Topology(tuple(processes), tuple(channels))),
        tuple(
            replace(
                event,
                process=named(event.process),
                channel=named(event.channel),
                snapshot=named(event.snapshot),
            )
            for event in log.events
        ),
    )

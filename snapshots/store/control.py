"""What tasks and coordinators do in a stored recording, by ``domain.dataflow_logs.control``.

It is worked out once, when somebody first asks. A log with more than MOST_TELLING events of
checkpoints is not told, and ``why_not`` says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from snapshots.domain.dataflow_logs.control.activity import DOINGS, Doing, doings
from snapshots.domain.dataflow_logs.control.events import Place, is_coordinator
from snapshots.domain.dataflow_logs.control.progress import Progress, Progresses
from snapshots.domain.dataflow_logs.control.signals import SIGNALS, Signal, signals
from snapshots.domain.model.topology import ProcessId
from snapshots.store.control_events import ControlEvents
from snapshots.store.layout import IN_FLIGHT, NONE
from snapshots.store.mapped import Ints
from snapshots.store.tables import TIME, Tables

MOST_TELLING = 100_000
"""The most events of checkpoints that are read, each of which takes about a kilobyte meanwhile."""
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Places:
    """Places on both axes; int64[N].

    Attributes:
        at: instants; IN_FLIGHT for what does not come before the log ends.
        step: places on the order axis, which count from 1.
    """

    at: Ints = field(default_factory=lambda: _NOTHING)
    step: Ints = field(default_factory=lambda: _NOTHING)

    def on(self, axis: str) -> Ints:
        """Return the places on one axis."""
        return self.at if axis == TIME else self.step


@dataclass(frozen=True, slots=True)
class DoingRows:
    """What tasks do, in the order in which it begins; codes are int64[N].

    Attributes:
        process: the code of the task.
        what: which of DOINGS it does.
        snapshot: the code of the checkpoint for which it does it, or NONE.
        channel: the code of the blocked channel, or NONE.
        since, until: where it begins and ends.
    """

    process: Ints = field(default_factory=lambda: _NOTHING)
    what: Ints = field(default_factory=lambda: _NOTHING)
    snapshot: Ints = field(default_factory=lambda: _NOTHING)
    channel: Ints = field(default_factory=lambda: _NOTHING)
    since: Places = field(default_factory=Places)
    until: Places = field(default_factory=Places)


@dataclass(frozen=True, slots=True)
class SignalRows:
    """What coordinators and tasks say to each other, in the order of sending; int64[N].

    Attributes:
        kind: which of SIGNALS it is.
        coordinator: the code of the coordinator.
        task: the code of the task.
        snapshot: the code of the checkpoint.
        lost: 1 where the log says that it arrives nowhere, else 0.
        sent, arrived: where it is sent, and where it arrives; IN_FLIGHT where the log has none.
    """

    kind: Ints = field(default_factory=lambda: _NOTHING)
    coordinator: Ints = field(default_factory=lambda: _NOTHING)
    task: Ints = field(default_factory=lambda: _NOTHING)
    snapshot: Ints = field(default_factory=lambda: _NOTHING)
    lost: Ints = field(default_factory=lambda: _NOTHING)
    sent: Places = field(default_factory=Places)
    arrived: Places = field(default_factory=Places)


@dataclass(frozen=True, slots=True)
class SaidRows:
    """What is said beside the lanes of coordinators, in the order of its events; int64[N].

    Attributes:
        coordinator: the code of the coordinator.
        process, index: the event from which on it is said.
        words: what is said.
    """

    coordinator: Ints = field(default_factory=lambda: _NOTHING)
    process: Ints = field(default_factory=lambda: _NOTHING)
    index: Ints = field(default_factory=lambda: _NOTHING)
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Control:
    """What is told of a recording.

    Attributes:
        coordinators: the codes of the processes that are coordinators.
        doings: what tasks do.
        signals: what coordinators and tasks say to each other.
        said: how far checkpoints have come, at each event that changes it.
        progress: how far each checkpoint has come at the end of the log, by its name.
        why_not: why nothing is told, as a sentence. None if it is.
    """

    coordinators: tuple[int, ...] = ()
    doings: DoingRows = field(default_factory=DoingRows)
    signals: SignalRows = field(default_factory=SignalRows)
    said: SaidRows = field(default_factory=SaidRows)
    progress: Mapping[str, Progress] = field(default_factory=dict)
    why_not: str | None = None

    def said_at(self, positions: Ints) -> Ints:
        """Return which row of ``said`` is the newest of each coordinator at positions [P]."""
        inside = np.flatnonzero(self.said.index < positions[self.said.process])[::-1]
        _, newest = np.unique(self.said.coordinator[inside], return_index=True)
        return inside[newest]


def coordinators(tables: Tables) -> tuple[int, ...] | None:
    """Return the codes of the processes that are coordinators; None if the log has no tasks.

    It has tasks if its header has a dataflow or one of its processes is a coordinator.
    """
    processes = tables.topology.processes
    found = tuple(code for code, each in enumerate(processes) if is_coordinator(each.id))
    return found if found or "dataflow" in tables.manifest.header_extra else None


def read_control(tables: Tables) -> Control:
    """Return what the log tells; nothing, and no reason, for a log without such events."""
    heads = coordinators(tables)
    if heads is None:
        return Control()
    reader = ControlEvents(tables)
    count = len(reader.telling[0])
    if count > MOST_TELLING:
        why = f"The log has {count:,} events of checkpoints; for at most {MOST_TELLING:,} it is "
        return Control(heads, why_not=f"{why}worked out what the tasks do.")
    events = reader.read()
    progresses = Progresses(events, reader.plan)
    return Control(
        heads,
        _doing_rows(tables, doings(events, reader.plan, reader.lasts)),
        _signal_rows(tables, signals(events, reader.plan)),
        _said_rows(tables, progresses),
        progresses.by_name,
    )


def _codes(items: Sequence[str | None], code_of: Mapping[str, int]) -> Ints:
    return np.array([NONE if item is None else code_of[item] for item in items], np.int64)


def _processes(tables: Tables, names: Sequence[ProcessId]) -> Ints:
    return np.array([tables.process_code(name) for name in names], np.int64)


def _doing_rows(tables: Tables, found: list[Doing]) -> DoingRows:
    found = sorted(found, key=lambda each: (each.since.at, each.since.step or 0))
    topology = tables.topology
    channels: dict[str, int] = {each.id: code for code, each in enumerate(topology.channels)}
    processes = _processes(tables, [each.process for each in found])
    since, until = (
        _places(tables, processes, places)
        for places in ([each.since for each in found], [each.until for each in found])
    )
    return DoingRows(
        processes,
        np.array([DOINGS.index(each.what) for each in found], np.int64),
        _codes([each.snapshot for each in found], _snapshot_codes(tables)),
        _codes([each.channel for each in found], channels),
        Places(since.at, np.minimum(since.step, until.step)),
        until,
    )


def _signal_rows(tables: Tables, found: list[Signal]) -> SignalRows:
    tasks = _processes(tables, [each.task for each in found])
    return SignalRows(
        np.array([SIGNALS.index(each.kind) for each in found], np.int64),
        _processes(tables, [each.coordinator for each in found]),
        tasks,
        _codes([each.snapshot for each in found], _snapshot_codes(tables)),
        np.array([each.lost for each in found], np.int64),
        _places(tables, tasks, [each.sent for each in found]),
        _places(tables, tasks, [each.arrived for each in found]),
    )


def _said_rows(tables: Tables, progresses: Progresses) -> SaidRows:
    said = progresses.said
    return SaidRows(
        _processes(tables, [each.coordinator for each in said]),
        _processes(tables, [each.process for each in said]),
        np.array([each.index for each in said], np.int64),
        tuple(each.words for each in said),
    )


def _snapshot_codes(tables: Tables) -> dict[str, int]:
    return {name: code for code, name in enumerate(tables.manifest.snapshots)}


def _places(tables: Tables, processes: Ints, places: Sequence[Place | None]) -> Places:
    """Return places of processes [N] on both axes.

    A place at no event stands, on the order axis, at the first event of its process that is not
    earlier.
    """
    at = np.array([IN_FLIGHT if p is None else p.at for p in places], np.int64)
    step = np.array(
        [IN_FLIGHT if p is None or p.step is None else p.step + 1 for p in places], np.int64
    )
    lanes = np.flatnonzero((at != IN_FLIGHT) & (step == IN_FLIGHT))
    codes = processes[lanes]
    indices = tables.events.bisect_in("at", codes, at[lanes])
    exists = indices < tables.events.length[codes]
    own = lanes[exists]
    step[own] = tables.events.values("step", codes[exists], indices[exists]) + 1
    latest = [IN_FLIGHT if p is None or p.latest is None else p.latest + 1 for p in places]
    return Places(at, np.minimum(step, np.array(latest, np.int64)))

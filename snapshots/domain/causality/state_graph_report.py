"""The report on a graph of global states: what is drawn, what is not and why, and its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

from snapshots.domain.causality.global_states import (
    Action,
    Computation,
    Counts,
    Parcel,
    State,
    StateGraph,
    levels,
    state_graph,
)
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.model.as_json import Hidden
from snapshots.domain.model.derived import PROVES_NOTHING
from snapshots.domain.model.recording import RECEIVE, SEND, MessageId, SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId

MOST_DRAWN = 2_000
MOST_COUNTED = 10_000
MOST_PROCESSES = 50
RUN, SNAPSHOT = "run", "snapshot"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The cut that a snapshot recorded.

    Attributes:
        verdict: the word for all that was found wrong with the snapshot.
        positions: the position of each process that recorded.
    """

    snapshot: SnapshotId
    verdict: str
    positions: Mapping[ProcessId, int]


@dataclass(frozen=True, slots=True)
class ChannelMessage:
    """A message in a channel.

    Attributes:
        message: the id of the message.
        value: the value; None if the log does not say it.
    """

    message: MessageId
    value: JsonText | None

    @classmethod
    def of(cls, parcel: Parcel) -> "ChannelMessage":
        """Return what is shown of a message."""
        return cls(parcel.id, parcel.value)


@dataclass(frozen=True, slots=True)
class GlobalStateItem:
    """One consistent cut, and the global state in it.

    Attributes:
        number: its number, from 0, level by level.
        level: how many events lie inside.
        positions: how many events of each process lie inside, those of snapshots included, up to
            the last one that belongs to the computation.
        processes: the state of each process; None if it is not known.
        channels: what each channel holds, in the order of sending; an empty channel is absent.
        same_as: the number of the first cut with the same global state; its own number if there is
            none before, or if a state is not known.
    """

    number: int
    level: int
    positions: Mapping[ProcessId, int]
    processes: Mapping[ProcessId, JsonText | None]
    channels: Mapping[ChannelId, tuple[ChannelMessage, ...]]
    same_as: int


@dataclass(frozen=True, slots=True)
class StateEdge:
    """One event, which leads from one state to another.

    Attributes:
        source: the number of the state before.
        target: the number of the state after.
        process: the process of the event.
        index: the number of the event within its process, from 0.
        event: the event in words.
    """

    source: int
    target: int
    process: ProcessId
    index: int
    event: str


@dataclass(frozen=True)
class StateGraphReport:
    """The global states through which a run can pass, and the events between them.

    Attributes:
        snapshot: the snapshot whose recorded state is looked for; None if none was asked for.
        part: ``run`` if the graph is of the whole run; ``snapshot`` if it is of the part from the
            last state of the run before the first recording to the first after the last recording;
            None if nothing is drawn.
        sentences: what the graph shows, or why it is not drawn.
        total: how many consistent global states there are in the part, or in the whole run if
            nothing is drawn; None if that is not known.
        at_least: the least number that there can be; it equals ``total`` if that is known.
        distinct: how many of the states differ; None if a state of a process is not known, or if
            nothing is drawn.
        states: the states, level by level; empty if nothing is drawn.
        edges: the events that lead from state to state.
        run: the numbers of the states along the path that the run took.
        recorded: the number of the state that the snapshot recorded; None if it is not in the
            graph.
        reordered: the numbers along the path of Theorem 1, which passes through the recorded state;
            None if there is no such path.
        graph: the graph itself; None if nothing is drawn.
    """

    snapshot: SnapshotId | None
    part: str | None
    sentences: tuple[str, ...]
    total: int | None
    at_least: int
    distinct: int | None = None
    states: tuple[GlobalStateItem, ...] = ()
    edges: tuple[StateEdge, ...] = ()
    run: tuple[int, ...] = ()
    recorded: int | None = None
    reordered: tuple[int, ...] | None = None
    graph: Hidden[StateGraph | None] = None


def of_derived(snapshot: SnapshotId | None) -> StateGraphReport:
    """Return the report on a derived recording, of which no graph is drawn."""
    sentences = (
        "No graph is drawn: the events of this recording were made from checkpoints, so the paths "
        "through them are not those of the job.",
        PROVES_NOTHING,
    )
    return StateGraphReport(snapshot, None, sentences, None, 1)


def of_failures(snapshot: SnapshotId | None) -> StateGraphReport:
    """Return the report on a part in which a process crashed or was restored."""
    sentence = (
        "No graph is drawn: a process crashed or was restored in this part. That takes back states "
        "and drops messages, so the states behind it do not follow from the events before."
    )
    return StateGraphReport(snapshot, None, (sentence,), None, 1)


def of_many_processes(snapshot: SnapshotId | None, processes: int) -> StateGraphReport:
    """Return the report on a recording with too many processes."""
    sentence = (
        f"No graph is drawn: {processes:,} processes take part, and graphs of up to "
        f"{MOST_PROCESSES:,} are drawn."
    )
    return StateGraphReport(snapshot, None, (sentence,), None, 1)


def of_long_run(
    snapshot: SnapshotId | None, events: int, *, is_part: bool = False
) -> StateGraphReport:
    """Return the report on a part with too many events, each of which leads to one more state.

    Args:
        events: the least number of events.
        is_part: whether it is the part around the snapshot.
    """
    of_what = "the part around the snapshot" if is_part else "the run"
    sentence = (
        f"No graph is drawn: {of_what} has at least {events:,} events of the processes, and with "
        f"each comes one more state. Up to {MOST_DRAWN:,} states are drawn."
    )
    return StateGraphReport(snapshot, None, (sentence,), None, events + 1)


def report(
    computation: Computation, recorded: Recorded | None = None, *, is_part: bool = False
) -> StateGraphReport:
    """Return the report on the global states of a computation.

    Args:
        computation: the events of the whole run, or of the part around a snapshot.
        recorded: the cut of the snapshot to look for.
        is_part: whether the computation is the part around the snapshot.
    """
    graph = state_graph(computation, MOST_DRAWN)
    snapshot = recorded.snapshot if recorded else None
    if graph is None:
        return _too_large(computation, snapshot, is_part=is_part)
    counts, why_not = _recorded_cut(computation, recorded)
    number = None if counts is None else graph.number_of[counts]
    return StateGraphReport(
        snapshot=snapshot,
        part=SNAPSHOT if is_part else RUN,
        sentences=(
            *_about_all(graph, is_part=is_part),
            *(_about_recorded(graph, number, recorded) if number is not None else why_not),
        ),
        total=len(graph.states),
        at_least=len(graph.states),
        distinct=graph.distinct,
        states=tuple(_item(computation, state) for state in graph.states),
        edges=tuple(
            StateEdge(
                edge.source,
                edge.target,
                computation.processes[edge.action.process],
                edge.action.index,
                words(computation, edge.action),
            )
            for edge in graph.edges
        ),
        run=graph.run(),
        recorded=number,
        reordered=None if counts is None else graph.path_through(counts),
        graph=graph,
    )


def words(computation: Computation, action: Action) -> str:
    """Return an event in words, such as "p sends m1 on c"."""
    process = computation.processes[action.process]
    message = action.parcel.id if action.parcel else "a message that no send explains"
    if action.kind == SEND:
        return f"{process} sends {message} on {action.channel}"
    if action.kind == RECEIVE:
        return f"{process} receives {message} from {action.channel}"
    return f"{process}: {action.label or action.kind}"


def _too_large(
    computation: Computation, snapshot: SnapshotId | None, *, is_part: bool
) -> StateGraphReport:
    cuts = levels(computation, MOST_COUNTED)
    total = None if cuts is None else sum(map(len, cuts))
    count = f"more than {MOST_COUNTED:,}" if total is None else f"{total:,}"
    of_what = "the part around the snapshot" if is_part else "the run"
    sentence = (
        f"No graph is drawn: {of_what} has {count} consistent global states, and up to "
        f"{MOST_DRAWN:,} are drawn."
    )
    at_least = MOST_COUNTED + 1 if total is None else total
    return StateGraphReport(snapshot, None, (sentence,), total, at_least)


def _recorded_cut(
    computation: Computation, recorded: Recorded | None
) -> tuple[Counts | None, tuple[str, ...]]:
    """Return the cut of a snapshot, or None with the reason why it is not in the graph."""
    if recorded is None:
        return None, ()
    missing = [name for name in computation.processes if name not in recorded.positions]
    if missing:
        others = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        return None, (
            f"There is no recorded state to look for: {missing[0]}{others} never recorded in "
            f"{recorded.snapshot}.",
        )
    counts = computation.counts_at(recorded.positions)
    if computation.is_consistent(counts):
        return counts, ()
    return None, (
        f"What {recorded.snapshot} recorded is none of these states: a message is received inside "
        "its cut and sent outside, so no order of these events passes through it.",
    )


def _about_all(graph: StateGraph, *, is_part: bool) -> tuple[str, ...]:
    total, steps = len(graph.states), len(graph.run()) - 1
    of_what = "The part of the run around the snapshot" if is_part else "The run"
    states = "1 consistent global state" if total == 1 else f"{total:,} consistent global states"
    events = "1 event" if steps == 1 else f"{steps:,} events"
    sentences = [f"{of_what} has {states}; each way through them takes its {events}."]
    distinct, unexplained = graph.distinct, graph.computation.unexplained
    if distinct is None:
        sentences.append(
            "Which of them are equal is not known, because the log does not hold all states."
        )
    elif distinct < total:
        sentences.append(f"{distinct:,} of them differ; the others come again.")
    if unexplained:
        sentences.append(
            f"For {unexplained:,} receives the log holds no send, so nothing says what they had to "
            "wait for: some of these states may not be possible."
        )
    return tuple(sentences)


def _about_recorded(graph: StateGraph, number: int, recorded: Recorded | None) -> tuple[str, ...]:
    assert recorded is not None  # it has a number
    name, run = recorded.snapshot, graph.run()
    if number in run:
        sentences = [f"{name} recorded state {number}, through which the run itself passed."]
    else:
        sentences = [
            f"{name} recorded state {number}. The run did not pass through it on its path, but the "
            "same events in another order do (Theorem 1)."
        ]
        same_as = graph.states[number].same_as
        twin = next((other for other in run if graph.states[other].same_as == same_as), None)
        if twin is not None and graph.distinct is not None:
            sentences.append(f"It passed through state {twin}, which is an equal one.")
    if recorded.verdict != CONSISTENT:
        sentences.append(
            f"That is the state in the log at the recorded positions; the verdict on what was "
            f"recorded there is “{recorded.verdict}”."
        )
    return tuple(sentences)


def _item(computation: Computation, state: State) -> GlobalStateItem:
    return GlobalStateItem(
        state.number,
        state.level,
        computation.positions(state.counts),
        dict(zip(computation.processes, state.processes, strict=True)),
        {
            channel.id: tuple(map(ChannelMessage.of, state.channels[channel.id]))
            for channel in computation.channels
            if channel.id in state.channels
        },
        state.same_as,
    )

"""Compare two recordings, such as one run before and one after a fix.

The events of each process are aligned with those of the process of the same name. Two events stand
for each other if kind, channel, value, snapshot and label are the same. Ids of messages are not
compared, for they number the messages of one run; nor are times, which no two runs share.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from snapshots.domain.comparing.aligning import Alignment, Effort, Gap, align
from snapshots.domain.comparing.model import (
    EVENTS,
    EXISTENCE,
    Comparison,
    Difference,
    GlobalState,
    Judgement,
    Spot,
    in_both_or_one,
)
from snapshots.domain.comparing.states import compare_judgements, compare_states
from snapshots.domain.judging.witnesses import short
from snapshots.domain.model.recording import SnapshotId
from snapshots.domain.model.topology import ChannelId, JsonText, ProcessId


@dataclass(frozen=True, slots=True)
class Events:
    """The events of one process, as far as they are compared.

    Attributes:
        keys: what is compared of each event.
        states: the state that each event carries; None if it carries none.
        total: how many events the process has, compared or not.
    """

    keys: Sequence[Hashable]
    states: Sequence[JsonText | None]
    total: int

    @property
    def is_cut_off(self) -> bool:
        """Tell whether the process has further events, which are not compared."""
        return self.total > len(self.keys)


@dataclass(frozen=True, slots=True)
class Run:
    """One side of a comparison of recordings.

    Attributes:
        name: how sentences call the recording.
        events: the events of each process.
        spot: a function that finds an event by its process and index.
        words: a function that says in words what an event does.
        sent: how many messages were sent on each channel.
        end: the states and contents at the end of the recording.
        snapshots: the answers about each snapshot.
    """

    name: str
    events: Mapping[ProcessId, Events]
    spot: Callable[[ProcessId, int], Spot]
    words: Callable[[ProcessId, int], str]
    sent: Mapping[ChannelId, int]
    end: GlobalState
    snapshots: Mapping[SnapshotId, Mapping[str, Judgement]]


@dataclass
class RunComparison:
    """The comparison of two recordings.

    Attributes:
        comparison: the differences, and what could not be compared.
        alignments: which events of each process stand for each other.
        settled: how many events of each process are compared for certain, from the first one on,
            on the left and on the right side.
    """

    comparison: Comparison
    alignments: dict[ProcessId, Alignment] = field(default_factory=dict)
    settled: dict[ProcessId, tuple[int, int]] = field(default_factory=dict)


def compare_runs(left: Run, right: Run) -> RunComparison:
    """Compare the snapshots, the processes, the events and the ends of two recordings."""
    ends = _of_both(left.end, right.end), _of_both(right.end, left.end)
    result = RunComparison(compare_states(*ends, by_id=False))
    _compare_topologies(result.comparison, left, right)
    _compare_snapshots(result.comparison, left, right)
    effort = Effort()
    for process in map(ProcessId, in_both_or_one(left.events, right.events)):
        if process in left.events and process in right.events:
            pair = left.events[process], right.events[process]
            alignment = align(pair[0].keys, pair[1].keys, effort)
            result.alignments[process] = alignment
            result.settled[process] = _settled(pair, alignment)
            _compare_process(result.comparison, (left, right), process, alignment)
    return result


def _of_both(state: GlobalState, other: GlobalState) -> GlobalState:
    """Return a state without the processes and channels that the other recording lacks."""
    return replace(
        state,
        states={name: held for name, held in state.states.items() if name in other.states},
        channels={name: held for name, held in state.channels.items() if name in other.channels},
    )


def _compare_topologies(comparison: Comparison, left: Run, right: Run) -> None:
    """Add the processes and channels that only one recording has."""
    for run, other in ((left, right), (right, left)):
        for process, events in run.events.items():
            if process not in other.events:
                sentence = (
                    f"Only {run.name} has the process {process}, with "
                    f"{_counted(events.total, 'event')}."
                )
                comparison.differences.append(
                    Difference("process", EXISTENCE, events.total or 1, sentence, process=process)
                )
        for channel, sent in run.sent.items():
            if channel not in other.sent:
                sentence = (
                    f"Only {run.name} has the channel {channel}, with {_counted(sent, 'message')}."
                )
                comparison.differences.append(
                    Difference("channel", EXISTENCE, sent or 1, sentence, channel=channel)
                )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def _compare_snapshots(comparison: Comparison, left: Run, right: Run) -> None:
    for snapshot in map(SnapshotId, in_both_or_one(left.snapshots, right.snapshots)):
        ours, theirs = left.snapshots.get(snapshot), right.snapshots.get(snapshot)
        if ours is None or theirs is None:
            name = right.name if ours is None else left.name
            sentence = f"Only {name} has a snapshot {snapshot}."
            comparison.differences.append(
                Difference("snapshot", EXISTENCE, 1, sentence, snapshot=snapshot)
            )
        else:
            names = f"{snapshot} of {left.name}", f"{snapshot} of {right.name}"
            compare_judgements(comparison, names, ours, theirs, snapshot)


def _compare_process(
    comparison: Comparison, runs: tuple[Run, Run], process: ProcessId, alignment: Alignment
) -> None:
    """Add how the events of a process differ, and what of them is not compared."""
    skipped = len(comparison.not_compared)
    _note_uncompared(comparison, runs, process, alignment)
    gaps = _certain_gaps((runs[0].events[process], runs[1].events[process]), alignment)
    if gaps:
        comparison.differences.append(_other_events(runs, process, gaps))
    if difference := _other_states(runs, process, alignment):
        comparison.differences.append(difference)
    if not gaps and not difference and len(comparison.not_compared) == skipped:
        comparison.add_equal("events")


def _tail(pair: tuple[Events, Events], alignment: Alignment) -> tuple[int, int]:
    """Count the last taken events of each side that may stand for events that are not taken.

    Such an event has no partner, and nothing after it has one. The other side goes on.
    """
    if not alignment.gaps:
        return 0, 0
    last = alignment.gaps[-1]
    if (last.left[1], last.right[1]) != (len(pair[0].keys), len(pair[1].keys)):
        return 0, 0
    left, right = (last.left[1] - last.left[0]), (last.right[1] - last.right[0])
    return left * pair[1].is_cut_off, right * pair[0].is_cut_off


def _certain_gaps(pair: tuple[Events, Events], alignment: Alignment) -> list[Gap]:
    """Return the gaps without the events that may stand for events that are not taken."""
    tail = _tail(pair, alignment)
    if not any(tail):
        return list(alignment.gaps)
    *gaps, last = alignment.gaps
    (left, left_end), (right, right_end) = last.left, last.right
    rest = replace(last, left=(left, left_end - tail[0]), right=(right, right_end - tail[1]))
    return [*gaps, rest] if rest.size else gaps


def _settled(pair: tuple[Events, Events], alignment: Alignment) -> tuple[int, int]:
    """Count the first events of each side that are compared for certain."""
    ends = [
        len(events.keys) - rest for events, rest in zip(pair, _tail(pair, alignment), strict=True)
    ]
    for gap in alignment.gaps:
        if not gap.is_searched:
            return min(ends[0], gap.left[0]), min(ends[1], gap.right[0])
    return ends[0], ends[1]


def _note_uncompared(
    comparison: Comparison, runs: tuple[Run, Run], process: ProcessId, alignment: Alignment
) -> None:
    for run in runs:
        events = run.events[process]
        if rest := events.total - len(events.keys):
            comparison.skip(
                "events",
                f"{process}: the last {rest:,} of {events.total:,} events in {run.name} are not "
                "compared: the recording has more events than one comparison takes.",
            )
    tail = _tail((runs[0].events[process], runs[1].events[process]), alignment)
    for rest, run, other in zip(tail, runs, reversed(runs), strict=True):
        if rest:
            comparison.skip(
                "events",
                f"{process}: {_counted(rest, 'event')} of {run.name} may stand for events of "
                f"{other.name} that are not compared.",
            )
    for gap in alignment.gaps:
        if not gap.is_searched:
            comparison.skip("events", f"{process}: {_unsearched(runs, gap)}")
    if stateless := sum(
        _is_half_known(*pair) for pair in _pairs_of_states(runs, process, alignment)
    ):
        comparison.skip(
            "events",
            f"{process}: the states after {_counted(stateless, 'event')} that both have are not "
            "compared: one of the recordings does not hold them.",
        )


def _pairs_of_states(
    runs: tuple[Run, Run], process: ProcessId, alignment: Alignment
) -> Iterator[tuple[JsonText | None, JsonText | None]]:
    """Yield the states of both sides after each event that both have."""
    left, right = (run.events[process].states for run in runs)
    for ours, theirs in alignment.pairs():
        yield left[ours], right[theirs]


def _unsearched(runs: tuple[Run, Run], gap: Gap) -> str:
    return (
        f"events {_range(gap.left)} of {runs[0].name} and {_range(gap.right)} of {runs[1].name} "
        "are not aligned, because the search for what both share would take too long. They count "
        "as different."
    )


def _range(half_open: tuple[int, int]) -> str:
    return f"{half_open[0]:,} to {half_open[1] - 1:,}"


def _other_events(runs: tuple[Run, Run], process: ProcessId, gaps: Sequence[Gap]) -> Difference:
    """Return the difference between the events of a process that only one side has."""
    indices = gaps[0].left[0], gaps[0].right[0]
    sides = [gap.left for gap in gaps], [gap.right for gap in gaps]
    only = [sum(end - begin for begin, end in ranges) for ranges in sides]
    spots = [
        run.spot(process, index) if index < len(run.events[process].keys) else None
        for run, index in zip(runs, indices, strict=True)
    ]
    begin = _beginning(indices[0])
    counts = ", ".join(
        f"{count:,} only in {run.name}" for count, run in zip(only, runs, strict=True) if count
    )
    return Difference(
        "events",
        EVENTS,
        sum(only),
        f"{process}: {begin}; then {_next(runs[0], process, indices[0])}, and "
        f"{_next(runs[1], process, indices[1])}. Of its events, {counts}.",
        process=process,
        left_spot=spots[0],
        right_spot=spots[1],
    )


def _beginning(shared: int) -> str:
    if shared == 0:
        return "they differ from the first event on"
    return "the first event agrees" if shared == 1 else f"the first {shared:,} events agree"


def _next(run: Run, process: ProcessId, index: int) -> str:
    events = run.events[process]
    if index < len(events.keys):
        return f"in {run.name} it {run.words(process, index)}"
    if index < events.total:
        return f"in {run.name} further events are not compared"
    return f"{run.name} has no further event"


def _other_states(
    runs: tuple[Run, Run], process: ProcessId, alignment: Alignment
) -> Difference | None:
    """Return where events that both sides have leave another state; None if none does."""
    left, right = (run.events[process].states for run in runs)
    pairs = [
        (ours, theirs) for ours, theirs in alignment.pairs() if _differ(left[ours], right[theirs])
    ]
    if not pairs:
        return None
    ours, theirs = pairs[0]
    state, other = left[ours], right[theirs]
    assert state is not None  # two states differ only if both are known
    assert other is not None
    more = len(pairs) - 1
    rest = f" So {'does' if more == 1 else 'do'} {_counted(more, 'further event')}." * bool(more)
    return Difference(
        "events",
        EVENTS,
        len(pairs),
        f"{process}: event {ours:,} of {runs[0].name} ({runs[0].words(process, ours)}), which both "
        f"have, leaves the state {short(state)} in {runs[0].name} and {short(other)} in "
        f"{runs[1].name}.{rest}",
        process=process,
        left=state,
        right=other,
        left_spot=runs[0].spot(process, ours),
        right_spot=runs[1].spot(process, theirs),
    )


def _differ(left: JsonText | None, right: JsonText | None) -> bool:
    return left is not None and right is not None and left != right


def _is_half_known(left: JsonText | None, right: JsonText | None) -> bool:
    return (left is None) != (right is None)


def fair_share(lengths: Sequence[int], most: int) -> int:
    """Return how many events of each process can be taken, so that all together are ``most``.

    Each process gives its first so many events, or all if it has fewer. If all fit, it is ``most``.
    """
    left, open_ = most, len(lengths)
    for length in sorted(lengths):
        if length * open_ > left:
            return left // open_
        left, open_ = left - length, open_ - 1
    return most

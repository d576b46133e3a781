"""Compare a run with snapshots and the same run without: does the computation stay the same?

The computation is the events of the processes themselves, in the order of the run, with their
times, messages and states. What a snapshot adds is taken out first: markers, records, and the
pieces that are collected. The colour that messages of Lai and Yang carry is not compared, because
no process of the computation reads it.

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985, section 1: the recording
must run concurrently with, but not alter, the underlying computation.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from snapshots.domain.judging.snapshot_log import SNAPSHOT_KINDS
from snapshots.domain.model.recording import (
    INTERNAL,
    MARKER_RECEIVE,
    MARKER_SEND,
    RECEIVE,
    RECORD_CHANNEL,
    RECORD_STATE,
    SEND,
    LoggedEvent,
)
from snapshots.domain.simulators.protocols.flooding import piece_of

COMPARED = ("process", "kind", "at", "channel", "message", "value", "state", "label")
COMPUTATION, SNAPSHOT, DIFFERENT = "computation", "snapshot", "different"


@dataclass(frozen=True, slots=True)
class Added:
    """What the snapshots of a run add to its computation.

    Attributes:
        markers: how many markers were sent.
        states: how many states of processes were recorded.
        channels: how many states of channels were recorded.
        pieces: how many pieces of snapshots were sent to collect them.
        coloured: how many messages of the computation carry the snapshots that their sender had
            recorded.
    """

    markers: int = 0
    states: int = 0
    channels: int = 0
    pieces: int = 0
    coloured: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One instant of both runs.

    Attributes:
        at: the time of the event with snapshots, or of the other one if there is none.
        process: the process of the event.
        with_snapshots: the event of the run with snapshots, in words; None if it has none here.
        without: the event of the run without snapshots, in words; None if it has none here.
        kind: ``computation`` if both runs have the event, ``snapshot`` if a snapshot adds it,
            ``different`` if the computations differ here.
    """

    at: int
    process: str
    with_snapshots: str | None
    without: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run with snapshots beside the same run without.

    Attributes:
        equal: whether the computations are the same, event for event.
        events: how many events the computations share before the first difference.
        with_snapshots: how many events the computation with snapshots has.
        without: how many events the computation without snapshots has.
        added: what the snapshots add.
        first_difference: the place of the first row in which the computations differ, from 0; None
            if they do not.
        rows: both runs, row by row.
        sentences: the answer in words.
    """

    equal: bool
    events: int
    with_snapshots: int
    without: int
    added: Added
    first_difference: int | None
    rows: tuple[Row, ...]
    sentences: tuple[str, ...]


def computation(events: Iterable[LoggedEvent]) -> Iterator[LoggedEvent]:
    """Yield the events of the processes themselves."""
    return (event for event in events if not of_snapshot(event))


def of_snapshot(event: LoggedEvent) -> bool:
    """Tell whether a snapshot adds the event: a marker, a record, or a piece that is collected."""
    return event.kind in SNAPSHOT_KINDS or piece_of(event.value) is not None


def compare(
    with_snapshots: Sequence[LoggedEvent],
    without: Sequence[LoggedEvent],
    *,
    ends_early: bool = False,
) -> Comparison:
    """Compare two runs of one seed.

    Args:
        ends_early: whether the run with snapshots ends as soon as they have; then it is compared
            with the beginning of the other one.
    """
    ours, others = list(computation(with_snapshots)), list(without)
    compared = others[: len(ours)] if ends_early else others
    rows = tuple(_rows(with_snapshots, compared))
    first = next((n for n, row in enumerate(rows) if row.kind == DIFFERENT), None)
    shared = sum(row.kind == COMPUTATION for row in rows[:first])
    added = _added(with_snapshots)
    return Comparison(
        equal=first is None,
        events=shared,
        with_snapshots=len(ours),
        without=len(others),
        added=added,
        first_difference=first,
        rows=rows,
        sentences=(
            _answer(rows, first, shared),
            *_end(len(ours), len(others), is_equal=first is None and ends_early),
            _sum(added),
        ),
    )


def words(event: LoggedEvent) -> str:
    """Return an event in words, such as "sends m1 (100) on c"."""
    value = f" ({event.value})" if event.value and len(event.value) <= 20 else ""
    return {
        SEND: f"sends {event.message}{value} on {event.channel}",
        RECEIVE: f"receives {event.message}{value} from {event.channel}",
        INTERNAL: event.label or INTERNAL,
        MARKER_SEND: f"sends the marker of {event.snapshot} on {event.channel}",
        MARKER_RECEIVE: f"receives the marker of {event.snapshot} from {event.channel}",
        RECORD_STATE: f"records its state for {event.snapshot}",
        RECORD_CHANNEL: f"records {event.channel} for {event.snapshot}",
    }.get(event.kind, event.kind)


def _rows(ours: Iterable[LoggedEvent], others: Sequence[LoggedEvent]) -> Iterator[Row]:
    """Yield both runs side by side. From the first difference on, events are paired by number."""
    remaining = iter(others)
    for event in ours:
        if of_snapshot(event):
            yield Row(event.at or 0, event.process, words(event), None, SNAPSHOT)
            continue
        yield _row(event, next(remaining, None))
    for other in remaining:
        yield _row(None, other)


def _row(ours: LoggedEvent | None, other: LoggedEvent | None) -> Row:
    shown = ours or other
    assert shown is not None  # a row has at least one of them
    is_same = ours is not None and other is not None and _fields(ours) == _fields(other)
    return Row(
        shown.at or 0,
        shown.process,
        words(ours) if ours else None,
        _other_words(other, is_same) if other else None,
        COMPUTATION if is_same else DIFFERENT,
    )


def _other_words(event: LoggedEvent, is_same: bool) -> str:
    """Return an event in words, with its process unless that stands beside it already."""
    return words(event) if is_same else f"{event.process} {words(event)}"


def _fields(event: LoggedEvent) -> tuple[object, ...]:
    return tuple(getattr(event, name) for name in COMPARED)


def _added(events: Iterable[LoggedEvent]) -> Added:
    counts = {"markers": 0, "states": 0, "channels": 0, "pieces": 0, "coloured": 0}
    names = {MARKER_SEND: "markers", RECORD_STATE: "states", RECORD_CHANNEL: "channels"}
    for event in events:
        if event.kind in names:
            counts[names[event.kind]] += 1
        elif event.kind == SEND:
            is_piece = piece_of(event.value) is not None
            counts["pieces"] += is_piece
            counts["coloured"] += not is_piece and event.extra is not None
    return Added(**counts)


def _answer(rows: Sequence[Row], first: int | None, shared: int) -> str:
    if first is None:
        return (
            f"The computation is the same with and without snapshots: all {shared:,} events agree "
            "in process, order, time, message and state."
        )
    row = rows[first]
    ours, other = row.with_snapshots or "has no further event", row.without or "nothing further"
    return (
        f"The computations differ. The first {shared:,} events agree; then, with snapshots, "
        f"{row.process} {ours}, and without: {other}."
    )


def _end(ours: int, others: int, *, is_equal: bool) -> Iterator[str]:
    if is_equal and others > ours:
        yield (
            f"The run with snapshots ends as soon as they have ended, so it has the first {ours:,} "
            f"of the {others:,} events without."
        )


def _sum(added: Added) -> str:
    parts = [
        _counted(added.markers, "marker"),
        _counted(added.states, "recorded process state"),
        _counted(added.channels, "recorded channel state"),
    ]
    if added.pieces:
        parts.append(_counted(added.pieces, "message with a piece of a snapshot"))
    if added.coloured:
        parts.append(f"the colour of {_counted(added.coloured, 'message')}")
    return f"The snapshots add {', '.join(parts[:-1])} and {parts[-1]}."


def _counted(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    head, _, rest = noun.partition(" with ")
    return f"{number:,} {head}s{' with ' + rest if rest else ''}"

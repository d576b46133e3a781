"""Compare what the original and the restored run hold at one place, row by row."""

from collections.abc import Iterable

from snapshots.domain.model.defects import times
from snapshots.domain.model.recording import MessageId
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.model.values import same_amount
from snapshots.domain.replaying.replayed_state import same_contents
from snapshots.domain.replaying.restored_course import Held
from snapshots.domain.replaying.restored_run import RestoredRun, Side
from snapshots.domain.replaying.restored_sentences import amount, named
from snapshots.payloads.restored import RestoredRow, RestoredSums

MOST_ROWS = 60
MOST_MESSAGES = 8  # of a channel
SAME, OTHER, OPEN, WAITS = "same", "other", "open", "waits"
_ORDER = (OTHER, OPEN, WAITS, SAME)
EMPTY, WITHOUT = "empty", "without state"


def rows_at(run: RestoredRun, place: int) -> tuple[list[RestoredRow], int, str]:
    """Return the rows of what both sides hold, those that differ first, and how many differ.

    The text says so, and how many rows are left out.

    A row waits as long as its process has no state yet, or the channels are not all filled.
    """
    rows = [*_states(run, place), *_contents(run, place)]
    rows.sort(key=lambda row: _ORDER.index(row["verdict"]))
    differ, hidden = sum(row["verdict"] == OTHER for row in rows), len(rows) - MOST_ROWS
    more = times(hidden, "more row is", "more rows are")
    parts = (
        times(differ, "differs", "differ") if differ else "",
        f"{more} not shown" if hidden > 0 else "",
    )
    return rows[:MOST_ROWS], differ, "; ".join(filter(None, parts))


def _states(run: RestoredRun, place: int) -> Iterable[RestoredRow]:
    for process in run.original.states:
        left, right = (side.state(process, place) for side in (run.original, run.restored))
        if not run.restored.has_state(process, place):
            verdict = WAITS
        elif None in (left, right):
            verdict = OPEN
        else:
            verdict = SAME if left == right else OTHER
        texts = [state_text(side, process, place) for side in (run.original, run.restored)]
        yield {"name": process, "of": "state", "texts": texts, "verdict": verdict}


def state_text(side: Side, process: ProcessId, place: int) -> str:
    """Return the state of a process for a cell."""
    state = side.state(process, place)
    if state is not None:
        return amount(state)
    return "not known" if side.has_state(process, place) else WITHOUT


def _contents(run: RestoredRun, place: int) -> Iterable[RestoredRow]:
    left, right = run.original.contents(place), run.restored.contents(place)
    for channel in run.course.topology.channels:
        held = left.get(channel.id, []), right.get(channel.id, [])
        if not any(held):
            continue
        same = same_contents(*map(_ids, held), fifo=channel.fifo)
        verdict = WAITS if place < run.cut else SAME if same else OTHER
        texts = list(map(contents_text, held))
        yield {"name": channel.id, "of": "channel", "texts": texts, "verdict": verdict}


def contents_text(held: list[Held]) -> str:
    """Return the messages of a channel for a cell."""
    texts = list(map(named, held[:MOST_MESSAGES]))
    more = [f"{len(held) - MOST_MESSAGES:,} more"] if len(held) > MOST_MESSAGES else []
    return ", ".join([*texts, *more]) or EMPTY


def _ids(held: Iterable[Held]) -> list[MessageId]:
    return [message.id for message in held]


def sums_at(run: RestoredRun, place: int) -> RestoredSums | None:
    """Return the sums of both sides beside the one that is conserved; None if none is."""
    if run.conserved is None:
        return None
    left = run.original.total(place)
    right = run.restored.total(place) if place >= run.beats[1] else None
    texts = [_sum_text(left), _sum_text(right)]
    is_wrong = place >= run.cut and right is not None and not same_amount(right, run.conserved)
    sentence = ""
    if is_wrong and right is not None:
        off = right - run.conserved
        word = "too much" if off > 0 else "missing"
        sentence = (
            f"The sum over states and channels is {_sum_text(right)}; it was "
            f"{_sum_text(run.conserved)} at the start: {_sum_text(abs(off))} {word}."
        )
    return {"texts": texts, "conserved": _sum_text(run.conserved), "wrong": sentence}


def _sum_text(value: int | float | None) -> str:
    return "not known" if value is None else f"{value:,}"

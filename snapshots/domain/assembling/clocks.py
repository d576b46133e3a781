"""Compute times and one order of all events that agree with causality.

All functions work on columns with one row per event, sorted by (process, index):

* ``starts``: int64[P + 1], the first row of each process; the last entry is the number of rows.
* ``at``: int64[N], the time in the log, valid where ``known`` (bool[N]) is true.
* ``line``: int64[N], the line in the log.
* ``cause``: int64[N], the row of the send whose message or marker a row receives, else NONE.

The columns may be mapped files. Then memory holds a few million rows of them at a time, or one
process, or all rows of one instant if these are more.

Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System",
CACM 21(7), 1978.
"""

import heapq
import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

NONE = -1
ROWS_AT_ONCE = 2**21  # that are sorted in memory, if not more of them share an instant
_SAMPLED = 64  # rows for which one is looked at to find instants that divide all rows evenly


def _column(length: int) -> np.ndarray:
    return np.empty(length, np.int64)


class CausalCycle(Exception):
    """Some events each come before the next, and the last before the first.

    Args:
        rows: these events; each is a cause of the next one, and the last of the first.
    """

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        super().__init__(f"{len(rows)} events wait for each other in a circle")


@dataclass(frozen=True)
class Times:
    """Times and steps that agree with causality. In the order of steps, ``at`` never falls.

    Attributes:
        at: int64[N]: the times, which never fall within a process nor from cause to effect.
        step: int64[N]: 0 .. N - 1, which rise within a process and from cause to effect.
    """

    at: np.ndarray
    step: np.ndarray


def causal_times(
    starts: np.ndarray,
    at: np.ndarray,
    known: np.ndarray,
    line: np.ndarray,
    cause: np.ndarray,
    new: Callable[[int], np.ndarray] = _column,
) -> Times:
    """Return the log's own times if they are causal, else the least causal times above them.

    A row without a time gets the time of its latest predecessor, or the earliest time of the log if
    it has no predecessor. If no row has a time, rows count 0, 1, 2 … along causality (Lamport's
    clock). Steps rank by (at, line); where that is not causal, causes come first among equal times.
    ``new`` makes a column of int64 of a given length for the result.
    Raises: CausalCycle.
    """
    if not len(at):
        return Times(_column(0), _column(0))
    causal = at
    if not _is_causal(starts, at, known, cause):
        causal = new(len(at))
        none_known = not known.any()
        lowest = 0 if none_known else at.min(where=known, initial=np.iinfo(np.int64).max)
        for first, end in itertools.pairwise(starts):
            causal[first:end] = np.where(known[first:end], at[first:end], lowest)
        _walk(starts, causal, cause, tick=1 if none_known else 0)
    step = new(len(at))
    _rank(step, starts, causal, line, cause)
    return Times(causal, step)


def _is_causal(starts: np.ndarray, at: np.ndarray, known: np.ndarray, cause: np.ndarray) -> bool:
    """Tell whether every row has a time, and none is before that of a predecessor."""
    for first, end in itertools.pairwise(starts):
        own = at[first:end]
        if not known[first:end].all() or (own[1:] < own[:-1]).any():
            return False
        receives = np.flatnonzero(cause[first:end] != NONE)
        if (own[receives] < at[cause[first:end][receives]]).any():
            return False
    return True


def fallen(starts: np.ndarray, at: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Tell which rows have a time before that of an earlier row of their process: bool[N]."""
    given = np.where(known, at, np.iinfo(np.int64).min)
    falls = np.zeros(len(at), bool)
    for first, end in itertools.pairwise(starts):
        latest = np.maximum.accumulate(given[first:end])
        falls[first:end] = given[first:end] < latest
    return falls & known


def early(at: np.ndarray, known: np.ndarray, cause: np.ndarray) -> np.ndarray:
    """Tell which rows receive at a time before that of the send: bool[N]."""
    source = np.where(cause == NONE, 0, cause)
    return (cause != NONE) & known & known[source] & (at < at[source])


def _walk(starts: np.ndarray, times: np.ndarray, cause: np.ndarray, tick: int) -> None:
    """Raise every row's time to the least one: max(given, times of its predecessors + tick).

    Each process advances until it comes to a receive whose send has no time yet; that send wakes
    it. Raises: CausalCycle.
    """
    here, causes = _view(times), _view(cause)
    bounds = starts.tolist()
    position, ends = bounds[:-1], bounds[1:]
    asleep: dict[int, int] = {}  # the process that waits for a send, by the row of the send
    awake = deque(range(len(ends)))
    while awake:
        process = awake.popleft()
        row, end = position[process], ends[process]
        latest = here[row - 1] if row > bounds[process] else None
        while row < end:
            time = here[row]
            if latest is not None and latest + tick > time:
                time = latest + tick
            source = causes[row]
            if source != NONE:
                owner = bisect_right(bounds, source) - 1
                walked_to = row if owner == process else position[owner]
                if source >= walked_to:
                    asleep[source] = process
                    break
                time = max(time, here[source] + tick)
            here[row] = latest = time
            row += 1
            if row - 1 in asleep:
                awake.append(asleep.pop(row - 1))
        position[process] = row
    for row, end in zip(position, ends, strict=True):
        if row < end:
            raise CausalCycle(_circle(row, lambda row: _waits_for(row, position, causes, bounds)))


def _view(column: np.ndarray) -> memoryview:
    """Return an array as a view of plain ints, which is faster to index one by one."""
    return np.ascontiguousarray(column).data


def _waits_for(row: int, position: list[int], causes: memoryview, bounds: list[int]) -> int:
    """Return the row that blocks another one: the next row of its process, or its cause."""
    blocked = position[bisect_right(bounds, row) - 1]
    return causes[row] if row == blocked else blocked


def _circle(row: int, waits_for: Callable[[int], int]) -> list[int]:
    """Return the circle into which ``waits_for`` leads from ``row``, causes before effects."""
    visited: dict[int, int] = {}
    while row not in visited:
        visited[row] = len(visited)
        row = waits_for(row)
    return list(visited)[visited[row] :][::-1]


def _rank(
    step: np.ndarray, starts: np.ndarray, at: np.ndarray, line: np.ndarray, cause: np.ndarray
) -> None:
    """Rank rows by (at, line), with causes first among equal times. ``at`` must be causal."""
    ranked = 0
    for rows in _in_spans(starts, at):
        order = rows[np.lexsort((line[rows], at[rows]))]
        ranks = np.arange(ranked, ranked + len(rows))
        step[order] = ranks
        misplaced = _misplaced(rows, step, starts, cause)
        sorted_at = at[order]
        for time in np.unique(at[misplaced]):
            first = np.searchsorted(sorted_at, time, side="left")
            end = np.searchsorted(sorted_at, time, side="right")
            order[first:end] = _untied(order[first:end], starts, line, cause)
        if len(misplaced):
            step[order] = ranks
        ranked += len(rows)


def _in_spans(starts: np.ndarray, at: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all rows, about ROWS_AT_ONCE at a time; rows of one instant come together.

    No row is before those yielded earlier. ``at`` must not fall within a process.
    """
    bounds = list(itertools.pairwise(starts.tolist()))
    sampled = np.sort(np.concatenate([at[first:end:_SAMPLED] for first, end in bounds]))
    limits = np.unique(sampled[:: max(ROWS_AT_ONCE // _SAMPLED, 1)])[1:].tolist()
    begins = [first for first, _ in bounds]
    for limit in (*limits, None):
        until = [
            end if limit is None else begin + int(np.searchsorted(at[begin:end], limit))
            for begin, (_, end) in zip(begins, bounds, strict=True)
        ]
        yield np.concatenate(list(map(np.arange, begins, until)))
        begins = until


def _misplaced(
    rows: np.ndarray, step: np.ndarray, starts: np.ndarray, cause: np.ndarray
) -> np.ndarray:
    """Return those of the rows that have a predecessor with a later step."""
    source = cause[rows]
    early = (source != NONE) & (step[source] >= step[rows])
    follows = ~np.isin(rows, starts)
    early |= follows & (step[rows] < step[rows - 1])
    return rows[early]


def _untied(tied: np.ndarray, starts: np.ndarray, line: np.ndarray, cause: np.ndarray) -> list[int]:
    """Sort rows of one time, causes first, else by line (Kahn). Raises: CausalCycle."""
    lines = dict(zip(tied.tolist(), line[tied].tolist(), strict=True))
    causes = dict(zip(tied.tolist(), cause[tied].tolist(), strict=True))
    effects = {source: row for row, source in causes.items() if source != NONE}
    firsts = set(tied[np.isin(tied, starts)].tolist())
    waiting = {
        row: (row - 1 in lines and row not in firsts) + (source in lines)
        for row, source in causes.items()
    }
    ready = [(lines[row], row) for row, count in waiting.items() if not count]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, row = heapq.heappop(ready)
        order.append(row)
        del waiting[row]
        following = NONE if row + 1 in firsts else row + 1
        for follower in (following, effects.get(row, NONE)):
            if follower in waiting:
                waiting[follower] -= 1
                if not waiting[follower]:
                    heapq.heappush(ready, (lines[follower], follower))
    if waiting:
        held_up = next(iter(waiting))
        raise CausalCycle(
            _circle(held_up, lambda row: causes[row] if causes[row] in waiting else row - 1)
        )
    return order

"""Compute times and one order of all events that agree with causality.

All functions work on columns with one row per event, sorted by (process, index):

* ``starts``: int64[P + 1], the first row of each process; the last entry is the number of rows.
* ``at``: int64[N], the time in the log, valid where ``known`` (bool[N]) is true.
* ``line``: int64[N], the line in the log.
* ``cause``: int64[N], the row of the send whose message or marker a row receives, else NONE.

Source: Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System",
CACM 21(7), 1978.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

NONE = -1


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
    starts: np.ndarray, at: np.ndarray, known: np.ndarray, line: np.ndarray, cause: np.ndarray
) -> Times:
    """Return the log's own times if they are causal, else the least causal times above them.

    A row without a time gets the time of its latest predecessor, or the earliest time of the log if
    it has no predecessor. If no row has a time, rows count 0, 1, 2 … along causality (Lamport's
    clock). Steps rank by (at, line); where that is not causal, causes come first among equal times.
    Raises: CausalCycle.
    """
    if not len(at):
        return Times(np.empty(0, np.int64), np.empty(0, np.int64))
    if known.all() and not fallen(starts, at, known).any() and not early(at, known, cause).any():
        causal = at
    elif known.any():
        causal = _walked(starts, np.where(known, at, at[known].min()), cause, tick=0)
    else:
        causal = _walked(starts, np.zeros(len(at), np.int64), cause, tick=1)
    return Times(causal, _steps(starts, causal, line, cause))


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


def _walked(starts: np.ndarray, given: np.ndarray, cause: np.ndarray, tick: int) -> np.ndarray:
    """Return the least time of every row: max(given, times of its predecessors + tick).

    Each process advances until it comes to a receive whose send has no time yet; that send wakes
    it. Raises: CausalCycle.
    """
    walked = given.copy()
    here, causes = _view(walked), _view(cause)
    position, ends = starts[:-1].tolist(), starts[1:].tolist()
    owner = _owners(starts)
    asleep: dict[int, int] = {}  # the process that waits for a send, by the row of the send
    awake = deque(range(len(ends)))
    while awake:
        process = awake.popleft()
        row, end = position[process], ends[process]
        latest = here[row - 1] if row > starts[process] else None
        while row < end:
            time = here[row]
            if latest is not None and latest + tick > time:
                time = latest + tick
            source = causes[row]
            if source != NONE:
                walked_to = row if owner[source] == process else position[owner[source]]
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
            raise CausalCycle(_circle(row, lambda row: _waits_for(row, position, causes, owner)))
    return walked


def _owners(starts: np.ndarray) -> memoryview:
    """Return the process of each row."""
    counts = np.diff(starts)
    return _view(np.repeat(np.arange(len(counts), dtype=np.int64), counts))


def _view(column: np.ndarray) -> memoryview:
    """Return an array as a view of plain ints, which is faster to index one by one."""
    return np.ascontiguousarray(column).data


def _waits_for(row: int, position: list[int], causes: memoryview, owner: memoryview) -> int:
    """Return the row that blocks another one: the next row of its process, or its cause."""
    blocked = position[owner[row]]
    return causes[row] if row == blocked else blocked


def _circle(row: int, waits_for: Callable[[int], int]) -> list[int]:
    """Return the circle into which ``waits_for`` leads from ``row``, causes before effects."""
    visited: dict[int, int] = {}
    while row not in visited:
        visited[row] = len(visited)
        row = waits_for(row)
    return list(visited)[visited[row] :][::-1]


def _steps(starts: np.ndarray, at: np.ndarray, line: np.ndarray, cause: np.ndarray) -> np.ndarray:
    """Rank rows by (at, line), with causes first among equal times. ``at`` must be causal."""
    order = np.lexsort((line, at))
    step = _ranks(order)
    source = np.where(cause == NONE, 0, cause)
    misplaced = (cause != NONE) & (step[source] >= step)
    misplaced[1:] |= (step[1:] < step[:-1]) & ~_first_rows(starts, len(at))[1:]
    if not misplaced.any():
        return step
    sorted_at = at[order]
    for time in np.unique(at[misplaced]):
        first = np.searchsorted(sorted_at, time, side="left")
        end = np.searchsorted(sorted_at, time, side="right")
        order[first:end] = _untied(order[first:end], starts, line, cause)
    return _ranks(order)


def _ranks(order: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _first_rows(starts: np.ndarray, length: int) -> np.ndarray:
    """Tell which rows are the first of their process: bool[N]."""
    first = np.zeros(length + 1, bool)
    first[starts] = True
    return first[:-1]


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

"""Times and one order of a recording that agree with causality.

All functions work on columns, one row per event, sorted by (process, index):

* ``starts``: int64[P + 1], the first row of each process, the last entry is the number of rows;
* ``at``: int64[N], what the log says; only rows with ``known`` (bool[N]) count;
* ``line``: int64[N], the place in the log;
* ``cause``: int64[N], the row of the send whose message or marker a row receives, NONE elsewhere.

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

    rows: these events, every one a cause of the one behind it, the last a cause of the first.
    """

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        super().__init__(f"{len(rows)} events wait for each other in a circle")


@dataclass(frozen=True)
class Times:
    """at: int64[N], never falls within a process nor lies before the cause.

    step: int64[N], 0 .. N - 1, rises within a process and from cause to effect; sorted by step,
    ``at`` never falls.
    """

    at: np.ndarray
    step: np.ndarray


def causal_times(
    starts: np.ndarray, at: np.ndarray, known: np.ndarray, line: np.ndarray, cause: np.ndarray
) -> Times:
    """The log's own times where they are causal, else the least times above them that are.

    A row without a time gets that of its latest predecessor (the earliest time of the log if it has
    none); if no row has a time, rows count 0, 1, 2 … along causality (Lamport's clock).
    Steps rank by (at, line) where that is causal, and otherwise put causes first among equal times.
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
    """bool[N]: rows whose time lies before that of an earlier row of the same process."""
    given = np.where(known, at, np.iinfo(np.int64).min)
    falls = np.zeros(len(at), bool)
    for first, end in itertools.pairwise(starts):
        latest = np.maximum.accumulate(given[first:end])
        falls[first:end] = given[first:end] < latest
    return falls & known


def early(at: np.ndarray, known: np.ndarray, cause: np.ndarray) -> np.ndarray:
    """bool[N]: rows that receive at a time before the send's."""
    source = np.where(cause == NONE, 0, cause)
    return (cause != NONE) & known & known[source] & (at < at[source])


def _walked(starts: np.ndarray, given: np.ndarray, cause: np.ndarray, tick: int) -> np.ndarray:
    """max(given, predecessors' times + tick) of every row.

    Each process runs until it stands before a receive whose send has not been walked; that send
    wakes it. Raises: CausalCycle.
    """
    walked = given.copy()
    here, causes = memoryview(walked), memoryview(np.ascontiguousarray(cause))
    position = [int(start) for start in starts[:-1]]
    ends = [int(end) for end in starts[1:]]
    owner = _owners(starts)
    asleep: dict[int, int] = {}  # row of a send -> the process that waits for it
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
    """The process of each row."""
    counts = np.diff(starts)
    return memoryview(np.repeat(np.arange(len(counts), dtype=np.int64), counts))


def _waits_for(row: int, position: list[int], causes: memoryview, owner: memoryview) -> int:
    """What holds up a row that was not walked: its process's next row, or that one's cause."""
    blocked = position[owner[row]]
    return causes[row] if row == blocked else blocked


def _circle(row: int, waits_for: Callable[[int], int]) -> list[int]:
    """The circle into which ``waits_for`` leads from ``row``, causes before effects."""
    place: dict[int, int] = {}
    while row not in place:
        place[row] = len(place)
        row = waits_for(row)
    return list(place)[place[row] :][::-1]


def _steps(starts: np.ndarray, at: np.ndarray, line: np.ndarray, cause: np.ndarray) -> np.ndarray:
    """The rank of each row by (at, line); among equal times causes come first. ``at`` is causal."""
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
    """bool[N]: the rows that are the first of their process."""
    first = np.zeros(length + 1, bool)
    first[starts] = True
    return first[:-1]


def _untied(tied: np.ndarray, starts: np.ndarray, line: np.ndarray, cause: np.ndarray) -> list[int]:
    """The tied rows, causes first, else by line (Kahn's topological sort). Raises: CausalCycle."""
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

"""Write the log of a recording in one order, which does not depend on how its events came.

The order is that of the instants; events of one instant stand in the order of the processes in the
header, and of their indices. An event without a time stands with the one before it in its process.
"""

from collections.abc import Iterator

import numpy as np
from orjson import loads

from snapshots.growing.journal import Journal
from snapshots.growing.runs import ProcessRuns
from snapshots.readers.logs.headers import header_text

_BEFORE_ALL = -1  # the instant of an event without a time, where none with one is before it
_JOINED = 4096  # lines that are yielded together


def canonical_log(journal: Journal) -> Iterator[bytes]:
    """Yield the log as native JSON Lines, in pieces of whole lines.

    The places of all events are held in memory: 32 bytes for each.
    """
    yield header_text(journal.header) + b"\n"
    at, begin, size = _places(journal)
    order = np.argsort(at, kind="stable")  # the places are those of (process, index)
    begins, sizes = begin[order], size[order]
    for first in range(0, len(order), _JOINED):
        some = slice(first, first + _JOINED)
        pairs = zip(begins[some].tolist(), sizes[some].tolist(), strict=True)
        yield b"".join(journal.read(where, count) for where, count in pairs)


def _places(journal: Journal) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the instant, and the first byte and the bytes of the line of each event.

    The events are in the order of (process, index).
    """
    at = np.empty(journal.events, np.int64)
    begin, size = at.copy(), at.copy()
    done = 0
    for runs in journal.runs:
        for instants, begins, sizes in _of_process(journal, runs):
            part = slice(done, done + len(instants))
            at[part], begin[part], size[part] = instants, begins, sizes
            done += len(instants)
    return at, begin, size


def _of_process(
    journal: Journal, runs: ProcessRuns
) -> Iterator[tuple[list[int], np.ndarray, list[int]]]:
    instant = _BEFORE_ALL
    for stretch in runs.stretches():
        lines = journal.lines_of(stretch)
        instants = []
        for line in lines:
            given = loads(line).get("at")
            instant = instant if given is None else given
            instants.append(instant)
        sizes = [len(line) + 1 for line in lines]
        begins = stretch.begin + np.cumsum([0, *sizes[:-1]])
        yield instants, begins, sizes

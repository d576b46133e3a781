"""Checks vector clocks, and finds the messages that follow from them.

A row is an event; rows stand host by host, each host's in the order of its own clock entry. Entries
count the events that the log has, as ``holes.recounted`` returns them, so that a host's own are 1,
2, 3 … All clocks stand in one sparse table without zero entries, sorted by row * hosts + host.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snapshots.domain.model.defects import quoted, refuse
from snapshots.domain.model.topology import ProcessId

MOST_STEPS = 300_000_000  # entries that are read while messages are found
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Clocks:
    """The clocks of all events of one execution.

    Attributes:
        starts: int64[hosts + 1]: the first row of each host.
        keys: int64[entries]: the keys of the table.
        counts: int64[entries]: the clocks' entries at these keys.
        lines: int64[rows]: the line of each event in the text.
    """

    hosts: tuple[ProcessId, ...]
    starts: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    lines: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each entry of the table."""
        return self.keys // len(self.hosts)

    @cached_property
    def row_starts(self) -> np.ndarray:
        """int64[rows + 1]: the place in the table at which each row's entries begin."""
        return np.searchsorted(self.rows, np.arange(len(self.lines) + 1))

    @cached_property
    def owner(self) -> np.ndarray:
        """The host of each row."""
        return np.repeat(np.arange(len(self.hosts)), np.diff(self.starts))

    def count(self, keys: np.ndarray) -> np.ndarray:
        """Return the entries at these keys, 0 for a key without one."""
        if not len(self.keys):
            return np.zeros(len(keys), self.counts.dtype)
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.counts[places], 0)


@dataclass(frozen=True)
class Edges:
    """The messages of an execution, sorted by receiver and sender.

    Attributes:
        senders: int64[messages]: the rows of the sending events.
        receivers: int64[messages]: the rows of the receiving events.
    """

    senders: np.ndarray
    receivers: np.ndarray


def edges(clocks: Clocks) -> Edges:
    """Return the messages that follow from the clocks. Raises: InputRefused for wrong clocks."""
    _check_growth(clocks)
    keys = _candidates(clocks)
    hosts = len(clocks.hosts)
    receivers, others = np.divmod(keys, hosts)
    senders = clocks.starts[others] + clocks.count(keys) - 1
    implied = np.zeros(len(keys), bool)
    for places, codes, counts in _expanded(clocks, senders):
        # A receiver's clock has all that the sender's has. A candidate is no message of its own if
        # the sender of another message to the same event already knew what it brings.
        inherited = receivers[places] * hosts + codes
        behind = clocks.count(inherited) < counts
        if behind.any():
            first = places[np.flatnonzero(behind)[0]]
            raise _inconsistent(clocks, receivers[first], senders[first])
        candidates = np.minimum(np.searchsorted(keys, inherited), len(keys) - 1)
        contained = (keys[candidates] == inherited) & (candidates != places)
        contained &= clocks.counts[np.searchsorted(clocks.keys, keys[candidates])] <= counts
        implied[candidates[contained]] = True
    return Edges(senders[~implied], receivers[~implied])


def _check_growth(clocks: Clocks) -> None:
    """Check that no entry is less than in the host's event before."""
    hosts = len(clocks.hosts)
    has_next = (clocks.rows + 1) < clocks.starts[1:][clocks.owner[clocks.rows]]
    wrong = np.flatnonzero(has_next & (clocks.count(clocks.keys + hosts) < clocks.counts))
    if len(wrong):
        row = clocks.rows[wrong[0]]
        raise _inconsistent(clocks, row + 1, row)


def _inconsistent(clocks: Clocks, row: int, known: int) -> Exception:
    host = clocks.hosts[clocks.owner[known]]
    number = known - clocks.starts[clocks.owner[known]] + 1
    return refuse(
        "bad-clock",
        f"The clock knows event {number} of {quoted(host)} (line {clocks.lines[known]}), but not "
        "all that this one knows: clocks that are copied whole never do so.",
        line=int(clocks.lines[row]),
    )


def _candidates(clocks: Clocks) -> np.ndarray:
    """Return the keys of other hosts' entries that have grown since the host's event before."""
    hosts = len(clocks.hosts)
    owner = clocks.owner[clocks.rows]
    first = clocks.rows == clocks.starts[owner]
    before = np.where(first, 0, clocks.count(clocks.keys - hosts))
    others = clocks.keys % hosts != owner
    return clocks.keys[others & (clocks.counts > before)]


def _expanded(
    clocks: Clocks, senders: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the senders' clocks, some at a time, as (places in ``senders``, hosts, counts)."""
    lengths = np.diff(clocks.row_starts)[senders]
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] > MOST_STEPS:
        raise refuse("too-large", "The clocks tell of too many messages to follow them all.")
    begin = 0
    while begin < len(senders):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE)))
        chosen = np.arange(begin, end)
        places = np.repeat(chosen, lengths[chosen])
        offsets = np.arange(len(places)) - np.repeat(
            ends[chosen] - lengths[chosen] - done, lengths[chosen]
        )
        entries = clocks.row_starts[senders[places]] + offsets
        yield places, clocks.keys[entries] % len(clocks.hosts), clocks.counts[entries]
        begin = end

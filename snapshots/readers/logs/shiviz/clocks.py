"""Vector clocks checked, and the messages that they tell of.

Rows: all events, host by host, each host's in the order of its own clock entry. All clocks stand in
one sparse table, sorted by key = row * hosts + host, zero entries left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from snapshots.domain.model.defects import quoted, refuse

MOST_STEPS = 300_000_000  # entries looked at while messages are found
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Clocks:
    """hosts: names. starts: int64[hosts + 1], the first row of each. keys, counts: the table.

    lines: int64[rows], of the text, for what is wrong.
    """

    hosts: tuple[str, ...]
    starts: np.ndarray
    keys: np.ndarray
    counts: np.ndarray
    lines: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:
        return self.keys // len(self.hosts)

    @cached_property
    def row_starts(self) -> np.ndarray:
        """Where each row's entries begin, and the end."""
        return np.searchsorted(self.rows, np.arange(len(self.lines) + 1))

    @cached_property
    def owner(self) -> np.ndarray:
        """The host of each row."""
        return np.repeat(np.arange(len(self.hosts)), np.diff(self.starts))

    def count(self, keys: np.ndarray) -> np.ndarray:
        """The entries at these keys, 0 where there is none."""
        return _looked_up(self.keys, self.counts, keys)


@dataclass(frozen=True)
class Edges:
    """Messages: int64 rows of the sending and the receiving events, by receiver and sender."""

    senders: np.ndarray
    receivers: np.ndarray


def _looked_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    if not len(keys):
        return np.zeros(len(wanted), values.dtype)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)


def edges(clocks: Clocks) -> Edges:
    """The messages, after the clocks are found to be right. Raises: InputRefused."""
    _check_own(clocks)
    _check_others(clocks)
    _check_growth(clocks)
    keys = _candidates(clocks)
    hosts = len(clocks.hosts)
    receivers, others = np.divmod(keys, hosts)
    senders = clocks.starts[others] + clocks.count(keys) - 1
    implied = np.zeros(len(keys), bool)
    for places, codes, counts in _expanded(clocks, senders):
        known_keys = receivers[places] * hosts + codes
        behind = clocks.count(known_keys) < counts
        if behind.any():
            first = places[np.flatnonzero(behind)[0]]
            raise _inconsistent(clocks, receivers[first], senders[first])
        found = np.minimum(np.searchsorted(keys, known_keys), len(keys) - 1)
        contained = (keys[found] == known_keys) & (found != places)
        contained &= clocks.counts[np.searchsorted(clocks.keys, keys[found])] <= counts
        implied[found[contained]] = True
    return Edges(senders[~implied], receivers[~implied])


def _check_own(clocks: Clocks) -> None:
    """A host's own entries are 1, 2, 3 …"""
    rows = np.arange(len(clocks.lines))
    expected = rows - clocks.starts[clocks.owner] + 1
    own = clocks.count(rows * len(clocks.hosts) + clocks.owner)
    wrong = np.flatnonzero(own != expected)
    if len(wrong):
        row = wrong[0]
        host = quoted(clocks.hosts[clocks.owner[row]])
        raise refuse(
            "bad-clock",
            f"The clock of {host} stands at {own[row]} where {expected[row]} is expected: a host "
            "counts its events 1, 2, 3 … Is a part of the log missing, or are two in one?",
            line=int(clocks.lines[row]),
        )


def _check_others(clocks: Clocks) -> None:
    """Every entry is of an event that is there."""
    others = clocks.keys % len(clocks.hosts)
    wrong = np.flatnonzero(clocks.counts > np.diff(clocks.starts)[others])
    if len(wrong):
        place = wrong[0]
        host, count = clocks.hosts[others[place]], np.diff(clocks.starts)[others[place]]
        raise refuse(
            "bad-clock",
            f"A clock knows {clocks.counts[place]} events of {quoted(host)}, which has {count}.",
            line=int(clocks.lines[clocks.rows[place]]),
        )


def _check_growth(clocks: Clocks) -> None:
    """No entry is less than in the host's event before."""
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
    """Keys of the entries of other hosts that are greater than in the host's event before."""
    hosts = len(clocks.hosts)
    owner = clocks.owner[clocks.rows]
    first = clocks.rows == clocks.starts[owner]
    before = np.where(first, 0, clocks.count(clocks.keys - hosts))
    others = clocks.keys % hosts != owner
    return clocks.keys[others & (clocks.counts > before)]


def _expanded(
    clocks: Clocks, senders: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The clocks of the senders, some at a time: place in ``senders``, host, count per entry."""
    lengths = np.diff(clocks.row_starts)[senders]
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] > MOST_STEPS:
        raise refuse("too-large", "The clocks tell of too many messages to follow them all.")
    begin = 0
    while begin < len(senders):
        done = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE)))
        some = np.arange(begin, end)
        places = np.repeat(some, lengths[some])
        offsets = np.arange(len(places)) - np.repeat(
            ends[some] - lengths[some] - done, lengths[some]
        )
        entries = clocks.row_starts[senders[places]] + offsets
        yield places, clocks.keys[entries] % len(clocks.hosts), clocks.counts[entries]
        begin = end

"""The checkpoints of one job as columns, and which of them pass a filter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from snapshots.domain.archive.model import STATUSES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SORTABLE = (
    "number",
    "triggered_at",
    "duration",
    "bytes",
    "uploaded",
    "in_flight",
    "start_delay",
    "alignment",
    "sync",
    "async_",
)


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of texts: ``names[codes[row]]``."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Coded":
        """Code texts by the order in which they first appear."""
        codes_by_text = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        codes = np.fromiter(map(codes_by_text.__getitem__, texts), np.int32, len(texts))
        return cls(codes, tuple(codes_by_text))

    def __getitem__(self, row: int) -> str:
        return self.names[self.codes[row]]

    def where(self, holds: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Return a mask of the rows whose text passes; ``holds`` is called once for each text."""
        passing = np.array([bool(holds(name)) for name in self.names], np.bool_)
        return passing[self.codes] if len(self.names) else np.zeros(len(self.codes), np.bool_)


@dataclass(frozen=True)
class Columns:
    """Checkpoints as columns, sorted by (number, pipeline). Instants and durations are in
    milliseconds.

    NaN means unknown. Phase columns hold the maximum over all subtasks.

    Attributes:
        key: the primary key of the database's row.
        status: the place in STATUSES.
    """

    key: Ints
    pipeline: Ints
    number: Ints
    status: NDArray[np.int8]
    triggered_at: Floats
    duration: Floats
    bytes: Floats
    uploaded: Floats
    in_flight: Floats
    start_delay: Floats
    alignment: Floats
    sync: Floats
    async_: Floats
    kind: Coded
    slowest: Coded
    cause: Coded
    phase: Coded
    failure: Coded

    def __len__(self) -> int:
        return len(self.number)

    def has_status(self, name: str) -> NDArray[np.bool_]:
        """Return a mask of the checkpoints with this status."""
        return self.status == STATUSES.index(name)

    def place(self, pipeline: int, number: int) -> int | None:
        """Return the row of a checkpoint, or None if there is none."""
        first, last = np.searchsorted(self.number, [number, number + 1])
        places = np.flatnonzero(self.pipeline[first:last] == pipeline)
        return int(first + places[0]) if len(places) else None


@dataclass(frozen=True, slots=True)
class Filter:
    """What checkpoints must have to pass. An empty text and None let all pass.

    Attributes:
        since: the first instant of the trigger that passes.
        until: the last instant of the trigger that passes.
        longer: the least duration that passes.
        failing: a part of the engine's words, in either case.
        cause: the exact cause.
        slowest: the exact name of the slowest subtask.
    """

    status: str = ""
    kind: str = ""
    pipeline: int | None = None
    since: int | None = None
    until: int | None = None
    longer: int | None = None
    failing: str = ""
    cause: str = ""
    phase: str = ""
    slowest: str = ""

    @property
    def passes_all(self) -> bool:
        """Tell whether no condition is set."""
        return all(getattr(self, field.name) in ("", None) for field in fields(self))

    def rows(self, columns: Columns) -> Ints:
        """Return the rows that pass, in the order of the columns. Unknown values do not pass."""
        passing = np.ones(len(columns), np.bool_)
        if self.status:
            passing &= columns.has_status(self.status)
        for name in ("kind", "cause", "phase", "slowest"):
            if text := getattr(self, name):
                passing &= getattr(columns, name).where(text.__eq__)
        if self.pipeline is not None:
            passing &= columns.pipeline == self.pipeline
        if self.since is not None:
            passing &= columns.triggered_at >= self.since
        if self.until is not None:
            passing &= columns.triggered_at <= self.until
        if self.longer is not None:
            passing &= columns.duration >= self.longer
        if self.failing:
            words = self.failing.lower()
            passing &= columns.failure.where(lambda text: words in text.lower())
        return np.flatnonzero(passing)


def ordered(columns: Columns, rows: Ints, by: str) -> Ints:
    """Return the rows sorted by one of SORTABLE, with ``-`` before it descending; unknown comes
    last.
    """
    name, descending = by.removeprefix("-"), by.startswith("-")
    values = getattr(columns, name)[rows].astype(np.float64)
    keys = -values if descending else values
    ties = -rows if descending else rows
    return rows[np.lexsort((ties, keys))]

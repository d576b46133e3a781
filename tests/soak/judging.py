"""What must be flat, and whether it is.

The rule: over the second half of the hours, the slope of each quantity is at most the limit of its
kind. The slope is the median of the slopes between all pairs of samples (Theil and Sen), which a
restart, a late garbage collection or one bad sample does not move. Each hour has the same work and
deletes what the hour before accepted, so whatever goes on growing is never given back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from tests.campaign.system import JVM
from tests.soak.sampling import (
    BLOCKS,
    DISK,
    FILES,
    LOGS,
    MEMORY,
    PROCESSES,
    REDIS,
    ROWS,
    SHARED,
    STORED,
    TEMPORARY,
    THREADS,
    Sample,
)

KIB, MIB = 2**10, 2**20
LIMITS = {
    MEMORY: MIB,
    FILES: 0.1,
    STORED: 0.1,
    THREADS: 0.1,
    PROCESSES: 0.1,
    TEMPORARY: 0.1,
    BLOCKS: 1,
    ROWS: 0.1,
    DISK: 32 * KIB,
    REDIS: 0.1,
    SHARED: 0.1,
}
"""The most that a quantity of a kind may grow in an hour."""
KEPT = {
    f"{ROWS}/accounts_auditentry": "the audit log, which nothing removes",
    f"{DISK}/cutline": "the database, which holds the audit log",
    f"{DISK}/redis": "the log of what Redis was told, which Redis writes anew at 64 MiB",
    f"{DISK}/{LOGS}": "what the processes print, which the operator's system rotates",
}
"""What grows by design, with the reason."""


@dataclass(frozen=True)
class Line:
    """A quantity over the hours. ``slope``: for each hour of the second half."""

    name: str
    values: tuple[float, ...]

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]

    @property
    def slope(self) -> float:
        return slope(self.values[len(self.values) // 2 :])

    @property
    def is_kept(self) -> bool:
        return self.name in KEPT

    @property
    def grows(self) -> bool:
        return not self.is_kept and self.slope > LIMITS[self.kind]


def slope(values: Sequence[float]) -> float:
    """Return the median of the slopes between all pairs of values; 0 for fewer than two."""
    pairs = combinations(enumerate(values), 2)
    return median([(b - a) / (later - first) for (first, a), (later, b) in pairs] or [0.0])


def lines(samples: Sequence[Sample]) -> list[Line]:
    """All quantities in the order in which they first appear; one that is missing counts as 0."""
    names = list(dict.fromkeys(name for each in samples for name in each))
    return [Line(name, tuple(each.get(name, 0.0) for each in samples)) for name in names]


def growing(samples: Sequence[Sample]) -> list[str]:
    """Return a sentence for each quantity that is not flat."""
    return [
        f"{line.name} grows by {line.slope:,.1f} an hour, of at most {LIMITS[line.kind]:,.1f}"
        for line in lines(samples)
        if line.grows
    ]


OF_SPARK = (JVM, "Python")
ALLOWED = {
    **{FILES: 3, THREADS: 3, REDIS: 3},
    **{PROCESSES: 0, TEMPORARY: 0, ROWS: 0, SHARED: 0},
}
"""How much counts may differ between two hours at rest. Pools of threads and of connections are as
large as the hour's chance let them be; a leak with each request, upload or websocket is larger."""


def unequal(before: Sample, after: Sample) -> list[str]:
    """Return a sentence for each count that was not given back.

    Java has pools of its own, and Spark's Python workers end after a minute without work.
    """
    counted = [line for line in lines((before, after)) if line.kind in ALLOWED]
    return [
        f"{line.name} was {line.values[0]:,.0f} and is {line.values[1]:,.0f}"
        for line in counted
        if not line.is_kept
        and not line.name.endswith(OF_SPARK)
        and abs(line.values[1] - line.values[0]) > ALLOWED[line.kind]
    ]

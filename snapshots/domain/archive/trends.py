"""How a measure went over thousands of checkpoints, in as many points as a picture is wide.

The band around a trend: the checkpoints, in their order, are cut into bins of equally many (at
least BAND_LEAST, at most BAND_BINS bins); a bin's band is its median ± BAND_WIDTH times its spread,
and a checkpoint outside is an outlier. The spread is the median absolute deviation times 1.4826,
which is the standard deviation where values are normal, but no less than FLOOR of the median and
one unit: where most values are equal, a value beside them is no outlier yet.
"""

from dataclasses import dataclass

import numpy as np

from snapshots.domain.archive.columns import Columns, Floats, Ints
from snapshots.domain.archive.model import COMPLETED, FAILED

MEASURES = ("duration", "bytes", "alignment", "start_delay")
BAND_WIDTH, BAND_LEAST, BAND_BINS, FLOOR = 4.0, 25, 60, 0.02
MOST_OUTLIERS = 100
TIME_BINS = 60
MOST_SLOWEST = 8
TIME, NUMBER = "time", "number"


@dataclass(frozen=True)
class Trend:
    """x: float[points]; mid the median of each point, low and high the least and most in it.

    rows: of each point the row with the most. exact: each point is one checkpoint.
    band_x, lower, upper: the band, at both ends of each bin. outliers: rows, by x, the
    MOST_OUTLIERS farthest out of ``outliers_total``.
    """

    x: Floats
    low: Floats
    mid: Floats
    high: Floats
    rows: Ints
    exact: bool
    band_x: Floats
    lower: Floats
    upper: Floats
    outliers: Ints
    outliers_total: int


def axis(columns: Columns, rows: Ints) -> tuple[str, Floats]:
    """TIME and the triggers of the rows, or NUMBER and numbers where no trigger is known."""
    at = columns.triggered_at[rows]
    if len(rows) and np.isnan(at).all():
        return NUMBER, columns.number[rows].astype(np.float64)
    return TIME, at


def trend(x: Floats, y: Floats, rows: Ints, width: int) -> Trend:
    """x, y: float[n], NaN where not known: those are left out. rows: int[n]. width: most points."""
    known = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    order = known[np.argsort(x[known], kind="stable")]
    x, y, rows = x[order], y[order], rows[order]
    low, mid, high, at, top = _points(x, y, width)
    band_x, lower, upper, outside, by = _band(x, y)
    worst = outside[np.argsort(-by, kind="stable")][:MOST_OUTLIERS]
    return Trend(
        at,
        low,
        mid,
        high,
        rows[top],
        len(x) <= width,
        band_x,
        lower,
        upper,
        rows[np.sort(worst)],
        len(outside),
    )


def _points(x: Floats, y: Floats, width: int) -> tuple[Floats, Floats, Floats, Floats, Ints]:
    """Low, median, high, x and the place of the most, of at most ``width`` parts of the axis."""
    if len(x) <= width:
        return y, y, y, x, np.arange(len(x))
    span = x[-1] - x[0]
    bins = np.minimum((x - x[0]) / (span or 1) * width, width - 1).astype(np.int16)  # sorts fast
    order = np.argsort(y)
    order = order[np.argsort(bins[order], kind="stable")]
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    ends = np.append(starts[1:], len(x)) - 1
    values, middle = y[order], (starts + ends) / 2
    mid = (values[np.floor(middle).astype(int)] + values[np.ceil(middle).astype(int)]) / 2
    return values[starts], mid, values[ends], x[order[ends]], order[ends]


def _bins(count: int) -> list[tuple[int, int]]:
    parts = max(1, min(BAND_BINS, count // BAND_LEAST))
    edges = np.linspace(0, count, parts + 1).astype(int)
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def spread(values: Floats) -> tuple[float, float]:
    """Median and spread of at least one value."""
    median = _median(values)
    deviation = 1.4826 * _median(np.abs(values - median))
    return median, max(deviation, FLOOR * abs(median), 1.0)


def _median(values: Floats) -> float:
    """numpy's own looks for NaN, which takes longer than the median."""
    found, middle = np.sort(values), len(values) // 2
    return float(found[middle] if len(values) % 2 else (found[middle - 1] + found[middle]) / 2)


def _band(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Ints, Floats]:
    """The band's x, lower and upper; the places outside it, and how many spreads each lies from
    the median. Empty where there are too few."""
    if len(x) < BAND_LEAST:
        return x[:0], y[:0], y[:0], np.zeros(0, np.int64), y[:0]
    at, lower, upper, outside, by = [], [], [], [], []
    for start, end in _bins(len(x)):
        own = y[start:end]
        median, deviation = spread(own)
        away = np.abs(own - median) / deviation
        at += [x[start], x[end - 1]]
        lower += [max(0.0, median - BAND_WIDTH * deviation)] * 2
        upper += [median + BAND_WIDTH * deviation] * 2
        found = np.flatnonzero(away > BAND_WIDTH)
        outside.append(start + found)
        by.append(away[found])
    places, distances = np.concatenate(outside), np.concatenate(by)
    return np.array(at), np.array(lower), np.array(upper), places, distances


@dataclass(frozen=True)
class Slowest:
    """names: the most frequent first. edges: float[bins + 1]. counts: int[names, bins]: how often
    each was the slowest. totals: int[names]; others: how often any other was."""

    names: tuple[str, ...]
    edges: Floats
    counts: Ints
    totals: Ints
    others: int


def slowest(columns: Columns, rows: Ints, x: Floats) -> Slowest:
    """Who was the slowest, over time. x: of the rows."""
    known = np.array([bool(name) for name in columns.slowest.names], np.bool_)
    codes = columns.slowest.codes[rows]
    keep = ~np.isnan(x) & (known[codes] if len(known) else False)
    codes, x = codes[keep], x[keep]
    totals = np.bincount(codes, minlength=len(known))
    order = np.argsort(-totals, kind="stable")[:MOST_SLOWEST]
    top = order[totals[order] > 0]
    edges, bins = _time_bins(x)
    counts = np.zeros((len(top), len(edges) - 1), np.int64)
    for place, code in enumerate(top):
        counts[place] = np.bincount(bins[codes == code], minlength=len(edges) - 1)
    names = tuple(columns.slowest.names[code] for code in top)
    return Slowest(names, edges, counts, totals[top], int(len(codes) - totals[top].sum()))


@dataclass(frozen=True)
class Failures:
    """edges: float[bins + 1]; failed, completed: int[bins]. causes: (cause, phase, how many, the
    last row), the most frequent first."""

    edges: Floats
    failed: Ints
    completed: Ints
    causes: tuple[tuple[str, str, int, int], ...]


def failures(columns: Columns, rows: Ints, x: Floats) -> Failures:
    """x: of the rows."""
    placed = ~np.isnan(x)
    edges, bins = _time_bins(x[placed])
    counts = []
    for status in (FAILED, COMPLETED):
        chosen = columns.has_status(status)[rows][placed]
        counts.append(np.bincount(bins[chosen], minlength=len(edges) - 1))
    failed = rows[columns.has_status(FAILED)[rows]]
    width = max(1, len(columns.phase.names))
    codes = columns.cause.codes[failed].astype(np.int64) * width + columns.phase.codes[failed]
    found, back, number = np.unique(codes[::-1], return_index=True, return_counts=True)
    causes = [
        (
            columns.cause.names[code // width],
            columns.phase.names[code % width],
            int(count),
            int(failed[len(failed) - 1 - place]),
        )
        for code, place, count in zip(found, back, number, strict=True)
    ]
    causes.sort(key=lambda item: (-item[2], item[0], item[1]))
    return Failures(edges, counts[0], counts[1], tuple(causes))


def _time_bins(x: Floats) -> tuple[Floats, Ints]:
    """Edges, and the bin of each x; one bin for no or one instant."""
    if not len(x):
        return np.zeros(1), np.zeros(0, np.int64)
    first, last = float(x.min()), float(x.max())
    count = TIME_BINS if last > first else 1
    edges = np.linspace(first, last if last > first else first + 1, count + 1)
    bins = np.minimum((x - first) / (edges[-1] - first) * count, count - 1).astype(np.int64)
    return edges, bins

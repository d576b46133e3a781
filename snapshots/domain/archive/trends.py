"""Summarises how a measure went over thousands of checkpoints, in points as many as fit a picture.

The band around a trend: the checkpoints, in their order, are cut into bins of equally many (at
least BAND_LEAST, at most BAND_BINS bins). A bin's band is its median ± BAND_WIDTH times its spread,
and a checkpoint outside is an outlier. The spread is the median absolute deviation times 1.4826,
which is the standard deviation if values are normal, but no less than FLOOR of the median and one
unit: if most values are equal, a value close to them is no outlier.
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
    """A measure over time, with its band and outliers.

    Attributes:
        x: float[points]: the instant or number of each point.
        low: float[points]: the least value in each point.
        mid: float[points]: the median of each point.
        high: float[points]: the largest value in each point.
        rows: int[points]: the row with the largest value of each point.
        exact: whether each point is one checkpoint.
        band_x: float[2 * bins]: both ends of each bin of the band.
        lower: float[2 * bins]: the lower edge of the band.
        upper: float[2 * bins]: the upper edge of the band.
        outliers: the rows of the MOST_OUTLIERS farthest outliers, by x.
        outliers_total: how many outliers there are.
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
    """Return TIME and the rows' triggers, or NUMBER and their numbers if no trigger is known."""
    at = columns.triggered_at[rows]
    if len(rows) and np.isnan(at).all():
        return NUMBER, columns.number[rows].astype(np.float64)
    return TIME, at


def trend(x: Floats, y: Floats, rows: Ints, width: int) -> Trend:
    """Summarise ``y`` over ``x`` in at most ``width`` points; NaN is left out.

    Args:
        x, y: float[n].
        rows: int[n], the row of each value.
    """
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
    """Return low, median, high, x and the place of the largest, in at most ``width`` parts of x."""
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
    """Return median and spread of at least one value."""
    median = _median(values)
    deviation = 1.4826 * _median(np.abs(values - median))
    return median, max(deviation, FLOOR * abs(median), 1.0)


def _median(values: Floats) -> float:
    """Return the median. numpy's own searches for NaN, which takes longer than the median."""
    ordered, middle = np.sort(values), len(values) // 2
    return float(
        ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    )


def _band(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Ints, Floats]:
    """Return the band's x, lower and upper, the places outside it, and their distances in spreads.

    All are empty if there are too few values.
    """
    if len(x) < BAND_LEAST:
        return x[:0], y[:0], y[:0], np.zeros(0, np.int64), y[:0]
    at, lower, upper, outside, distances_of_bins = [], [], [], [], []
    for start, end in _bins(len(x)):
        values = y[start:end]
        median, deviation = spread(values)
        away = np.abs(values - median) / deviation
        at += [x[start], x[end - 1]]
        lower += [max(0.0, median - BAND_WIDTH * deviation)] * 2
        upper += [median + BAND_WIDTH * deviation] * 2
        far = np.flatnonzero(away > BAND_WIDTH)
        outside.append(start + far)
        distances_of_bins.append(away[far])
    places, distances = np.concatenate(outside), np.concatenate(distances_of_bins)
    return np.array(at), np.array(lower), np.array(upper), places, distances


@dataclass(frozen=True)
class Slowest:
    """How often each subtask was the slowest, over time.

    Attributes:
        names: the most frequent subtasks; the most frequent one comes first.
        edges: float[bins + 1]: the edges of the bins of time.
        counts: int[names, bins]: how often each was the slowest.
        totals: int[names]: how often each was the slowest in all bins.
        others: how often any other subtask was.
    """

    names: tuple[str, ...]
    edges: Floats
    counts: Ints
    totals: Ints
    others: int


def slowest(columns: Columns, rows: Ints, x: Floats) -> Slowest:
    """Count who was the slowest, over time. ``x``: the instants of the rows."""
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
    """How many checkpoints failed over time, and why.

    Attributes:
        edges: float[bins + 1]: the edges of the bins of time.
        failed: int[bins]: how many checkpoints failed.
        completed: int[bins]: how many checkpoints completed.
        causes: (cause, phase, how many, the last row) of each cause; the most frequent comes first.
    """

    edges: Floats
    failed: Ints
    completed: Ints
    causes: tuple[tuple[str, str, int, int], ...]


def failures(columns: Columns, rows: Ints, x: Floats) -> Failures:
    """Count failures over time and by cause. ``x``: the instants of the rows."""
    placed = ~np.isnan(x)
    edges, bins = _time_bins(x[placed])
    counts = []
    for status in (FAILED, COMPLETED):
        chosen = columns.has_status(status)[rows][placed]
        counts.append(np.bincount(bins[chosen], minlength=len(edges) - 1))
    failed = rows[columns.has_status(FAILED)[rows]]
    width = max(1, len(columns.phase.names))
    codes = columns.cause.codes[failed].astype(np.int64) * width + columns.phase.codes[failed]
    pairs, last, frequencies = np.unique(codes[::-1], return_index=True, return_counts=True)
    causes = [
        (
            columns.cause.names[code // width],
            columns.phase.names[code % width],
            int(count),
            int(failed[len(failed) - 1 - place]),
        )
        for code, place, count in zip(pairs, last, frequencies, strict=True)
    ]
    causes.sort(key=lambda item: (-item[2], item[0], item[1]))
    return Failures(edges, counts[0], counts[1], tuple(causes))


def _time_bins(x: Floats) -> tuple[Floats, Ints]:
    """Return edges, and the bin of each x; there is one bin for no or one instant."""
    if not len(x):
        return np.zeros(1), np.zeros(0, np.int64)
    first, last = float(x.min()), float(x.max())
    count = TIME_BINS if last > first else 1
    edges = np.linspace(first, last if last > first else first + 1, count + 1)
    bins = np.minimum((x - first) / (edges[-1] - first) * count, count - 1).astype(np.int64)
    return edges, bins

"""Filters, trends with their bands, failures and the slowest over many checkpoints."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.archive import trends
from snapshots.domain.archive.columns import Coded, Columns, Filter, ordered
from snapshots.domain.archive.model import STATUSES
from tests.effort import examples

NAN = float("nan")


def columns(rows: list[dict]) -> Columns:
    """Return columns of these rows.

    Number and trigger count up; fields that are missing are unknown.
    """

    def floats(name: str):
        return np.array([row.get(name, NAN) for row in rows], np.float64)

    numbers = ("duration", "bytes", "uploaded", "in_flight")
    phases = ("start_delay", "alignment", "sync", "async_")
    return Columns(
        key=np.arange(len(rows)),
        pipeline=np.array([row.get("pipeline", 0) for row in rows], np.int64),
        number=np.array([row.get("number", place) for place, row in enumerate(rows)], np.int64),
        status=np.array([STATUSES.index(row.get("status", "completed")) for row in rows], np.int8),
        triggered_at=np.array(
            [row.get("triggered_at", 1000.0 * place) for place, row in enumerate(rows)]
        ),
        **{name: floats(name) for name in (*numbers, *phases)},
        **{
            name: Coded.of([row.get(name, "") for row in rows])
            for name in ("kind", "slowest", "cause", "phase", "failure")
        },
    )


TABLE = columns(
    [
        {"duration": 100.0, "kind": "checkpoint"},
        {"duration": 900.0, "kind": "savepoint", "slowest": "sink[0]"},
        {"status": "failed", "failure": "It Expired now", "cause": "expired", "phase": "ack"},
        {"duration": 300.0, "kind": "checkpoint", "triggered_at": NAN},
        {"duration": 100.0, "pipeline": 2, "number": 3},
    ]
)


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (Filter(), [0, 1, 2, 3, 4]),
        (Filter(status="failed"), [2]),
        (Filter(kind="checkpoint"), [0, 3]),
        (Filter(pipeline=2), [4]),
        (Filter(since=1000, until=2000), [1, 2]),
        (Filter(longer=300), [1, 3]),
        (Filter(failing="expired"), [2]),
        (Filter(cause="expired", phase="ack"), [2]),
        (Filter(slowest="sink[0]"), [1]),
        (Filter(slowest="nobody"), []),
        (Filter(longer=200, kind="savepoint"), [1]),
    ],
)
def test_what_passes_a_filter(asked, rows):
    assert asked.rows(TABLE).tolist() == rows
    assert asked.passes_all == (asked == Filter())


def test_unknown_values_come_last_in_either_order():
    rows = np.arange(5)
    assert ordered(TABLE, rows, "duration").tolist() == [0, 4, 3, 1, 2]
    assert ordered(TABLE, rows, "-duration").tolist() == [1, 3, 4, 0, 2]


def test_a_checkpoint_is_found_by_pipeline_and_number():
    assert TABLE.place(2, 3) == 4
    assert TABLE.place(0, 3) == 3
    assert TABLE.place(1, 3) is None
    assert TABLE.place(0, 99) is None


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.none() | st.integers(0, 1000)), min_size=0, max_size=200
    ),
    st.integers(1, 30),
)
@settings(max_examples=examples(60))
def test_points_hold_the_least_and_the_most_of_their_part(pairs, width):
    x = np.array([float(at) for at, _ in pairs])
    y = np.array([NAN if value is None else float(value) for _, value in pairs])
    found = trends.trend(x, y, np.arange(len(pairs)), width)
    known = y[~np.isnan(y)]
    assert len(found.x) <= max(width, len(known) if found.exact else 0)
    assert (np.diff(found.x) >= 0).all()
    assert ((found.low <= found.mid) & (found.mid <= found.high)).all()
    if len(known):
        assert found.low.min() == known.min()
        assert found.high.max() == known.max()
        assert y[found.rows].tolist() == found.high.tolist()
    else:
        assert not len(found.x)


def test_an_outlier_stands_out_of_its_band_and_a_slow_rise_does_not():
    rng = np.random.default_rng(1)
    y = 1000 + np.arange(500.0) * 2 + rng.normal(0, 20, 500)
    y[[100, 400]] = 4000
    found = trends.trend(np.arange(500.0), y, np.arange(500), 1000)
    assert found.exact
    assert set(found.outliers.tolist()) == {100, 400}
    assert found.outliers_total == 2
    assert (found.lower < found.upper).all()


def test_where_most_are_equal_a_neighbouring_value_is_no_outlier():
    y = np.full(200, 100.0)
    y[7], y[150] = 104.0, 300.0
    found = trends.trend(np.arange(200.0), y, np.arange(200), 50)
    assert found.outliers.tolist() == [150]


def test_few_checkpoints_have_no_band():
    found = trends.trend(np.arange(5.0), np.array([1.0, 1, 1, 1, 900]), np.arange(5), 50)
    assert not len(found.band_x)
    assert not found.outliers_total


def test_without_triggers_the_axis_is_the_number():
    table = columns([{"triggered_at": NAN}, {"triggered_at": NAN}])
    name, x = trends.axis(table, np.arange(2))
    assert (name, x.tolist()) == (trends.NUMBER, [0.0, 1.0])


def test_failures_are_counted_by_cause_and_phase():
    failing = [("expired", "ack"), ("async", "async"), ("expired", "ack"), ("expired", "trigger")]
    table = columns(
        [{"status": "failed", "cause": cause, "phase": phase} for cause, phase in failing] + [{}]
    )
    rows = np.arange(5)
    found = trends.failures(table, rows, table.triggered_at)
    assert found.causes == (
        ("expired", "ack", 2, 2),
        ("async", "async", 1, 1),
        ("expired", "trigger", 1, 3),
    )
    assert (int(found.failed.sum()), int(found.completed.sum())) == (4, 1)


def test_the_slowest_are_counted_over_time():
    names = ["a"] * 6 + ["b"] * 4 + [""]
    table = columns([{"slowest": name} for name in names])
    found = trends.slowest(table, np.arange(11), table.triggered_at)
    assert found.names == ("a", "b")
    assert found.totals.tolist() == [6, 4]
    assert found.counts.sum(axis=1).tolist() == [6, 4]
    assert found.counts[0, 0] == 1
    assert found.others == 0


def test_no_checkpoints_give_empty_trends():
    table = columns([])
    rows = np.zeros(0, np.int64)
    name, x = trends.axis(table, rows)
    assert name == trends.TIME
    assert trends.slowest(table, rows, x).names == ()
    assert trends.failures(table, rows, x).causes == ()

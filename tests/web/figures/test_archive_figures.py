"""The archive's figures show each measure that is known, and each value within its axis."""

import numpy as np
import pytest

from snapshots.payloads.arrays import numbers_of, typed_array
from snapshots.web.figures.archive import slowest, trends


def numbers(*values):
    return typed_array(np.array(values, np.float64))


TREND = {
    "x": numbers(0, 1000),
    "low": numbers(100, 2000),
    "mid": numbers(100, 2000),
    "high": numbers(100, 2000),
    "number": numbers(1, 2),
    "pipeline": numbers(0, 0),
    "exact": True,
    "band_x": numbers(0, 1000),
    "lower": numbers(0, 0),
    "upper": numbers(300, 300),
    "outliers": {
        "x": numbers(1000),
        "y": numbers(2000),
        "number": numbers(2),
        "pipeline": numbers(0),
        "total": 1,
    },
}
EMPTY = {name: numbers() for name in TREND if name not in ("exact", "outliers")} | {
    "exact": True,
    "outliers": {name: numbers() for name in ("x", "y", "number", "pipeline")} | {"total": 0},
}
OVERVIEW = {
    "axis": "time",
    "trends": dict.fromkeys(("duration", "bytes", "alignment", "start_delay"), TREND),
    "failures": {
        "edges": numbers(0, 500, 1000),
        "failed": numbers(0, 1),
        "completed": numbers(1, 0),
    },
    "slowest": {
        "names": ["map <a>[0]", "b[1]"],
        "edges": numbers(0, 500, 1000),
        "counts": [[1, 0], [0, 1]],
    },
}


def named(figure, name):
    return [trace for trace in figure["data"] if trace["name"] == name]


def titles(figure):
    return [note["text"] for note in figure["layout"]["annotations"]]


def test_each_measure_has_an_axis_in_a_unit_that_fits_and_failures_stand_below():
    figure = trends(OVERVIEW)
    assert titles(figure) == [
        "Duration, s",
        "State, kB",
        "Alignment, s",
        "Start delay, s",
        "Failed",
    ]
    assert numbers_of(named(figure, "Duration")[0]["y"]).tolist() == [0.1, 2]
    assert numbers_of(named(figure, "State")[0]["y"]).tolist() == [0.1, 2]
    assert numbers_of(named(figure, "failed")[0]["y"]).tolist() == [0, 1]
    assert figure["layout"]["xaxis"]["type"] == "date"


def test_a_point_and_an_outlier_name_their_checkpoints():
    figure = trends(OVERVIEW)
    assert named(figure, "outlier")[0]["customdata"] == [[0, 2]]
    assert [key[:2] for key in named(figure, "Duration")[0]["customdata"]] == [[0, 1], [0, 2]]


def test_points_of_many_checkpoints_show_least_and_most():
    many = OVERVIEW | {"trends": {"duration": TREND | {"exact": False}}}
    assert len(named(trends(many), "least to most")) == 1
    assert not named(trends(OVERVIEW), "least to most")


def test_an_empty_trend_is_drawn():
    figure = trends(OVERVIEW | {"axis": "number", "trends": {"duration": EMPTY}})
    assert figure["layout"]["xaxis"]["title"]["text"] == "number"
    assert figure["layout"]["yaxis"]["range"] == [0, 1]


@pytest.mark.parametrize(
    ("known", "last"), [(("duration", "bytes"), "y3"), (("bytes",), "y2"), ((), "y")]
)
def test_a_measure_that_no_checkpoint_has_leaves_no_empty_row(known, last):
    figure = trends(OVERVIEW | {"trends": dict.fromkeys(known, TREND)})
    assert len(titles(figure)) == len(known) + 1
    assert named(figure, "failed")[0]["yaxis"] == figure["layout"]["xaxis"]["anchor"] == last


def test_no_value_lies_outside_the_figure():
    figure = trends(OVERVIEW)
    low, high = figure["layout"]["xaxis"]["range"]
    for trace in figure["data"]:
        x, y = numbers_of(trace["x"]), numbers_of(trace["y"])
        most = figure["layout"][trace["yaxis"].replace("y", "yaxis")]["range"][1]
        assert low <= x.min() <= x.max() <= high
        assert 0 <= y.min() <= y.max() <= most


def test_names_are_shown_as_they_are():
    figure = slowest(OVERVIEW)
    assert figure["layout"]["yaxis"]["ticktext"][0] == "map &lt;a&gt;[0]"
    assert figure["data"][0]["text"][0] == ["map &lt;a&gt;[0]: 1 time", "map &lt;a&gt;[0]: 0 times"]

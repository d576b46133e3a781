"""The Gantt chart of a checkpoint shows each phase whose begin and end the input holds."""

import pytest

from snapshots.web.figures.gantt import bars, gantt

COPY = "copy of an earlier checkpoint"
TASK = {
    "process": "count[0]",
    "first_barrier_at": 110,
    "last_barrier_at": 150,
    "sync_from": 150,
    "sync_to": 160,
    "async_to": 190,
    "acked_at": 190,
    "notified_at": 205,
    "committed_at": None,
    "busy_until": None,
}
SOURCE = dict.fromkeys(TASK, None) | {"process": "source[0]", "sync_from": 105, "sync_to": 108}
CHECKPOINT = {
    "triggered_at": 100,
    "ended_at": 200,
    "tasks": [TASK, SOURCE],
    "critical_path": [{"process": "count[0]", "phase": "alignment", "from": 110, "to": 150}],
}


def found(**task) -> list[tuple[str, int, int]]:
    return [tuple(bar) for bar in bars(TASK | task, 100)]


def test_the_phases_of_a_task_follow_each_other():
    assert found() == [
        ("start delay", 100, 110),
        ("alignment", 110, 150),
        ("copy (sync)", 150, 160),
        ("upload (async)", 160, 190),
        ("until told that it is complete", 190, 205),
    ]


def test_a_source_has_no_barrier_and_its_start_is_delayed_until_it_records():
    assert [tuple(bar) for bar in bars(SOURCE, 100)] == [
        ("start delay", 100, 105),
        ("copy (sync)", 105, 108),
    ]


@pytest.mark.parametrize(
    ("task", "first"),
    [
        (
            {"busy_until": 107},
            [(COPY, 100, 107), ("start delay", 107, 110)],
        ),
        (
            {"busy_until": 130},
            [(COPY, 100, 110), ("alignment", 110, 150)],
        ),
    ],
)
def test_who_still_copied_for_an_earlier_checkpoint_waited_for_no_barrier(task, first):
    assert found(**task)[:2] == first


def test_a_task_that_never_started_was_busy_until_its_copy_ended():
    assert [tuple(bar) for bar in bars(SOURCE | {"sync_from": None, "busy_until": 130}, 100)] == [
        (COPY, 100, 130)
    ]


def test_where_only_the_acknowledgement_is_known_a_bar_leads_to_it():
    task = SOURCE | {"sync_from": None, "sync_to": None, "acked_at": 130}
    assert [tuple(bar) for bar in bars(task, 100)] == [("until it acknowledged", 100, 130)]


def test_the_figure_has_a_row_for_each_task_the_critical_path_and_the_end():
    figure = gantt(CHECKPOINT, "ms")
    axis = figure["layout"]["yaxis"]
    assert axis["ticktext"] == ["count[0]", "source[0]"]
    bottom, top = axis["range"]
    assert top < 0
    assert bottom > 1  # the first row stands above
    assert figure["data"][-1]["x"] == [10, 50]
    assert figure["layout"]["shapes"][0]["x0"] == 100


def test_bars_are_in_the_unit_of_the_axis_since_the_trigger():
    task = TASK | {
        "first_barrier_at": 3_000,
        "last_barrier_at": 8_000,
        "sync_from": 8_000,
        "sync_to": 8_500,
        "async_to": None,
        "acked_at": None,
    }
    checkpoint = {"triggered_at": 1_000, "ended_at": 21_000, "tasks": [task], "critical_path": None}
    figure = gantt(checkpoint, "us")
    assert figure["layout"]["xaxis"]["title"]["text"].endswith(", ms")
    alignment = next(trace for trace in figure["data"] if trace["name"] == "alignment")
    assert (alignment["base"], alignment["x"], alignment["y"]) == ([2], [5], [0])
    assert figure["layout"]["shapes"][0]["x0"] == 20


def test_a_checkpoint_under_way_has_no_end_and_one_without_tasks_is_drawn():
    figure = gantt({**CHECKPOINT, "ended_at": None, "tasks": [], "critical_path": None}, "ms")
    assert figure["layout"]["shapes"] == figure["data"] == []


def test_a_name_is_shown_and_not_read():
    tasks = [TASK | {"process": "<b>a</b>"}]
    figure = gantt({**CHECKPOINT, "tasks": tasks, "critical_path": None}, "ms")
    assert figure["layout"]["yaxis"]["ticktext"] == ["&lt;b&gt;a&lt;/b&gt;"]
    assert figure["data"][0]["text"][0].startswith("&lt;b&gt;a")

"""The page on which one watches the restore of an engine's checkpoint, from task to task."""

import json
import re

import plotly.graph_objects as go
import pytest

from snapshots.answers import inventory, restore, restored_tasks
from snapshots.models import Recording
from tests.web.given import signed_in
from tests.web.pages.test_inventory import words
from tests.web.pages.test_restore_plan import SAVEPOINT, given  # noqa: F401, a fixture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def plan_at(address: str, parallelism: int) -> dict:
    row = Recording.objects.get(pk=int(re.search(r"/recordings/(\d+)", address).group(1)))
    return restore.restore_plan(row, inventory.opened(row), 0, parallelism)


def test_the_beats_say_what_the_plan_says(given, ada):  # noqa: F811
    address = given(SAVEPOINT)
    plan = plan_at(address, 2)
    frames = restored_tasks.frames_of(plan)
    said = [frame["restored"]["sentence"] for frame in frames]
    assert [frame["restored"]["beat"] for frame in frames] == [1, 2, 3, 4]
    assert "hold no state" in said[0]
    assert "its key groups go to" in said[1]
    assert plan["sources"][0] in said[3]
    rows = {tuple(row["texts"]) for row in frames[3]["restored"]["rows"]}
    splits = [split for source in plan["read_again"] for split in source["splits"]]
    assert splits
    assert {(f"split {item['split']}", item["sentence"]) for item in splits} <= rows
    shown = words(signed_in(ada).get(f"{address}/0/restore"))
    assert "yes" in shown
    assert "hold no state" in shown


def test_each_line_leads_from_an_old_subtask_to_one_that_reads_its_state(given):  # noqa: F811
    plan = plan_at(given(SAVEPOINT), 4)
    (figure,) = restored_tasks.frames_of(plan)[0]["restored"]["pictures"]
    drawn = len(figure["data"][0]["x"]) // 3
    moves = sum(
        last - first + 1
        for item in plan["operators"]
        for subtask in item["after"]
        for first, last in subtask["sources"]
    )
    assert drawn >= moves > 0
    for frame in restored_tasks.frames_of(plan):
        data = json.dumps([*figure["data"], *frame["restored"]["moving"][0]])
        go.Figure(json.loads(re.sub(r"var\(--color-[a-z-]+\)", "red", data)))


def test_a_restore_that_is_refused_ends_at_the_beat_of_the_states(given, ada):  # noqa: F811
    address = given(SAVEPOINT)
    plan = plan_at(address, 9)
    frames = restored_tasks.frames_of(plan)
    assert len(frames) == 2
    last = frames[-1]["restored"]
    assert (last["is_fault"], last["ending"]["alike"]) == (True, False)
    assert [fault["sentence"] for fault in last["faults"]] == list(plan["problems"])
    assert "Flink refuses 9 subtasks" in words(
        signed_in(ada).get(f"{address}/0/restore", {"parallelism": "9", "step": "1"})
    )
    refused = signed_in(ada).get(f"{address}/0/restore", {"parallelism": "0"})
    assert refused.status_code == 422

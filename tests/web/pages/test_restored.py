"""The page on which one restores a snapshot and watches, and the frames that it plays."""

import json
import re

import plotly.graph_objects as go
import pytest
from django.utils import timezone

from snapshots.answers import restored_excerpt, restored_pictures, restored_rows, restored_run
from snapshots.domain.model.as_json import as_json
from snapshots.domain.replaying.restore import restore
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Script
from snapshots.files.recordings import open_recording
from snapshots.models import Job
from tests import damage
from tests.builders import recorded, simulated
from tests.domain.judging.restored import after_a_restore
from tests.web.given import a_ready_recording, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def page_of(client, row, **query) -> str:
    return words(text_of(client.get(f"/recordings/{row.pk}/restore", {"snapshot": "s1"} | query)))


def frames_of(client, row, **query) -> list[dict]:
    question = {"restored": "s1", "step": 0, "key": True, "count": 1} | query
    answer = client.get(f"/api/recordings/{row.pk}/frames", question)
    assert answer.status_code == 200, answer.content
    return answer.json()["frames"]


def test_two_banks_end_alike_in_four_beats(client, ada):
    row = a_ready_recording(ada, two_banks())
    page = page_of(client, row)
    assert "Both end alike: the same 2 states" in page
    assert "A gets the state 9,000, which it recorded." in page
    assert "Channel B->A is filled with m2 (1,000) and m3 (2,000)." in page
    assert "Where it goes wrong" not in page


def test_a_lost_message_is_named_with_what_follows(client, ada):
    damaged = damage.lose_recorded_message(simulated())
    page = page_of(client, a_ready_recording(ada, damaged.log))
    assert f"{damaged.message} was sent before the cut" in page
    assert "They end apart." in page


def test_a_snapshot_that_is_not_complete_is_refused_with_the_reason(client, ada):
    log = (
        Script("two", {"A": 1, "B": 2}, ["A->B"])
        .record("A", "s1", at=1)
        .internal("B", "waits", at=2)
    )
    page = page_of(client, a_ready_recording(ada, log.log()))
    assert "It cannot be restored." in page
    assert "B never recorded a state for it" in page


def test_a_log_that_goes_back_is_followed_until_then(client, ada):
    page = page_of(client, a_ready_recording(ada, after_a_restore()))
    assert "Both end alike" in page
    assert "until the system goes back to snapshot s1, with epoch 1 of the log." in page
    assert "Its own restored run stands in the log behind that." in page


def test_frames_lead_through_the_beats_and_say_how_it_ends(client, ada):
    row = a_ready_recording(ada, two_banks())
    first, *rest = frames_of(client, row, rate=5, count=12)
    assert (first["from"], first["at"], first["restored"]["beat"]) == (None, 0, 1)
    assert [frame["from"] for frame in rest] == [first["at"], *(f["at"] for f in rest[:-1])]
    assert [frame["restored"]["beat"] for frame in rest][:5] == [2, 2, 3, 3, 3]
    assert len(first["restored"]["pictures"]) == 2
    assert rest[0]["restored"]["pictures"] is None
    (last,) = frames_of(client, row, step=1000)
    assert last["ends"] is True
    assert last["restored"]["ending"]["alike"] is True
    assert last["restored"]["differ"] == 0
    assert last["restored"]["sums"]["texts"] == ["15,000", "15,000"]


def test_a_frame_lists_first_what_differs_and_the_sum_that_is_off(client, ada):
    damaged = damage.lose_recorded_message(simulated())
    row = a_ready_recording(ada, damaged.log)
    run = restored_run.open_run(open_recording(row), "s1").run
    (frame,) = frames_of(client, row, step=run.cut)
    shown = frame["restored"]
    assert (shown["is_fault"], shown["differ"]) == (True, 1)
    assert shown["rows"][0]["name"] == damaged.channel
    assert "missing" in shown["sums"]["wrong"]
    assert json.dumps(damaged.message)[1:-1] in shown["faults"][0]["sentence"]


def test_what_is_not_drawn_or_not_listed_is_counted(client, ada, monkeypatch):
    row = a_ready_recording(ada, two_banks())
    monkeypatch.setattr(restored_pictures, "MOST_LANES", 1)
    monkeypatch.setattr(restored_rows, "MOST_ROWS", 2)
    assert "1 process is not drawn" in page_of(client, row)
    (frame,) = frames_of(client, row, step=4)
    assert frame["restored"]["counted"] == "1 more row is not shown"
    assert len(frame["restored"]["moving"][0][1]["x"]) == 1


def test_texts_of_a_log_are_no_markup_in_the_picture(client, ada):
    hostile = "<b>A</b>"
    log = Script("hostile", {hostile: 1, "B": 2}, [f"{hostile}->B"])
    log = log.send(f"{hostile}->B", "<i>m</i>", 1, state=0, at=1).record(hostile, "s1", at=2)
    row = a_ready_recording(ada, log.record("B", "s1", at=3).log())
    (frame,) = frames_of(client, row, step=100)
    assert "<b>" not in json.dumps([frame["restored"][name] for name in ("pictures", "moving")])


def test_pythons_plotly_takes_the_figures(client, ada):
    row = a_ready_recording(ada, damage.lose_recorded_message(simulated()).log)
    (frame,) = frames_of(client, row, step=20)
    for figure, moving in zip(
        frame["restored"]["pictures"], frame["restored"]["moving"], strict=True
    ):
        drawn = {"data": [*figure["data"], *moving], "layout": figure["layout"]}
        go.Figure(json.loads(re.sub(r"var\(--color-[a-z-]+\)", "red", json.dumps(drawn))))


def test_a_large_recording_waits_for_its_job_and_then_shows_its_first_events(
    client, ada, monkeypatch
):
    monkeypatch.setattr(restored_run, "MOST_EVENTS", 3)
    row = a_ready_recording(ada, two_banks())
    assert "Not restored yet" in page_of(client, row)
    client.post(f"/recordings/{row.pk}/restore?snapshot=s1")
    job = Job.objects.get(kind=Job.Kind.RESTORE)
    assert job.recording_id == row.pk
    refused = client.get(f"/api/recordings/{row.pk}/frames", {"restored": "s1", "step": 0})
    assert (refused.status_code, "a job restores" in refused.json()["detail"]) == (409, True)
    report = as_json(restore(recorded(two_banks()), "s1"))
    Job.objects.filter(pk=job.pk).update(
        state=Job.State.DONE, result=report, finished_at=timezone.now()
    )
    monkeypatch.setattr(restored_excerpt, "MOST_FOLLOWED", 6)
    page = page_of(client, row)
    assert "Channel B->A is filled with m2 (1,000) and m3 (2,000)." in page
    assert f"{report['replayed'] - 6} further events were replayed, and are not shown." in page
    (last,) = frames_of(client, row, step=100)
    assert last["restored"]["ending"]["alike"] is True

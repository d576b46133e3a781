"""The archive is filled from real answers of Flink, and read over the API and on its pages."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from snapshots import access
from snapshots.archive import columns, filling, queries
from snapshots.domain.archive.columns import Filter
from snapshots.domain.archive.model import CheckpointFacts, JobFacts, SubtaskFacts, VertexFacts
from snapshots.models import EngineCheckpoint, EngineJob
from snapshots.readers.engines.flink.rest.archive import facts_of_upload
from snapshots.readers.engines.flink.upload import read_upload
from tests.web.given import a_client, a_person, a_ready_recording, signed_in, text_of
from tests.web.pages.test_snapshot import words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def failures(shared_data) -> JobFacts:
    """Return the job of the case ``failures``: 15 checkpoints, 7 of them failed."""
    (told,) = facts_of_upload(read_upload(shared_data / "flink" / "failures" / "rest"))
    return told


def state(job: EngineJob) -> list[dict]:
    """Return all that the database holds of the job's checkpoints, except the version."""
    rows = job.checkpoints.select_related("detail")
    return [
        {"facts": filling.facts_of(row), "slowest": row.slowest, "cause": row.cause} for row in rows
    ]


def test_real_checkpoints_are_kept_with_why_they_failed(ada, failures):
    job = filling.take(ada, failures)
    assert (job.engine, job.key, job.name) == ("flink", failures.key, "failures")
    rows = {row.number: row for row in job.checkpoints.all()}
    assert sorted(rows) == list(range(1, 16))
    for number in (3, 7, 11):
        row = rows[number]
        assert (row.status, row.cause, row.phase, row.slowest) == (
            "failed",
            "Checkpoint expired before completing.",
            "sync",
            "slow-sink[0]",
        )
    assert (rows[2].phase, rows[2].slowest) == ("async", "slow-sink[0]")
    assert (rows[4].duration, rows[4].bytes, rows[4].alignment_max) == (694, 17_077, 72)
    assert (rows[4].start_delay_max, rows[4].async_max, rows[4].slowest) == (
        690,
        5,
        "slow-sink[0]",
    )
    assert rows[14].slowest == "slow-sink[0] and apply-rules[0]", "one never, one too late"
    assert (rows[15].status, rows[15].slowest) == ("in progress", "")


def test_taking_the_same_again_changes_nothing(ada, failures):
    job = filling.take(ada, failures)
    before = state(job)
    again = filling.take(ada, failures)
    assert (again.pk, again.version, state(again)) == (job.pk, job.version, before)


def test_what_an_older_version_derived_is_derived_anew_when_it_is_taken_again(ada, failures):
    job = filling.take(ada, failures)
    before = state(job)
    job.checkpoints.filter(number__in=(2, 4)).update(slowest="map[0]", cause="")
    again = filling.take(ada, failures)
    assert (again.version, state(again)) == (job.version + 1, before)


def test_halves_in_any_order_make_the_whole(ada, failures):
    whole = state(filling.take(ada, failures))
    bob = a_person("bob@example.org")
    history = replace(
        failures, checkpoints=tuple(replace(one, vertices=()) for one in failures.checkpoints)
    )
    late = replace(failures, checkpoints=failures.checkpoints[7:])
    for part in (late, history, failures):
        job = filling.take(bob, part)
    assert state(job) == whole


def test_a_key_that_counts_anew_is_another_run(ada, failures):
    first = filling.take(ada, failures)
    shifted = replace(
        failures,
        checkpoints=tuple(
            replace(one, triggered_at=one.triggered_at + 10**6) for one in failures.checkpoints[:3]
        ),
    )
    second = filling.take(ada, shifted)
    assert (second.run, second.checkpoints.count()) == (2, 3)
    assert filling.take(ada, failures).pk == first.pk
    assert first.checkpoints.count() == 15


def test_numbers_that_no_column_holds_are_left_out_and_texts_are_marked(ada):
    subtask = SubtaskFacts(0, acknowledged=True, duration=5, sync=2**70)
    odd = CheckpointFacts(
        3,
        status="failed",
        bytes=2**70,
        duration=-1,
        subtasks=2**40,
        failure="a\0b" * 2_000,
        vertices=(VertexFacts("v", "m\0p" * 100, 1, (subtask,)),),
    )
    told = JobFacts("flink", "k\0ey", checkpoints=(odd, CheckpointFacts(2**70)))
    job = filling.take(ada, told)
    row = job.checkpoints.get()
    assert (job.key, row.bytes, row.duration, row.subtasks) == ("k␀ey", None, None, None)
    assert (row.failure[:4], row.failure[-1], len(row.failure)) == ("a␀ba", "…", 4_000)
    assert (row.slowest[:4], row.slowest[-1], len(row.slowest)) == ("m␀pm", "…", 220)
    assert (row.sync_max, row.async_max) == (None, None)
    assert filling.take(ada, told).version == job.version, "the same facts change nothing"


def test_the_columns_of_the_last_jobs_are_kept_whether_they_have_rows_or_not(ada, monkeypatch):
    monkeypatch.setattr(columns, "MOST_JOBS", 3)
    jobs = [EngineJob.objects.create(owner=ada, engine="flink", key=str(n)) for n in range(5)]
    for job in jobs:
        columns.columns_of(job)
    assert list(columns._kept) == [job.pk for job in jobs[2:]]


def test_only_what_changed_is_read_again(ada, failures):
    job = filling.take(ada, failures)
    whole = columns.columns_of(EngineJob.objects.get(pk=job.pk))
    assert len(whole) == 15
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert columns.columns_of(EngineJob.objects.get(pk=job.pk)) is whole
    assert len(asked) == 1, "the job's row alone"
    more = CheckpointFacts(16, status="completed", triggered_at=1, duration=5, kind="savepoint")
    end = CheckpointFacts(15, status="completed", duration=210)
    filling.take(ada, replace(failures, checkpoints=(more, end)))
    kept = columns.columns_of(EngineJob.objects.get(pk=job.pk))
    columns.forget_all()
    fresh = columns.columns_of(EngineJob.objects.get(pk=job.pk))
    assert len(kept) == 16
    for one in (kept, fresh):
        assert one.number.tolist() == list(range(1, 17))
        assert one.duration[-2:].tolist() == [210.0, 5.0]
        assert [one.kind[row] for row in range(16)] == ["checkpoint"] * 15 + ["savepoint"]
        assert one.has_status("completed").sum() == 9


def decoded(column: dict) -> list:
    data = base64.b64decode(column["bdata"])
    return np.frombuffer(data, np.dtype(f"<{column['dtype']}")).tolist()


def test_the_api_has_trends_failures_and_each_checkpoint(ada, failures):
    api = a_client(ada)
    job = filling.take(ada, failures)
    (listed,) = api.get("/api/archive").json()["items"]
    assert (listed["id"], listed["checkpoints"], listed["state"]) == (job.pk, 15, "running")
    overview = api.get(f"/api/archive/{job.pk}/overview").json()
    assert (overview["axis"], overview["total"], overview["shown"]) == ("time", 15, 15)
    duration = overview["trends"]["duration"]
    assert decoded(duration["mid"])[:4] == [102, 217, 2002, 694]
    assert decoded(duration["number"]) == list(range(1, 15))  # 15 is in progress
    assert overview["failures"]["causes"][0]["cause"] == "Asynchronous task checkpoint failed."
    assert [one["count"] for one in overview["failures"]["causes"]] == [4, 3]
    assert sum(decoded(overview["failures"]["failed"])) == 7
    listed = api.get(f"/api/archive/{job.pk}/checkpoints?status=failed&sort=-duration").json()
    assert (listed["total"], listed["items"][0]["number"]) == (7, 7)
    one = api.get(f"/api/archive/{job.pk}/checkpoints/0/4").json()
    assert len(one["tasks"]) == 10
    assert {task["start_delay"] for task in one["tasks"]} >= {690, 29, 25}
    found = api.get(f"/api/archive/{job.pk}/compare?slow=4&healthy=5").json()
    assert found["more"] == 583
    assert found["shares"][0]["phase"] == "start_delay"
    assert found["sentence"].startswith("Checkpoint 4 took 694 ms, 583 ms longer than 5 (111 ms).")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=odd", "status"),
        ("since=x", "since"),
        ("longer=-1", "longer"),
        ("pipeline=99999999999", "pipeline"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(ada, failures, query, field):
    job = filling.take(ada, failures)
    answer = a_client(ada).get(f"/api/archive/{job.pk}/overview?{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def test_other_peoples_archives_do_not_exist(ada, failures):
    job = filling.take(ada, failures)
    eve = a_person("eve@example.org")
    api, client = a_client(eve), signed_in(eve)
    for path in ("", "/overview", "/checkpoints", "/checkpoints/0/4", "/compare?slow=1&healthy=2"):
        assert api.get(f"/api/archive/{job.pk}{path}").status_code == 404
    assert api.delete(f"/api/archive/{job.pk}").status_code == 404
    for path in ("", "/compare", "/checkpoints/0/4", "/delete"):
        assert client.get(f"/archive/{job.pk}{path}").status_code == 404
    assert not access.engine_jobs(eve).exists()


def test_the_pages_show_it_all(ada, failures):
    client = signed_in(ada)
    job = filling.take(ada, failures)
    assert "failures" in words(text_of(client.get("/archive")))
    raw = text_of(client.get(f"/archive/{job.pk}"))
    page = words(raw)
    assert "7 checkpoints by cause and phase" in page
    assert "Asynchronous task checkpoint failed. async 4" in page
    strip = raw.partition('<ol class="archive-strip">')[2].partition("</ol>")[0]
    assert strip.count('data-status="failed"') == 7
    assert re.search('id="trends"', raw)
    page = words(text_of(client.get(f"/archive/{job.pk}?status=failed&longer=2000")))
    assert "3 of 15 checkpoints" in page
    part = client.get(f"/archive/{job.pk}?status=failed", headers={"HX-Request": "true"})
    assert "<html" not in text_of(part)
    assert "No checkpoint passes" in text_of(client.get(f"/archive/{job.pk}?kind=nothing"))


def test_a_jump_leads_to_the_gantt_of_one(ada, failures):
    client = signed_in(ada)
    job = filling.take(ada, failures)
    answer = client.get(f"/archive/{job.pk}?jump=3", follow=True)
    assert answer.redirect_chain[-1][0] == f"/archive/{job.pk}/checkpoints/0/3"
    page = words(text_of(answer))
    assert "Checkpoint expired before completing. Phase: sync." in page
    assert "Acknowledged too late by slow-sink[0] (697 ms)." in page
    assert "9 of 10 subtasks" in page
    assert "too late" in page
    assert client.get(f"/archive/{job.pk}?jump=99").status_code == 404


def test_two_are_compared_without_naming_them(ada, failures):
    client = signed_in(ada)
    job = filling.take(ada, failures)
    page = words(text_of(client.get(f"/archive/{job.pk}/compare")))
    assert "Checkpoint 8 took 713 ms" in page
    assert (
        "607 ms more for the time until its first barrier (start delay). It was busy with the copy "
        "for checkpoint 7 until 709 ms after the trigger, and took up no barrier before."
    ) in page
    assert "back pressure" not in page


def test_a_real_failure_names_who_never_acknowledged_before_who_was_late(ada, failures):
    client, api = signed_in(ada), a_client(ada)
    job = filling.take(ada, failures)

    def comparison(slow: int, healthy: int) -> str:
        return api.get(f"/api/archive/{job.pk}/compare?slow={slow}&healthy={healthy}").json()[
            "sentence"
        ]

    absent = "Not acknowledged by slow-sink[0]; too late by apply-rules[0] (2 ms)."
    assert comparison(14, 13).endswith(absent)
    page = words(text_of(client.get(f"/archive/{job.pk}/checkpoints/0/14")))
    assert absent in page
    assert (
        "Not acknowledged in time slow-sink[0] and apply-rules[0] too late: apply-rules[0]" in page
    )
    begun = "Checkpoint 15 is in progress: how long it takes is not known yet. Not yet acknowledged"
    assert comparison(15, 13) == f"{begun} by slow-sink[0]."
    page = words(text_of(client.get(f"/archive/{job.pk}/checkpoints/0/15")))
    assert "Not yet acknowledged by slow-sink[0]." in page
    assert "in time" not in page
    assert "busy with the copy for checkpoint 3 until 690 ms" in comparison(4, 5)


def test_a_busy_subtask_is_named_and_drawn_on_the_page_of_its_checkpoint(ada, failures):
    job = filling.take(ada, failures)
    answer = signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/8")
    assert (
        "slow-sink[0] was busy with the copy for checkpoint 7 until 709 ms after the trigger"
    ) in words(text_of(answer))
    [copies] = [
        trace
        for trace in answer.context["figure"]["data"]
        if trace["name"] == "copy of an earlier checkpoint"
    ]
    [text] = [text for text in copies["text"] if text.startswith("slow-sink[0]")]
    assert text.endswith(": 709 ms")
    page = words(text_of(signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/9")))
    assert "was busy" not in page


def test_a_trend_says_what_it_lacks(ada, failures):
    client = signed_in(ada)
    job = filling.take(ada, failures)
    page = words(text_of(client.get(f"/archive/{job.pk}")))
    assert "Fewer than 25 checkpoints: no band" in page
    assert "Shaded" not in page
    assert "No checkpoint of this job has" not in page
    batches = tuple(
        CheckpointFacts(each, status="completed", triggered_at=each, duration=each, bytes=9)
        for each in range(30)
    )
    spark = filling.take(ada, JobFacts("spark", "b", checkpoints=batches))
    answer = client.get(f"/archive/{spark.pk}")
    page = words(text_of(answer))
    assert "No checkpoint of this job has a known alignment or start delay." in page
    assert "Shaded" in page
    notes = answer.context["trends"]["layout"]["annotations"]
    assert [note["text"].partition(",")[0] for note in notes] == ["Duration", "State", "Failed"]
    bare = tuple(CheckpointFacts(each, bytes=9) for each in range(3))
    untimed = filling.take(ada, JobFacts("spark", "c", checkpoints=bare))
    page = words(text_of(client.get(f"/archive/{untimed.pk}")))
    assert "has a known duration, alignment or start delay." in page
    assert "the tallest took" not in page


def test_a_job_says_which_uploads_filled_it(ada):
    client = signed_in(ada)

    def an_upload(name: str):
        row = a_ready_recording(ada)
        row.name = name
        row.save()
        return row

    told = JobFacts("spark", "k" * 36, "orders", checkpoints=(CheckpointFacts(1),))
    first = an_upload("first.zip")
    job = filling.take(ada, replace(told, contents={(0, 1): 0}), recording=first)
    page = words(text_of(client.get(f"/archive/{job.pk}")))
    assert "Filled from 1 upload: first.zip" in page
    second = an_upload("second.zip")
    again = replace(told, name="payments", contents={(0, 1): 0})
    assert filling.take(ada, again, recording=second).pk == job.pk
    raw = text_of(client.get(f"/archive/{job.pk}"))
    assert "Filled from 2 uploads with this id, the last first" in words(raw)
    assert f"/recordings/{first.pk}/contents" in raw
    first.delete()
    page = words(text_of(client.get(f"/archive/{job.pk}")))
    assert "Filled from 1 upload: second.zip" in page
    filling.forget_links(second)
    assert "Filled from" not in words(text_of(client.get(f"/archive/{job.pk}")))


def test_what_an_upload_holds_is_linked(ada, failures):
    client = signed_in(ada)
    recording = a_ready_recording(ada)
    job = filling.take(ada, replace(failures, contents={(0, 4): 2}), recording=recording)
    raw = text_of(client.get(f"/archive/{job.pk}/checkpoints/0/4"))
    assert f"/recordings/{recording.pk}/contents/2" in raw
    recording.delete()
    raw = text_of(client.get(f"/archive/{job.pk}/checkpoints/0/4"))
    assert "/contents/2" not in raw
    assert EngineCheckpoint.objects.get(number=4).contents == 2


def test_a_job_without_checkpoints_and_one_without_times(ada):
    client = signed_in(ada)
    empty = filling.take(ada, JobFacts("flink", "e" * 32))
    assert "No checkpoint yet" in text_of(client.get(f"/archive/{empty.pk}"))
    assert "Nothing to compare yet" in text_of(client.get(f"/archive/{empty.pk}/compare"))
    bare = filling.take(
        ada,
        JobFacts("spark", "b", checkpoints=tuple(CheckpointFacts(each) for each in range(3))),
    )
    page = words(text_of(client.get(f"/archive/{bare.pk}")))
    assert "What single subtasks took is not known of these." in page
    assert "not known" in page
    assert client.get(f"/archive/{bare.pk}/checkpoints/0/1").status_code == 200


def test_a_healthy_one_is_of_median_duration_and_near(ada):
    def one(number: int, duration: int, **fields) -> CheckpointFacts:
        own = (VertexFacts("v", "map", 1, (SubtaskFacts(0, True, duration=duration),)),)
        known = {"status": "completed", "duration": duration, "kind": "checkpoint"}
        return CheckpointFacts(number, **known | {"vertices": own} | fields)

    told = [one(number, 100 + number % 3) for number in range(200)]
    told += [one(200, 5000), one(201, 101, kind="savepoint")]
    job = filling.take(ada, JobFacts("flink", "k", checkpoints=tuple(told)))
    row = queries.checkpoint(job, 0, 200)
    found = queries.healthy_beside(job, row)
    assert found.duration == 101
    assert 150 <= found.number < 200


def test_the_list_counts_the_checkpoints_of_each_job_and_knows_the_last_one(ada, failures):
    full = filling.take(ada, failures)
    empty = filling.take(ada, replace(failures, key="e" * 32, checkpoints=()))
    filling.take(a_person("bob@example.org"), failures)
    for sort in ("-last_at", "count"):
        listing = signed_in(ada).get(f"/archive?sort={sort}").context["listing"]
        found = {row.pk: (row.count, row.last_at) for row in listing.page}
        last = max(one.triggered_at for one in failures.checkpoints)
        assert found == {full.pk: (15, last), empty.pk: (0, None)}
    assert [row.pk for row in listing.page] == [empty.pk, full.pk]


def test_numbers_that_lack_are_counted(ada):
    told = tuple(
        CheckpointFacts(number, pipeline) for pipeline, number in [(1, 1), (1, 4), (2, 2), (2, 3)]
    )
    job = filling.take(ada, JobFacts("seatunnel", "k", checkpoints=told))
    assert queries.gaps(job) == 2
    rows, total = queries.listed(job, Filter(pipeline=2), "number", 0, 10)
    assert ([row.number for row in rows], total) == ([2, 3], 2)


def test_a_job_can_be_deleted_on_its_page_and_over_the_api(ada, failures):
    client = signed_in(ada)
    job = filling.take(ada, failures)
    assert "15 checkpoints will be gone" in text_of(client.get(f"/archive/{job.pk}/delete"))
    client.post(f"/archive/{job.pk}/delete")
    assert not EngineCheckpoint.objects.exists()
    job = filling.take(ada, failures)
    assert a_client(ada).delete(f"/api/archive/{job.pk}").status_code == 204
    assert not EngineJob.objects.exists()

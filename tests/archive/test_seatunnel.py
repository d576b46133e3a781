"""Collecting from a SeaTunnel over real HTTP: no gap, no double, nothing that it did not say."""

import pytest
from django.core.management import call_command

from snapshots.archive import collecting, columns, filling, seatunnel, watching
from snapshots.models import Collector, EngineJob
from tests.archive.flink_server import Server
from tests.archive.seatunnel_server import INTERVAL, KEY, RunningSeaTunnel
from tests.web.given import a_client, post_json

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def engine():
    return RunningSeaTunnel()


def served(engine: RunningSeaTunnel) -> Server:
    return Server(answers=engine.answers)


def kept(job: EngineJob, pipeline: int = 1) -> dict:
    rows = job.checkpoints.filter(pipeline=pipeline).select_related("detail")
    return {row.number: filling.facts_of(row) for row in rows}


def test_a_sliding_history_is_followed_without_gaps_or_doubles(ada, engine):
    engine.failing = {3, 40}
    with served(engine) as url:
        for step in (2, 20, 0, 30, 32):
            engine.counts = {1: engine.counts[1] + step, 2: 5}
            found = seatunnel.poll(ada, url)
            assert (found.problems, found.detailed) == ([], step + 5 * (step == 2))
    job = EngineJob.objects.get()
    assert (job.engine, job.key, job.name, job.state) == ("seatunnel", KEY, "orders", "running")
    found = kept(job)
    assert sorted(found) == list(range(1, 85))
    assert sorted(kept(job, 2)) == [1, 2, 3, 4, 5]
    assert (found[2].status, found[2].duration, found[2].bytes) == ("completed", 450, None)
    assert (found[40].status, found[40].failure) == ("failed", "CHECKPOINT_EXPIRED")
    assert found[2].kind == "checkpoint"
    assert job.counts == {"total": 89, "completed": 86, "failed": 3}


def test_a_checkpoint_in_progress_has_its_counts_and_then_its_end(ada, engine):
    engine.counts, engine.going = {1: 4}, 3
    with served(engine) as url:
        seatunnel.poll(ada, url)
        going = kept(EngineJob.objects.get())[5]
        assert (going.status, going.acknowledged, going.subtasks) == ("in progress", 3, 4)
        engine.counts, engine.going = {1: 5}, None
        seatunnel.poll(ada, url)
    assert kept(EngineJob.objects.get())[5].status == "completed"


def test_how_a_checkpoint_ended_that_the_engine_forgot_is_not_known(ada, engine):
    engine.counts, engine.going = {1: 4}, 3
    with served(engine) as url:
        seatunnel.poll(ada, url)
        engine.counts, engine.going, engine.first = {1: 7}, None, 7
        seatunnel.poll(ada, url)
    assert kept(EngineJob.objects.get())[5].status == "unknown"


def test_an_engine_that_starts_again_forgets_and_the_archive_does_not(ada, engine):
    with served(engine) as url:
        engine.counts = {1: 9}
        seatunnel.poll(ada, url)
        engine.first = 10
        seatunnel.poll(ada, url)
        engine.counts = {1: 12}
        seatunnel.poll(ada, url)
    assert sorted(kept(EngineJob.objects.get())) == list(range(1, 13))


def test_an_id_that_is_used_again_is_a_run_of_its_own(ada, engine):
    engine.counts = {1: 3}
    with served(engine) as url:
        seatunnel.poll(ada, url)
        engine.began += 10_000_001
        seatunnel.poll(ada, url)
    assert sorted(job.run for job in EngineJob.objects.all()) == [1, 2]


@pytest.mark.parametrize(
    "body", [b"", b'{"jobId": "10012', b"[]", b"7", b'{"pipelines": 3}', b"\xff", b"null"]
)
def test_an_answer_that_is_cut_short_is_a_problem_and_keeps_what_is_there(ada, engine, body):
    engine.counts = {1: 3}
    with served(engine) as url:
        seatunnel.poll(ada, url)
        engine.broken = {f"/jobs/checkpoints/{KEY}": body}
        assert len(seatunnel.poll(ada, url).problems) == 1
        engine.broken = {"/running-jobs": b'{"jobs": []}'}
        (problem,) = seatunnel.poll(ada, url).problems
    assert problem.endswith("/running-jobs does not answer like SeaTunnel.")
    job = EngineJob.objects.get()
    assert (job.state, len(kept(job))) == ("running", 3)


def test_odd_fields_leave_out_what_they_would_say(ada, engine):
    odd = b'{"pipelines": [{"pipelineId": 1, "inProgress": [3], "history": [{"checkpoint": {}}]}]}'
    engine.broken = {f"/jobs/checkpoints/{KEY}": odd}
    with served(engine) as url:
        assert seatunnel.poll(ada, url).problems == []
    assert EngineJob.objects.get().checkpoints.count() == 0


def test_an_older_version_tells_nothing_of_checkpoints(ada, engine):
    engine.broken = {f"/jobs/checkpoints/{KEY}": 404}
    with served(engine) as url:
        (problem,) = seatunnel.poll(ada, url).problems
    assert "answers 404. SeaTunnel tells of checkpoints from version 2.3.13 on." in problem


def test_a_job_that_ended_is_said_to_have_ended_and_one_forgotten_is_gone(ada, engine):
    engine.counts = {1: 3}
    with served(engine) as url:
        seatunnel.poll(ada, url)
        engine.status = "FINISHED"
        seatunnel.poll(ada, url)
        assert EngineJob.objects.get().state == "finished"
        engine.status = ""
        seatunnel.poll(ada, url)
        assert EngineJob.objects.get().state == "finished"
        EngineJob.objects.update(state="running")
        seatunnel.poll(ada, url)
    assert EngineJob.objects.get().state == EngineJob.GONE


def test_the_clock_of_the_engine_is_that_of_its_http_server(ada, engine):
    engine.counts = {1: 20}
    with served(engine) as url:
        seatunnel.poll(ada, url)
    job = EngineJob.objects.get()
    assert abs(job.engine_clock - job.heard_at.timestamp() * 1000) < 5_000
    assert job.usual_interval == INTERVAL
    assert watching.stall_of(job).status in ("stalled", "well")


def test_people_add_a_collector_of_seatunnel_and_workers_run_it(ada, engine, settings):
    engine.counts = {1: 2}
    with served(engine) as url:
        settings.COLLECTOR_HOSTS = [url.removeprefix("http://")]
        api = a_client(ada)
        fields = {"engine": "seatunnel", "url": url, "job_key": KEY}
        made = post_json(api, "/api/collectors", fields)
        assert (made.status_code, made.json()["engine"]) == (201, "seatunnel")
        collecting.collect(Collector.objects.get())
    assert Collector.objects.get().last_error == ""
    assert EngineJob.objects.get().collector == Collector.objects.get()
    for refused in ({"engine": "storm"}, {"job_key": "x"}, {"job_key": "9" * 30}):
        answer = post_json(api, "/api/collectors", fields | refused)
        assert answer.status_code == 422, refused


def test_the_command_collects_once(engine, capsys):
    engine.counts = {1: 3}
    with served(engine) as url:
        call_command("collect", "seatunnel", url, "--once")
    assert "1 job" in capsys.readouterr().out
    assert EngineJob.objects.get().checkpoints.count() == 3

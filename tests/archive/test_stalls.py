"""A collected job that stops completing checkpoints is flagged, and whoever owns it is notified."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.archive import collecting, columns, watching
from snapshots.models import Collector, EngineJob
from snapshots.reviews.models import TrailItem
from tests.archive.flink_server import RecordedFlink, Server
from tests.web.given import a_client, signed_in, text_of
from webapp.notices import kinds, services
from webapp.notices.models import Notice

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

MINUTE = 60_000


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


class Ticking(RecordedFlink):
    """A Flink whose clock is set by the test, and whose checkpoints all complete."""

    def __init__(self, rest) -> None:
        super().__init__(rest)
        self.recorded = [
            one for one in self.recorded if self._history[one]["status"] == "COMPLETED"
        ]
        self.restored_at = None

    def last_end(self) -> int:
        """Return the last end of a checkpoint; the moved times of two may be out of order."""
        ends = (self.checkpoint(n)["latest_ack_timestamp"] for n in range(1, self.count + 1))
        return max(ends)

    def set_clock(self, now: int) -> None:
        self.job = self.job | {"now": now}

    def answer(self, path):
        found = super().answer(path)
        if path.endswith("/checkpoints") and self.restored_at:
            found["latest"] = {"restored": {"id": 1, "restore_timestamp": self.restored_at}}
        return found


@pytest.fixture
def flink(shared_data):
    return Ticking(shared_data / "flink" / "failures" / "rest")


@pytest.fixture
def followed(ada, flink):
    """Return the function that polls once, after 14 checkpoints were collected."""
    with Server(flink) as url:
        for count in (8, 14):
            flink.count = count
            flink.set_clock(flink.last_end())
            collecting.poll(ada, url)

        def poll(later: int) -> EngineJob:
            flink.set_clock(flink.last_end() + later)
            assert collecting.poll(ada, url).problems == []
            return EngineJob.objects.get()

        yield poll


def test_a_job_that_stops_is_flagged_notified_once_and_unflagged(ada, followed, flink):
    services.create(ada, ada, "https://hooks.example.org/x", kinds.NAMES)
    assert watching.stall_of(followed(0)).status == "well"
    assert not Notice.objects.exists()
    usual = EngineJob.objects.get().usual_interval
    for _ in range(2):
        job = followed(3 * usual + 4 * MINUTE)
        assert watching.stall_of(job).is_stalled
    notice = Notice.objects.get(kind=kinds.STALLED)
    assert notice.sentence.startswith("“failures” in the archive: The job runs, and has completed")
    assert "The last restorable point is 4 min" in notice.sentence
    assert notice.data["restorable_at"] == flink.last_end()
    assert notice.path == f"/archive/{job.pk}"
    client = signed_in(ada)
    assert "<strong>Stalled.</strong>" in text_of(client.get(f"/archive/{job.pk}"))
    assert ">stalled</span>" in text_of(client.get("/archive"))
    stall = a_client(ada).get(f"/api/archive/{job.pk}").json()["stall"]
    assert (stall["status"], stall["usual_interval"]) == ("stalled", usual)
    flink.count += 1
    job = followed(0)
    assert watching.stall_of(job).status == "well"
    assert "Stalled." not in text_of(client.get(f"/archive/{job.pk}"))
    assert Notice.objects.count() == 1


def test_after_a_restore_the_first_checkpoint_is_waited_for(followed, flink):
    restored = flink.restored_at = flink.last_end() + 60 * MINUTE
    usual = EngineJob.objects.get().usual_interval
    job = followed(60 * MINUTE + 3 * usual)
    assert watching.stall_of(job, job.heard_at).status == "well"
    stall = watching.stall_of(followed(60 * MINUTE + 3 * usual + 1))
    assert stall.is_stalled
    assert stall.waiting_since == restored


def test_each_stall_notifies_once_even_when_the_job_starts_again(ada, followed, flink):
    services.create(ada, ada, "https://hooks.example.org/x", kinds.NAMES)
    usual = EngineJob.objects.get().usual_interval
    for minutes in (60, 120):
        flink.restored_at = flink.last_end() + minutes * MINUTE
        assert not watching.stall_of(followed(minutes * MINUTE)).is_stalled or minutes > 60
        followed(minutes * MINUTE + 3 * usual + 1)
    assert Notice.objects.filter(kind=kinds.STALLED).count() == 1


@pytest.mark.parametrize("state", ["FAILED", "CANCELED", "FINISHED", "SUSPENDED"])
def test_an_ended_job_forgets_when_it_first_began(followed, flink, state):
    flink.restored_at = flink.last_end() + 60 * MINUTE
    assert followed(60 * MINUTE).began_at == flink.restored_at
    flink.job = flink.job | {"state": "RESTARTING"}
    assert followed(61 * MINUTE).began_at == flink.restored_at
    flink.job = flink.job | {"state": state}
    assert followed(62 * MINUTE).began_at is None
    flink.job = flink.job | {"state": "RUNNING"}
    flink.restored_at = flink.last_end() + 600 * MINUTE
    job = followed(600 * MINUTE + 1)
    assert (job.began_at, watching.stall_of(job, job.heard_at).status) == (
        flink.restored_at,
        "well",
    )


@pytest.mark.parametrize("state", ["FAILED", EngineJob.GONE])
def test_a_job_id_that_is_used_again_does_not_inherit_what_was_usual(followed, flink, state):
    """A new job has the id and no checkpoints yet, and nothing was restored."""
    EngineJob.objects.update(state=state.lower())
    started = flink.last_end() + 60 * MINUTE
    flink.job = flink.job | {"timestamps": {"RUNNING": started}}
    flink.first = flink.count + 1
    for later in (61, 120, 900):
        job = followed(later * MINUTE)
        assert (job.state, job.usual_interval, job.restorable_at) == ("running", None, None)
        assert watching.stall_of(job).status == "not known"
    flink.restored_at = started
    assert followed(900 * MINUTE).usual_interval is not None


def test_a_savepoint_does_not_end_a_stall(followed, flink):
    usual = EngineJob.objects.get().usual_interval
    newest = EngineJob.objects.get().checkpoints.latest("number")
    late = 3 * usual + MINUTE
    savepoint = {"number": newest.number + 1, "kind": "savepoint", "status": "completed"}
    newest.job.checkpoints.create(**savepoint, ended_at=flink.last_end() + late, version=1)
    stall = watching.stall_of(followed(late))
    assert stall.is_stalled
    assert stall.restorable_at == flink.last_end() + late


def test_a_collector_that_has_not_looked_lately_makes_it_not_known(ada, followed):
    job = followed(60 * MINUTE)
    assert watching.stall_of(job).is_stalled
    later = timezone.now() + timedelta(seconds=121)
    stall = watching.stall_of(job, later)
    assert stall.status == "not known"
    assert "no collector has looked at it for" in stall.sentence
    EngineJob.objects.update(heard_at=timezone.now() - timedelta(hours=1))
    assert "is not known: no collector" in text_of(signed_in(ada).get(f"/archive/{job.pk}"))
    job.collector = Collector.objects.create(
        owner=ada, engine="flink", url="x", interval_seconds=60
    )
    assert watching.stall_of(job, later).is_stalled


@pytest.mark.parametrize("state", ["RESTARTING", "FAILED", "FINISHED", "SUSPENDED"])
def test_a_job_that_does_not_run_is_not_flagged(followed, flink, state):
    flink.job = flink.job | {"state": state}
    assert watching.stall_of(followed(60 * MINUTE)).status == "not known"


def test_too_few_checkpoints_are_not_enough_to_flag_a_job(ada, flink):
    flink.count = 10
    flink.set_clock(flink.last_end() + 600 * MINUTE)
    with Server(flink) as url:
        collecting.poll(ada, url)
    job = EngineJob.objects.get()
    page = text_of(signed_in(ada).get(f"/archive/{job.pk}"))
    assert "fewer than 10 intervals between completed checkpoints" in page
    assert not Notice.objects.exists()


@pytest.mark.parametrize("odd", [{"now": "x"}, {"now": None}, {"timestamps": 3}])
def test_a_clock_of_another_shape_is_not_known(ada, flink, odd):
    flink.count = 3
    flink.job = json.loads(json.dumps(flink.job | odd))
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    assert watching.stall_of(EngineJob.objects.get()).status == "not known"


def test_a_page_that_follows_leaves_no_trail(ada, followed):
    job = followed(0)
    client = signed_in(ada)
    for query in ("?follow=yes", ""):
        assert not TrailItem.objects.exists()
        assert client.get(f"/archive/{job.pk}/checkpoints/0/1{query}").status_code == 200
    assert TrailItem.objects.exists()

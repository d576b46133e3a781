"""A collected job that stops completing checkpoints is flagged, and whoever owns it is notified."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from snapshots.archive import collecting, columns, watching
from snapshots.models import Collector, EngineJob
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
    assert "fewer than 11 completed checkpoints are known" in page
    assert not Notice.objects.exists()


@pytest.mark.parametrize("odd", [{"now": "x"}, {"now": None}, {"timestamps": 3}])
def test_a_clock_of_another_shape_is_not_known(ada, flink, odd):
    flink.count = 3
    flink.job = json.loads(json.dumps(flink.job | odd))
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    assert watching.stall_of(EngineJob.objects.get()).status == "not known"

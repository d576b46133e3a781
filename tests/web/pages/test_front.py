"""The page and the calls of a checkpoint's barrier front."""

import pytest

from snapshots.archive import columns, polls
from snapshots.domain.front.model import Load, Poll, PolledEdge, PolledVertex
from snapshots.models import EngineCheckpoint, EngineJob
from tests.web.given import a_client, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def job(ada):
    job = EngineJob.objects.create(owner=ada, engine="flink", key="f" * 32, state="running")
    for number, status in ((1, "completed"), (2, "in progress")):
        EngineCheckpoint.objects.create(job=job, number=number, status=status, version=1)
    for step in range(3):
        polls.keep(job, a_poll(step))
    return job


def a_poll(step: int) -> Poll:
    pending = tuple(range(step, 2))
    return Poll(
        2,
        at=10_000 * (step + 1),
        triggered_at=1_000,
        is_unaligned=False,
        vertices=(
            PolledVertex("a", "orders", 1, 1, (), load=Load(0.02, 0.98)),
            PolledVertex("b", "<slow>", 2, step, pending),
        ),
        edges=(PolledEdge("a", "b", "HASH", is_all_to_all=True),),
        lacking=("How busy <slow> is is not known.",),
    )


def page_of(ada, job, query: str = "") -> str:
    return text_of(signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/2/front{query}"))


def test_the_page_shows_the_last_poll_and_leads_to_each_earlier_one(ada, job):
    page = page_of(ada, job)
    assert "Poll 3 of 3" in page
    assert "All subtasks have acknowledged." in page
    assert 'href="?poll=20000" rel="prev"' in page
    earlier = page_of(ada, job, "?poll=20000")
    assert "Poll 2 of 3" in earlier
    assert "19 s after the trigger" in " ".join(earlier.split())
    assert "1 of 2 subtasks has acknowledged, not [1]" in earlier
    assert "&lt;slow&gt;" in earlier
    assert "<slow>" not in earlier
    assert "How busy &lt;slow&gt; is is not known." in earlier


def test_a_checkpoint_without_polls_says_why_nothing_is_known(ada, job):
    page = text_of(signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/1/front"))
    assert "Where its barriers were is not known" in page
    assert "This one was over before a collector looked" in page
    page = text_of(signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/1"))
    assert "Barrier front" not in page


def test_a_checkpoint_in_progress_without_polls_is_not_called_over(ada, job):
    job.polls.all().delete()
    page = page_of(ada, job)
    assert "None has polled this one so far." in page
    assert "was over" not in page


def test_the_pages_of_the_job_and_of_the_checkpoint_lead_there(ada, job):
    address = f"/archive/{job.pk}/checkpoints/0/2/front"
    assert f'href="{address}"' in text_of(signed_in(ada).get(f"/archive/{job.pk}/checkpoints/0/2"))
    page = " ".join(text_of(signed_in(ada).get(f"/archive/{job.pk}")).split())
    assert f'href="{address}"' in page
    assert "Checkpoint 2 was in progress when it was polled last, 29 s after its trigger." in page


@pytest.mark.parametrize("poll", ["soon", "-1", "9" * 30])
def test_a_poll_that_is_no_instant_is_refused(ada, job, poll):
    address = f"/archive/{job.pk}/checkpoints/0/2/front?poll={poll}"
    assert signed_in(ada).get(address).status_code == 422


def test_the_calls_give_the_instants_and_each_poll(ada, job):
    base = f"/api/archive/{job.pk}/checkpoints/0/2/polls"
    client = a_client(ada)
    assert client.get(base).json() == {"instants": [10_000, 20_000, 30_000], "made": 3}
    poll = client.get(f"{base}/25000").json()
    assert (poll["at"], poll["after"], poll["acknowledged"], poll["subtasks"]) == (
        20_000,
        19_000,
        2,
        3,
    )
    assert poll["edges"] == [{"source": "a", "target": "b", "ship": "HASH", "is_front": True}]
    slow = poll["vertices"][1]
    assert (slow["status"], slow["role"], slow["pending"]) == ("started", "culprit", [1])
    assert slow["busy"] is None
    assert poll["vertices"][0]["back_pressured"] == 0.98
    assert client.get(f"/api/archive/{job.pk}/checkpoints/0/1/polls/5").status_code == 404
    assert client.get(f"/api/archive/{job.pk}/checkpoints/0/9/polls").status_code == 404


def test_the_table_begins_with_the_culprits(ada, job):
    page = page_of(ada, job, "?poll=20000")
    assert page.index('class="name">&lt;slow&gt;') < page.index('class="name">orders')


def test_the_table_of_vertices_is_a_file(ada, job):
    address = f"/archive/{job.pk}/checkpoints/0/2/front?poll=20000&table=vertices&format=csv"
    sent = signed_in(ada).get(address)
    assert "culprit" in b"".join(sent.streaming_content).decode()

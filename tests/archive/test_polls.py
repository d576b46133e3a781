"""Every poll of a checkpoint in progress is kept, with what Flink says and what it does not."""

import pytest

from snapshots.archive import collecting, columns, polling, polls, watching
from snapshots.domain.front.model import Poll
from snapshots.domain.front.rule import ACKNOWLEDGED, NOT_KNOWN, NOT_REACHED, STARTED, front_of
from snapshots.models import EngineJob, EnginePoll
from snapshots.problems import NotFound
from tests.archive.flink_server import Server, StuckFlink

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]
ORDERS, RATES, RULES = (
    "45b0254a46cabbc3efeea5d2e170ea5b",
    "495c336c90d55d5eb05969a5648f5f35",
    "5182b45b6472b1a8299f474baebf57c3",
)
ENRICH, APPLY, SINK = (
    "9c32e3838cee893dbb2fc90ccad79598",
    "45678d710830580513b2107dcfc42985",
    "df7a7d3e68c0b90fc2e078881e78df00",
)


@pytest.fixture(autouse=True)
def nothing_kept():
    columns.forget_all()


@pytest.fixture
def flink(shared_data):
    flink = StuckFlink(shared_data / "flink" / "failures" / "rest")
    flink.count = 1
    flink.job = flink.job | {"now": flink.triggered_at + 20_000}
    flink.done = {ORDERS: 2, RATES: 1, RULES: 1}
    return flink


def states(poll: Poll) -> dict[str, str]:
    return {state.vertex: state.status for state in front_of(poll).states}


def test_a_stuck_checkpoint_can_be_replayed_poll_by_poll(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        flink.let_pass(10_000)
        flink.done |= {ENRICH: 1}
        collecting.poll(ada, url)
        flink.let_pass(10_000)
        flink.done |= {ENRICH: 2}
        collecting.poll(ada, url)
    job = EngineJob.objects.get()
    found = polls.polled(job, 0, 2)
    assert (len(found.instants), found.made) == (3, 3)
    sentences = [front_of(polls.poll_at(job, 0, 2, at)).sentence for at in found.instants]
    assert sentences == [
        "The front is at the edges from Source: orders-numbers -> to-order and Source: "
        "rates-numbers -> to-rate to enrich: 0 of 2 subtasks have acknowledged. apply-rules "
        "and slow-sink wait behind.",
        "The front is at the edges from Source: orders-numbers -> to-order and Source: "
        "rates-numbers -> to-rate to enrich: 1 of 2 subtasks has acknowledged, not [1]. "
        "apply-rules and slow-sink wait behind.",
        "The front is at the edges from Source: rules and enrich to apply-rules: 0 of 2 subtasks "
        "have acknowledged. slow-sink waits behind.",
    ]
    poll, front, _ = polls.current(job)
    assert (poll.at, poll.after) == (found.instants[-1], 40_000)
    assert front.edges == ((ENRICH, APPLY), (RULES, APPLY))
    assert states(poll)[ENRICH] == ACKNOWLEDGED
    assert watching.news_of(job)["polled"] == {"pipeline": 0, "number": 2, "at": poll.at}
    vertex = next(each for each in poll.vertices if each.id == SINK)
    assert vertex.load.busy is not None
    assert poll.lacking == ()


def test_a_checkpoint_in_progress_has_no_duration_and_no_size_yet(ada, flink):
    """Flink counts both up to the subtask that was the last to acknowledge so far."""
    with Server(flink) as url:
        collecting.poll(ada, url)
        row = EngineJob.objects.get().checkpoints.get(number=2)
        assert (row.status, row.duration, row.bytes) == ("in progress", None, None)
        flink.is_going, flink.count = False, 2
        flink.let_pass(10_000)
        collecting.poll(ada, url)
    row.refresh_from_db()
    assert row.status != "in progress"
    assert row.duration == flink.checkpoint(2)["end_to_end_duration"] > 11


def test_how_a_checkpoint_ended_that_flink_forgot_is_not_known(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        job = EngineJob.objects.get()
        assert polls.current(job) is not None
        flink.is_going = False  # it has started again, and lists no checkpoint 2
        collecting.poll(ada, url)
        job.refresh_from_db()
        assert job.checkpoints.get(number=2).status == "unknown"
        assert polls.current(job) is None
        assert polls.polled(job, 0, 2).made == 1
        version = job.version
        collecting.poll(ada, url)
        job.refresh_from_db()
        assert job.version == version


def test_a_job_that_is_gone_has_no_checkpoint_in_progress(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        gone = flink.key
        flink.key = "b" * 32
        collecting.poll(ada, url)
    job = EngineJob.objects.get(key=gone)
    assert job.state == EngineJob.GONE
    assert not job.checkpoints.filter(status="in progress").exists()


def test_an_answer_without_a_history_ends_no_checkpoint(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        whole = flink.answer
        flink.answer = lambda path: {} if path.endswith("/checkpoints") else whole(path)
        collecting.poll(ada, url)
    assert EngineJob.objects.get().checkpoints.get(number=2).status == "in progress"


def test_the_same_instant_is_kept_once(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        collecting.poll(ada, url)
    assert EnginePoll.objects.count() == 1


def test_a_checkpoint_that_has_ended_is_polled_no_more_and_keeps_its_polls(ada, flink):
    with Server(flink) as url:
        collecting.poll(ada, url)
        flink.is_going, flink.count = False, 2
        flink.let_pass(10_000)
        collecting.poll(ada, url)
    job = EngineJob.objects.get()
    assert polls.current(job) is None
    assert polls.polled(job, 0, 2).made == 1


def test_what_flink_does_not_say_is_not_known_with_the_reason(ada, flink):
    flink.silent = ["/config", "/backpressure", "/metrics"]
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
        poll, *_ = polls.current(EngineJob.objects.get())
    assert poll.is_unaligned is None
    assert states(poll)[ENRICH] == NOT_KNOWN
    assert all(vertex.load.busy is None for vertex in poll.vertices)
    assert [sentence.partition(":")[0] for sentence in poll.lacking] == [
        "Whether barriers may overtake records is not known",
        "How busy the vertices are is not known of all",
        "Which subtasks a barrier has reached is not known of all",
    ]
    assert "answers 404" in poll.lacking[0]


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        ("CHECKPOINT", {"unaligned_checkpoints": False}, False),
        ("CHECKPOINT", {"unaligned_checkpoints": True, "aligned_checkpoint_timeout": 30_000}, True),
        ("CHECKPOINT", {"unaligned_checkpoints": True, "mode": "at_least_once"}, False),
        ("SAVEPOINT", {"unaligned_checkpoints": True}, False),
        ("UNALIGNED_CHECKPOINT", {"unaligned_checkpoints": False}, True),
        ("CHECKPOINT", {"unaligned_checkpoints": None}, None),
    ],
)
def test_whether_barriers_may_overtake_is_what_the_configuration_says(
    ada, flink, kind, config, expected
):
    """Flink calls a checkpoint in progress unaligned only when an unaligned subtask has ended."""
    flink.kind, flink.config = kind, flink.config | config
    with Server(flink) as url:
        collecting.poll(ada, url)
    poll, *_ = polls.current(EngineJob.objects.get())
    assert poll.is_unaligned is expected


def test_details_that_flink_forgot_meanwhile_are_no_problem(ada, flink):
    flink.silent = ["/details/2"]
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    assert not EnginePoll.objects.exists()


def test_a_gauge_that_changed_shows_that_a_barrier_has_come(ada, flink):
    flink.delays = {(ENRICH, 0): 7_777, (ENRICH, 1): 7_777}
    with Server(flink) as url:
        collecting.poll(ada, url)
    poll, *_ = polls.current(EngineJob.objects.get())
    assert states(poll)[ENRICH] == STARTED


def test_a_gauge_that_still_shows_the_checkpoint_before_shows_that_none_has_come(ada, flink):
    flink.count = 3
    flink.job = flink.job | {"now": flink.triggered_at + 20_000}
    whole = flink.subtasks

    def slow(number, vertex):
        found = whole(number, vertex)
        subtasks = [each | {"start_delay": 4_312} for each in found["subtasks"]]
        return found | {"subtasks": subtasks}

    flink.subtasks = slow
    flink.delays = {(ENRICH, 0): 4_312, (ENRICH, 1): 4_312}
    with Server(flink) as url:
        collecting.poll(ada, url)
    poll, *_ = polls.current(EngineJob.objects.get())
    found = states(poll)
    assert (found[ENRICH], found[SINK]) == (NOT_REACHED, NOT_KNOWN)


def test_a_gauge_of_a_checkpoint_that_expired_proves_nothing(ada, flink):
    flink.count = 2
    flink.job = flink.job | {"now": flink.triggered_at + 20_000}
    before = flink.subtasks(2, SINK)["subtasks"]
    late = [each["index"] for each in before if each["status"] == "pending_or_failed"]
    assert late
    flink.delays = {(SINK, index): 15_000 for index in late}
    with Server(flink) as url:
        collecting.poll(ada, url)
    poll, *_ = polls.current(EngineJob.objects.get())
    assert states(poll)[SINK] == NOT_KNOWN


def test_ids_that_are_not_flinks_are_not_asked_for(ada, flink):
    plan = flink.job["plan"]
    flink.job = flink.job | {"plan": plan | {"nodes": [{"id": "../../evil", "parallelism": 1}]}}
    with Server(flink) as url:
        collecting.poll(ada, url)
    assert not [path for path in flink.asked if "evil" in path]


def test_a_job_that_is_too_large_is_not_polled(ada, flink, monkeypatch):
    monkeypatch.setattr(polling, "LARGEST", 5)
    with Server(flink) as url:
        assert collecting.poll(ada, url).problems == []
    assert not EnginePoll.objects.exists()


def test_polls_are_bounded_and_say_how_many_there_were(ada, monkeypatch):
    monkeypatch.setattr(polls, "MOST_OF_CHECKPOINT", 10)
    monkeypatch.setattr(polls, "MOST_OF_JOB", 25)
    monkeypatch.setattr(polls, "_DROPPED_AT_ONCE", 5)
    job = EngineJob.objects.create(owner=ada, engine="flink", key="f" * 32)
    for number in range(1, 6):
        for at in range(30):
            polls.keep(job, Poll(number, at=number * 100 + at))
            assert job.polls.count() <= 25
    found = polls.polled(job, 0, 5)
    assert found.made == 30
    assert len(found.instants) <= 10
    assert (found.instants[0], found.instants[-1]) == (500, 529)
    assert not job.polls.filter(number=1).exists()


def test_a_poll_between_two_is_the_one_before(ada):
    job = EngineJob.objects.create(owner=ada, engine="flink", key="f" * 32)
    for at in (100, 200):
        polls.keep(job, Poll(1, at=at))
    asked = [polls.poll_at(job, 0, 1, at).at for at in (50, 100, 150, 200, 900, None)]
    assert asked == [100, 100, 100, 200, 200, 200]
    with pytest.raises(NotFound, match="No poll of checkpoint 2"):
        polls.poll_at(job, 0, 2)

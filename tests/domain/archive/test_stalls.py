"""A job that stops completing checkpoints is found within three of its usual intervals."""

import random
from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.archive import stalls
from snapshots.domain.archive.stalls import NOT_KNOWN, STALLED, WELL, Kept, Watch, judge
from tests.effort import examples

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
FRESH = 2 * MINUTE
POLL = 10 * SECOND
START = 1_700_000_000_000


class HealthyJob:
    """The ends of the checkpoints and savepoints of a day, with noise.

    The intervals vary by a fifth. Some checkpoints are slow, fail alone or in pairs, or expire
    after another interval. What is odd comes at least three checkpoints apart.
    """

    def __init__(self, seed: int, hours: float = 24, restarts: bool = False) -> None:
        self.random = random.Random(seed)
        self.interval = self.random.choice([5, 20, 60, 180, 600]) * SECOND
        self.ends: list[int] = []
        self.savepoints: list[int] = []
        self.starts, self.downs = [START], [START]  # it runs from a start to the next down
        self._run(START + round(hours * HOUR), restarts)

    def _run(self, until: int, restarts: bool) -> None:
        at, regular = START, 0
        while at < until:
            oddity = self.random.random() if regular > 3 else 1.0
            regular = 0 if oddity < 0.05 else regular + 1
            at += self._jittered()
            if oddity < 0.02:  # fails, alone or twice
                at += self._jittered() if oddity < 0.005 else 0
                continue
            if oddity < 0.03:  # expires; the next one begins at once
                at += self.interval
                continue
            if oddity < 0.032 and restarts:
                self.downs.append(at)
                at += round(self.random.uniform(0.1, 4) * self.interval)  # it is restored
                self.starts.append(at)
                continue
            slow = 1.2 if oddity < 0.05 else 0.2
            self.ends.append(at + round(self.random.uniform(0.1, slow) * self.interval))
            if self.random.random() < 0.01:
                self.savepoints.append(self.ends[-1] + round(0.3 * self.interval))

        self.ends.sort()

    def _jittered(self) -> int:
        return round(self.random.uniform(0.8, 1.2) * self.interval)


class Collector:
    """Looks at a job now and then, as the archive does; ``stops_at`` is the end of its progress."""

    def __init__(self, job: HealthyJob) -> None:
        self.job, self.began_at, self.usual, self._count = job, None, None, -1

    def look(self, at: int, stops_at: int = 2**62) -> stalls.Stall:
        job, until = self.job, min(at, stops_at)
        count = bisect_right(job.ends, until)
        if count != self._count:
            self._count = count
            self.usual = usual_of(job.ends[max(0, count - 150) : count])
        completed_at = before(job.ends, until)
        restorable_at = max(
            filter(None, (completed_at, before(job.savepoints, until))), default=None
        )
        started = before(job.starts, at)
        is_running = before(job.downs, at) <= started
        self.began_at = stalls.first_start(self.began_at, started, completed_at)
        watch = Watch(is_running, at, FRESH, self.usual, restorable_at, completed_at, self.began_at)
        return judge(watch, at)


def usual_of(ends: list[int]) -> int | None:
    """Return the usual interval of completed checkpoints with nothing between them."""
    return stalls.usual_interval(Kept(number, end, True) for number, end in enumerate(ends))


def before(instants: list[int], at: int) -> int | None:
    """Return the last instant until then."""
    place = bisect_right(instants, at)
    return instants[place - 1] if place else None


def looks(job: HealthyJob, until: int) -> range:
    """Return when a collector looks: every POLL ms, and less often if checkpoints are rare."""
    return range(START, until, max(POLL, job.interval // 4))


@pytest.mark.parametrize("restarts", [False, True])
def test_a_healthy_job_with_noise_is_never_flagged_in_a_day(restarts):
    statuses: set[str] = set()
    for seed in range(examples(40)):
        job = HealthyJob(seed, restarts=restarts)
        collector = Collector(job)
        for at in looks(job, job.ends[-1]):
            stall = collector.look(at)
            statuses.add(stall.status)
            assert not stall.is_stalled, (seed, at, stall.sentence)
    assert statuses == {WELL, NOT_KNOWN}  # unknown at first, until the interval is learnt


@pytest.mark.parametrize("seed", range(examples(30)))
def test_a_job_that_stops_is_flagged_within_three_usual_intervals_and_not_when_it_goes_on(seed):
    job = HealthyJob(seed, hours=5)
    place = len(job.ends) * 3 // 4
    last = job.ends[place]
    collector = Collector(job)
    usual = usual_of(job.ends[: place + 1])
    assert 0.8 * job.interval < usual < 2.6 * job.interval
    assert collector.look(last + 3 * usual, stops_at=last).status == WELL
    assert collector.look(last + 3 * usual + 1, stops_at=last).status == STALLED
    again = last + 5 * usual
    job.ends = [*job.ends[: place + 1], again]
    assert collector.look(again - 1).is_stalled
    assert collector.look(again).status == WELL


def test_the_sentence_says_how_old_the_last_restorable_point_is():
    waited = 4 * HOUR + 12 * MINUTE + 30 * SECOND
    watch = Watch(
        True, START + waited, FRESH, usual=MINUTE, restorable_at=START, completed_at=START
    )
    assert judge(watch, START + waited).sentence == (
        "The job runs, and has completed no checkpoint for 4 h 12 min. Usually it completes one at "
        "least every 1 min. The last restorable point is 4 h 12 min old."
    )


def test_after_a_restore_the_first_checkpoint_is_waited_for_likewise():
    restored = START + HOUR
    watch = Watch(True, restored, FRESH, MINUTE, START, START, began_at=restored)
    starting = judge(watch, restored + MINUTE)
    assert starting.status == WELL
    assert starting.sentence == (
        "The job began to run 1 min ago, and its first checkpoint since then is waited for. "
        "Usually it completes one at least every 1 min."
    )
    late = restored + 3 * MINUTE + 1
    stall = judge(Watch(True, late, FRESH, MINUTE, START, START, restored), late)
    assert stall.status == STALLED
    assert "since it began to run, 3 min ago" in stall.sentence
    assert "The last restorable point is 1 h 3 min old." in stall.sentence


def test_a_job_that_is_restored_again_and_again_is_flagged_all_the_same():
    began_at = None
    for restart in range(5):
        told = START + (restart + 1) * 2 * MINUTE
        began_at = stalls.first_start(began_at, told, START)
    now = START + 10 * MINUTE
    assert began_at == START + 2 * MINUTE
    assert judge(Watch(True, now, FRESH, MINUTE, START, START, began_at), now).is_stalled
    assert stalls.first_start(began_at, told, told + 1) is None


@pytest.mark.parametrize(
    ("watch", "reason"),
    [
        (Watch(True, None, FRESH, MINUTE, START), "no running engine has reported it"),
        (Watch(True, START, FRESH, MINUTE, START), "no collector has looked at it for 1 h"),
        (Watch(False, START + HOUR, FRESH, MINUTE, START), "it did not run when"),
        (Watch(True, START + HOUR, FRESH, None, START), "fewer than 10 intervals between"),
        (Watch(True, START + HOUR, FRESH, MINUTE), "fewer than 10 intervals between"),
    ],
)
def test_what_is_not_known_is_said_with_the_reason_and_is_no_stall(watch, reason):
    stall = judge(watch, START + HOUR)
    assert stall.status == NOT_KNOWN
    assert reason in stall.sentence


def test_time_that_nobody_observed_is_no_interval():
    """A collector looks every 10 min at a job with a checkpoint every 10 s, of which 10 are kept.

    Some of the seen ones failed, and one is a savepoint.
    """
    kept = [
        Kept(60 * look + one, START + (60 * look + one) * 10 * SECOND, True)
        for look in range(3)
        for one in range(10)
    ]
    assert stalls.usual_interval(kept) == 10 * SECOND
    kept[3] = Kept(3, None, is_regular=False)
    kept[14] = Kept(64, START + 645 * SECOND, is_regular=False)
    assert stalls.usual_interval(kept) == 20 * SECOND
    assert stalls.usual_interval(kept[:10]) is None


@pytest.mark.parametrize("many", range(11, 21))
def test_one_outage_does_not_decide_the_usual_interval(many):
    ends = [START + place * MINUTE for place in range(many)]
    ends[-1] += 6 * HOUR
    assert usual_of(ends) == MINUTE


def test_savepoints_do_not_hide_a_stall_and_are_restorable_points():
    now = START + 10 * MINUTE
    stall = judge(Watch(True, now, FRESH, MINUTE, now - 1 * SECOND, START), now)
    assert stall.status == STALLED
    assert "completed no checkpoint for 10 min." in stall.sentence
    assert "The last restorable point is 1 s old." in stall.sentence


instants = st.integers(0, 10**9)
maybe = st.none() | instants


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(instants, max_size=250))
def test_the_usual_interval_is_one_of_the_last_and_covers_nearly_all(completed):
    usual = usual_of(sorted(completed))
    gaps = [b - a for a, b in pairwise(sorted(completed)[-stalls.MOST_INTERVALS - 1 :])]
    assert (usual is None) == (len(gaps) < stalls.LEAST_INTERVALS)
    if usual is not None:
        assert usual in {max(1, gap) for gap in gaps}
        assert sum(gap <= usual for gap in gaps) >= min(0.95 * len(gaps), len(gaps) - 1)
        assert sum(gap >= usual for gap in gaps) >= 0.05 * len(gaps) or usual == 1


@settings(max_examples=examples(300), deadline=None)
@given(st.booleans(), maybe, maybe, maybe, maybe, maybe, instants, instants)
def test_a_stall_stays_until_something_is_completed(
    runs, looked_at, usual, restorable_at, completed_at, began_at, now, later
):
    """Time alone never ends a stall, and a checkpoint that completes now always does."""
    usual = max(1, usual) if usual else usual
    watch = Watch(runs, looked_at, 10**10, usual, restorable_at, completed_at, began_at)
    if judge(watch, now).is_stalled:
        assert judge(watch, now + later).is_stalled
        assert runs
        completed = Watch(runs, looked_at, 10**10, usual, now, now, began_at)
        assert not judge(completed, now).is_stalled or (began_at or 0) > now


@given(maybe, maybe, maybe)
def test_the_first_start_is_after_the_restorable_point_and_never_moves_on(known, told, point):
    first = stalls.first_start(known, told, point)
    if first is not None:
        assert point is None or first > point
        assert stalls.first_start(first, told, point) == first
        assert stalls.first_start(first, (told or 0) + 10**9, point) == first

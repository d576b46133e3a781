"""Flink's aligner and tracker as flow charts, compared with simulated runs and walked by hand.

Each seed is another dataflow with other parameters, most of them with failures.
"""

from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.barriers import aligner, charts, signals, tracker
from snapshots.domain.dataflow_logs.barriers.aligner import Aligner
from snapshots.domain.dataflow_logs.barriers.course import COURSE_KINDS, TAKEN, Course, course_of
from snapshots.domain.dataflow_logs.barriers.signals import Signal
from snapshots.domain.dataflow_logs.barriers.tracker import Tracker
from snapshots.domain.dataflow_logs.checkpoints.reference import checkpoints
from snapshots.domain.dataflow_logs.events import ProtocolEvent, fields_of
from snapshots.domain.dataflow_logs.kinds import BLOCK, RESTART, UNBLOCK
from snapshots.domain.model.recording import MARKER_RECEIVE, RECORD_STATE, RESTORE, Recording
from snapshots.domain.simulators.protocols.flink_task import (
    ALIGNED,
    AT_LEAST_ONCE,
    MODES,
    TIMEOUT,
)
from snapshots.domain.simulators.samples import two_banks
from tests.dataflows import any_run
from tests.effort import examples

pytestmark = pytest.mark.slow
SEEDS = range(examples(8))
IN = ("a->c", "b->c")


@cache
def a_recording(seed: int, mode: str) -> Recording:
    return assemble(*any_run(seed, mode).log).recording


def courses_of(recording: Recording) -> dict[str, Course]:
    modes = {report.checkpoint: report.mode for report in checkpoints(recording)}
    return {
        task: course_of(task, inputs_of(recording, task), protocol(events, COURSE_KINDS), modes)
        for task, events in recording.events.items()
        if not task.startswith("coordinator")
    }


def inputs_of(recording: Recording, task: str) -> tuple[str, ...]:
    return tuple(channel.id for channel in recording.topology.incoming[task])


def protocol(events, kinds):
    return [ProtocolEvent.of(event) for event in events if event.kind in kinds]


def steps_of(handler, take, *heard: Signal):
    """Return the names of the nodes for each signal, and the handler at the end."""
    paths = []
    for signal in heard:
        handler, outcome = take(handler, signal)
        paths.append([step.node for step in outcome.steps])
    return paths, handler


def barrier(checkpoint: int, channel: str = IN[0], **more) -> Signal:
    return Signal(signals.BARRIER, channel, checkpoint, **more)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES)
def test_blocked_channels_are_those_that_the_simulator_logged(seed, mode):
    recording = a_recording(seed, mode)
    for task, course in courses_of(recording).items():
        for passage, after in pairwise(course.passages):
            assert passage.differs == "", (task, passage)
            if after.kind in TAKEN and not after.after_restart:
                logged = blocked_before(recording.events[task][: after.index])
                assert set(passage.blocked) == logged, (task, passage)


def blocked_before(events) -> set[str]:
    """Return the channels that a log has blocked after these events of a task."""
    blocked = set()
    for event in events:
        if event.kind == BLOCK:
            blocked.add(event.channel)
        elif event.kind == UNBLOCK:
            blocked.discard(event.channel)
        elif event.kind in (RESTORE, RESTART):
            blocked.clear()
    return blocked


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", MODES)
def test_each_path_follows_the_ways_of_the_chart(seed, mode):
    for task, course in courses_of(a_recording(seed, mode)).items():
        if course.chart is None:
            continue
        ways = {(way.source, way.target) for way in course.chart.ways}
        for passage in course.passages:
            assert ways_of(passage) <= ways, (task, passage)
            assert bool(passage.steps) != bool(passage.why_none)


def ways_of(passage) -> set[tuple[str, str]]:
    """Return the ways that were taken; a channel's end enters the chart for each checkpoint."""
    taken = pairwise(step.node for step in passage.steps)
    return {(source, target) for source, target in taken if target != charts.END}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", [ALIGNED, AT_LEAST_ONCE])
def test_a_snapshot_is_taken_where_the_simulator_took_it(seed, mode):
    """Also those that are given up: no way of the chart is taken that the log does not bear out."""
    recording = a_recording(seed, mode)
    for task, course in courses_of(recording).items():
        if course.chart is None:
            continue
        nexts = [passage.index for passage in course.passages[1:]]
        bounds = zip(course.passages, [*nexts, len(recording.events[task])], strict=True)
        for passage, until in bounds:
            told = {
                e.kind
                for e in recording.events[task][passage.index : until]
                if e.snapshot == passage.checkpoint and not fields_of(e.extra).get("finished")
            }
            names = [step.node for step in passage.steps]
            if passage.kind == signals.BARRIER:
                assert (charts.SNAPSHOT in names) == (RECORD_STATE in told), (task, passage)
                assert (charts.BLOCK in names) == (BLOCK in told), (task, passage)


def test_generated_runs_take_every_way_but_those_of_too_many_pending_checkpoints():
    taken = {charts.ALIGNER.title: set(), charts.TRACKER.title: set()}
    for seed, mode in product(range(40), (ALIGNED, TIMEOUT, AT_LEAST_ONCE)):
        for course in courses_of(a_recording(seed, mode)).values():
            for passage in course.passages:
                taken[course.chart.title] |= ways_of(passage)
    assert taken["Aligner"] == {way[:2] for way in charts.ALIGNER.ways}
    rare = {(charts.MANY, charts.DROP_OLDEST), (charts.DROP_OLDEST, charts.COUNT)}
    assert taken["Tracker"] == {way[:2] for way in charts.TRACKER.ways} - rare


def test_the_first_barrier_blocks_its_channel_and_the_last_one_takes_the_snapshot():
    (first, last), after = steps_of(Aligner(IN), aligner.take, barrier(1), barrier(1, IN[1]))
    new = [charts.BARRIER, charts.OLD, charts.SAME, charts.UNDER_WAY, charts.FOLLOW]
    assert first == [*new, charts.ALL, charts.BLOCK]
    done = [charts.OFF, charts.FORWARD, charts.SNAPSHOT, charts.UNBLOCK]
    assert last == [charts.BARRIER, charts.OLD, charts.SAME, charts.ALL, *done]
    assert after == Aligner(IN, latest=1)


def test_a_sentence_says_why_each_step_was_taken():
    handler, outcome = aligner.take(Aligner(IN), barrier(2))
    assert [step.why for step in outcome.steps] == [
        "Barrier 2 came on a->c.",
        "It is the first one.",
        "Checkpoint 2 is new to the task.",
        "The task follows no checkpoint.",
        "It waits for barrier 2 on all inputs.",
        "1 of 2 barriers is here; b->c is missing.",
        "a->c is blocked: what follows its barrier waits in it.",
    ]
    _, outcome = aligner.take(handler, barrier(3, IN[1]))
    said = "Checkpoint 2 ends without a snapshot, and a->c opens again."
    assert said in [step.why for step in outcome.steps]


def test_a_newer_barrier_cancels_the_older_alignment_whose_barriers_then_have_no_effect():
    heard = barrier(1), barrier(2, IN[1]), barrier(1, IN[1])
    (_, newer, older), after = steps_of(Aligner(IN), aligner.take, *heard)
    assert newer[2:6] == [charts.SAME, charts.UNDER_WAY, charts.DROP, charts.FOLLOW]
    assert older == [charts.BARRIER, charts.OLD, charts.IGNORE]
    assert (after.follows, after.blocked) == (2, (IN[1],))


@pytest.mark.parametrize(
    "off", [{"declined": "disk full"}, {}], ids=["declined by the task", "by the coordinator"]
)
@pytest.mark.parametrize(
    ("handler", "take", "node"),
    [(Aligner, aligner.take, charts.GIVE_UP), (Tracker, tracker.take, charts.NOTIFY)],
)
def test_no_snapshot_is_taken_of_what_is_called_off(off, handler, take, node):
    word = [] if off else [Signal(signals.ABORTED, None, 1)]
    (*_, last), after = steps_of(handler(IN), take, barrier(1), *word, barrier(1, IN[1], **off))
    assert charts.SNAPSHOT not in last
    assert last[last.index(charts.OFF) + 1] == node
    assert after == handler(IN, latest=1)


def test_the_end_of_a_channel_counts_as_its_barrier_and_blocks_nothing():
    end = Signal(signals.END, IN[1])
    (ended, path), after = steps_of(Aligner(IN), aligner.take, end, barrier(1))
    assert ended == [charts.END]
    assert charts.SNAPSHOT in path
    three = (*IN, "d->c")
    (_, ended), after = steps_of(Aligner(three), aligner.take, barrier(1), end)
    assert ended == [charts.END, charts.ALL]
    assert after.blocked == (IN[0],)


def test_the_chart_has_no_steps_for_barriers_that_overtake_and_says_so():
    handler, outcome = aligner.take(Aligner(IN), barrier(1, is_unaligned=True))
    assert outcome.steps == ()
    assert "overtake records, and block nothing" in outcome.why_none
    handler, _ = aligner.take(handler, barrier(1, IN[1], is_unaligned=True))
    assert handler == Aligner(IN, latest=1)


def test_a_task_that_goes_on_unaligned_keeps_its_channels_blocked_until_the_last_barrier():
    handler, _ = aligner.take(Aligner(IN), barrier(1))
    handler, outcome = aligner.take(handler, Signal(signals.SWITCHED, None, 1))
    assert "The time for aligning is over" in outcome.why_none
    assert handler.blocked == (IN[0],)
    handler, outcome = aligner.take(handler, barrier(1, IN[1]))
    assert outcome.steps == ()
    assert handler.blocked == ()


def test_the_tracker_counts_checkpoints_beside_each_other_and_the_last_barrier_drops_older_ones():
    heard = barrier(1), barrier(2), barrier(2, IN[1]), barrier(1, IN[1])
    (first, second, done, late), after = steps_of(Tracker(IN), tracker.take, *heard)
    new = [charts.BARRIER, charts.OLD, charts.PENDING, charts.BEGIN, charts.MANY]
    assert first == second == [*new, charts.COUNT, charts.ALL, charts.WAIT]
    assert done[-3:] == [charts.FORWARD, charts.SNAPSHOT, charts.FORGET]
    assert late == [charts.BARRIER, charts.OLD, charts.IGNORE]
    assert after == Tracker(IN, latest=2)


def test_the_tracker_drops_the_oldest_of_too_many_pending_checkpoints():
    heard = [barrier(number) for number in range(1, charts.MOST_PENDING + 2)]
    (*_, before, last), after = steps_of(Tracker(IN), tracker.take, *heard)
    assert charts.DROP_OLDEST not in before
    assert last[-4:] == [charts.DROP_OLDEST, charts.COUNT, charts.ALL, charts.WAIT]
    assert min(after.pending) == 2
    paths, _ = steps_of(after, tracker.take, barrier(1, IN[1]))
    assert paths[0][-1] == charts.IGNORE


def test_an_old_checkpoint_that_is_begun_too_late_is_the_one_that_is_dropped():
    heard = [barrier(number) for number in range(2, charts.MOST_PENDING + 2)]
    paths, after = steps_of(Tracker(IN), tracker.take, *heard, barrier(1, IN[1]))
    assert paths[-1][-1] == charts.DROP_OLDEST
    assert len(after.pending) == charts.MOST_PENDING


def told(index: int, kind: str, channel: str | None = None) -> ProtocolEvent:
    return ProtocolEvent("c", index, kind, index, index, channel, "1")


def test_a_log_whose_blocked_channels_break_the_rules_says_so():
    events = [
        told(0, MARKER_RECEIVE, IN[0]),
        told(1, BLOCK, IN[1]),
        told(2, MARKER_RECEIVE, IN[1]),
    ]
    course = course_of("c", IN, events, {"1": "aligned"})
    expected = "The recording says otherwise: it has b->c blocked, the rules a->c."
    assert [passage.differs for passage in course.passages] == [expected, ""]


def test_what_the_recording_does_not_hold_is_not_known_with_the_reason():
    recording = a_recording(1, ALIGNED)
    source = courses_of(recording)["source[0]"]
    assert source.why_not.startswith("No channel leads to source[0]")
    assert "holds no barrier" in course_of("c", IN, [], {}).why_not
    banks = assemble(*two_banks()).recording
    markers = protocol(banks.events["B"], COURSE_KINDS)
    assert "no numbers" in course_of("B", inputs_of(banks, "B"), markers, {}).why_not
    numbered = [replace(event, snapshot="1") for event in markers]
    why_not = course_of("B", inputs_of(banks, "B"), numbered, {}).why_not
    assert "does not say how barriers are handled" in why_not


def test_a_restart_begins_the_course_anew():
    events = [
        told(0, MARKER_RECEIVE, IN[0]),
        told(1, BLOCK, IN[0]),
        told(2, RESTORE),
        told(3, MARKER_RECEIVE, IN[1]),
        told(4, BLOCK, IN[1]),
    ]
    first, again = course_of("c", IN, events, {"1": "aligned"}).passages
    assert (first.after_restart, again.after_restart) == (False, True)
    assert (first.blocked, again.blocked) == ((IN[0],), (IN[1],))
    assert first.differs == ""

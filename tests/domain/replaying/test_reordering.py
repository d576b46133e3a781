"""Theorem 1 holds for every snapshot that follows the rules, and for no other.

THEOREM_EXAMPLES sets how many runs are generated.
"""

import os
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model import shapes
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.recording import RECORD_CHANNEL
from snapshots.domain.model.topology import Topology
from snapshots.domain.replaying import reordering
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.reordering_report import SENTENCES, NotReorderable
from snapshots.domain.simulators.protocols import chandy_lamport, lai_yang
from snapshots.domain.simulators.protocols.chandy_lamport import SendMarker
from snapshots.domain.simulators.samples import SAMPLES
from snapshots.domain.simulators.workloads import WORKLOADS, Bank, Tokens
from tests import damage
from tests.builders import a_run, recorded, simulated
from tests.domain.simulators.test_samples import WRONG
from tests.effort import examples

GENERATED = int(os.environ.get("THEOREM_EXAMPLES") or examples(40))
BY_SLUG = {sample.slug: sample for sample in SAMPLES}


def reordered(log, **options):
    """Return the reordering for each snapshot of a log."""
    recording = recorded(log)
    return [reorder(recording, report, **options) for report in judge(recording)]


def names(events):
    return [f"{event.kind} {event.message}" for event in events]


def check(result, name):
    return next(check for check in result.checks if check.name == name)


def failing(result):
    return {check.name for check in result.checks if check.holds is False}


def test_the_example_of_the_paper_comes_out_as_in_section_4_1():
    (result,) = reordered(BY_SLUG["never-occurred"].log())
    e0, e1, e2 = "send M", "send M'", "receive M'"
    assert names(result.events)[:3] == [e0, e1, e2]
    assert names(result.events[row] for row in result.permuted)[:3] == [e1, e0, e2]
    assert (result.middle, result.swaps, result.occurred) == (1, 1, False)
    assert result.recorded.to_json(result.recording) == {
        "processes": {"p": "A", "q": "D"},
        "channels": {"c": [], "c'": ["M'"]},
    }
    assert all(check.holds for check in result.checks)


@pytest.mark.parametrize("slug", BY_SLUG)
def test_the_right_samples_can_be_reordered_and_the_wrong_ones_say_where_they_are_wrong(slug):
    log = BY_SLUG[slug].log()
    wrong = WRONG.get(slug, {})
    for report, result in zip(judge(recorded(log)), reordered(log), strict=True):
        assert result.holds == (report.snapshot not in wrong), report.snapshot
        if wrong.get(report.snapshot) == "orphan":
            assert failing(result) == {"sends-first", "swaps", "from-start", "to-end"}
        else:
            assert failing(result) in (set(), {"middle", "from-start", "to-end"})


def test_the_first_sample_shows_a_swap():
    (result,) = reordered(BY_SLUG["two-banks"].log())
    assert names(result.events) == [
        "send m2",
        "receive m1",
        "receive m2",
        "send m3",
        "receive m3",
    ]
    assert (result.occurred, result.swaps) == (False, 1)


def test_a_state_that_the_run_went_through_is_found_there():
    (result,) = reordered(BY_SLUG["one-token"].log())
    assert names(result.events) == ["receive t1", "send t2", "receive t2"]
    assert (result.occurred, result.occurred_after, result.swaps) == (True, 2, 0)


def a_run_with_an_orphan():
    """Return a run in which q receives m before it records, and p sends it after recording."""
    return (
        a_run()
        .record("p", "s1")
        .send("p->q", "m", 3, state=7)
        .receive("p->q", "m", state=8)
        .record("q", "s1")
        .record_channel("p->q", "s1")
        .record_channel("q->p", "s1")
    )


def test_an_orphan_is_the_pair_that_prevents_the_reordering():
    (result,) = reordered(a_run_with_an_orphan())
    assert not result.holds
    assert {"sends-first", "swaps"} <= failing(result)
    (orphan,) = result.obstacles
    assert (orphan.message, orphan.sent.process, orphan.received.process) == ("m", "p", "q")
    assert (orphan.sent.index, orphan.received.index) == (1, 0)
    assert check(result, "swaps").reason == "event 0 of q receives m, which event 1 of p sends."
    assert result.occurred is None


@pytest.mark.parametrize(
    ("verdict", "rules"),
    [
        ("orphan", {"sends-first"}),
        ("lost", {"middle"}),
        ("duplicated", {"middle"}),
        ("state-mismatch", {"middle"}),
        ("fifo-violation", {"fifo"}),
    ],
)
def test_each_fault_fails_the_check_that_is_about_it(verdict, rules):
    damaged = damage.DAMAGES[verdict](simulated(shapes.complete(3), mean_delay=20_000))
    recording = recorded(damaged.log)
    report = next(r for r in judge(recording) if r.snapshot == damaged.snapshot)
    assert rules <= failing(reorder(recording, report))


def test_an_incomplete_snapshot_is_refused_with_what_is_missing():
    recording = recorded(simulated(protocol=damage.never_sending("p1->p2", "s1")))
    with pytest.raises(NotReorderable, match="p1 recorded.*no marker that it sent on p1->p2"):
        reorder(recording, *judge(recording))
    recording = recorded(a_run().record("p", "s1"))
    with pytest.raises(NotReorderable, match="q never recorded"):
        reorder(recording, *judge(recording))


def test_what_the_log_does_not_say_is_neither_right_nor_wrong():
    results = reordered(damage.without(simulated(), RECORD_CHANNEL))
    assert {(check.name, check.holds) for check in results[0].checks} >= {
        ("sends-first", True),
        ("middle", None),
    }
    assert "does not say what was recorded of p1->p2" in check(results[0], "middle").reason
    stray = a_run().receive("p->q", "m").record("p", "s1").receive("q->p", "n").record("q", "s1")
    (result,) = reordered(stray)
    assert check(result, "sends-first").holds is None


def test_too_many_swaps_are_counted_and_not_tried():
    (result,) = reordered(simulated(), most_swaps=3)
    assert result.swaps > 3
    assert check(result, "swaps").holds is None
    assert f"{result.swaps:,}" in check(result, "swaps").reason


def test_events_of_other_snapshots_do_not_move():
    results = reordered(simulated(snapshots=((8_000, ("p1",)), (8_100, ("p3",)))))
    kinds = {event.kind for result in results for event in result.events}
    assert kinds == {"send", "receive"}


def test_its_json_shows_at_most_so_many_events_and_how_many_there_are():
    (result,) = reordered(simulated())
    whole, part = as_json(result.report()), as_json(result.report(10))
    assert sorted(whole["permuted"]) == list(range(len(result.events)))
    assert (len(whole["events"]), whole["middle"]) == (len(result.events), result.middle)
    assert sorted(part["permuted"]) == list(range(10))
    assert part["events_total"] == len(result.events)
    assert [event["prerecording"] for event in part["events"]].count(True) == part["middle"]
    assert [check["holds"] for check in whole["checks"]] == [True] * len(SENTENCES)


sides = st.lists(st.booleans(), max_size=30).map(lambda sides: np.array(sides, bool))


@given(sides)
def test_the_swaps_change_neighbours_until_the_order_is_the_partition(is_pre):
    swaps = list(reordering.swaps(is_pre.tolist()))
    assert len(swaps) == reordering.inversions(is_pre)
    order = list(range(len(is_pre)))
    for place in swaps:
        assert (is_pre[order[place]], is_pre[order[place + 1]]) == (False, True)
        order[place], order[place + 1] = order[place + 1], order[place]
    assert reordering.partition_order(is_pre).tolist() == order


def star(size: int) -> Topology:
    """Return a topology in which p1 is linked with every other process, both ways."""
    spokes = shapes.ring(size).processes[1:]
    links = [link for spoke in spokes for link in (("p1", spoke.id), (spoke.id, "p1"))]
    return shapes.of_links(["p1", *(spoke.id for spoke in spokes)], links)


def line(size: int) -> Topology:
    """Return p1 -> p2 -> …, which is not strongly connected."""
    whole = shapes.ring(size)
    return replace(whole, channels=whole.channels[: size - 1])


def random(size: int) -> Topology:
    return shapes.random_connected(size, min(2.5, max(1, size - 1)), seed=size)


SHAPES = (shapes.ring, shapes.complete, star, random, line)


@st.composite
def theorem_runs(draw):
    """Draw runs of any shape and workload, with up to three snapshots at once.

    Each snapshot has up to three initiators. Some runs have channels that reorder; in some the
    snapshots are collected.
    """
    shape = draw(st.sampled_from(SHAPES))
    topology = shape(draw(st.integers(1, 5 if shape is shapes.complete else 9)))
    processes = st.sampled_from([process.id for process in topology.processes])
    initiators = st.lists(processes, min_size=1, max_size=3, unique=True).map(tuple)
    protocol = draw(st.sampled_from((chandy_lamport, chandy_lamport, lai_yang)))
    if protocol is lai_yang:
        topology = shapes.without_order(topology)
    pause = draw(st.sampled_from((200, 2_000)))
    starts = st.tuples(st.integers(0, 20 * pause), initiators)
    return simulated(
        topology,
        WORKLOADS[draw(st.sampled_from(sorted(WORKLOADS)))](),
        snapshots=draw(st.lists(starts, min_size=1, max_size=3)),
        seed=draw(st.integers(0, 2**32)),
        events=draw(st.integers(20, 160)),
        mean_delay=draw(st.sampled_from((50, 1_000, 5_000, 20_000))),
        mean_pause=pause,
        drain=draw(st.booleans()),
        collect=draw(st.integers(0, 3)) == 0,
        protocol=protocol,
    )


SOMETIMES = {
    "the recorded state never occurred": lambda result: result.occurred is False,
    "the recorded state occurred": lambda result: result.occurred,
    "a message is in flight": lambda result: any(result.recorded.channels.values()),
    "many swaps are needed": lambda result: result.swaps > 100,
    "none is needed": lambda result: result.swaps == 0,
}


def test_every_complete_snapshot_is_a_state_that_the_run_could_have_gone_through():
    seen = Counter()

    @settings(max_examples=GENERATED, deadline=None)
    @given(theorem_runs())
    def holds(log):
        recording = recorded(log)
        seen["runs"] += 1
        for report in judge(recording):
            seen.update(_tried(recording, report))

    holds()
    print(dict(seen))
    assert GENERATED < 1_000 or SOMETIMES.keys() <= seen.keys()


def _tried(recording, report):
    """Check the theorem on a snapshot, and return what else happened."""
    if "incomplete" in report.counts:
        with pytest.raises(NotReorderable):
            reorder(recording, report)
        return ["snapshots refused as incomplete"]
    result = reorder(recording, report)
    assert [(c.name, c.holds, c.reason) for c in result.checks] == [
        (name, True, None) for name in SENTENCES
    ]
    assert result.occurred or result.swaps
    return ["snapshots", *(name for name, happens in SOMETIMES.items() if happens(result))]


def test_the_runs_that_the_theorem_is_tried_on_are_not_trivial():
    results = [
        result
        for seed in range(10)
        for shape, workload in ((shapes.ring, Tokens), (star, Bank), (random, Bank))
        for result in reordered(
            simulated(
                shape(5),
                workload(),
                seed=seed,
                snapshots=((300, ("p1",)), (9_000, ("p2", "p3"))),
                events=150,
            )
        )
    ]
    for name, happens in SOMETIMES.items():
        assert any(happens(result) for result in results), f"never: {name}"


def late_markers() -> SimpleNamespace:
    """Return Chandy-Lamport, changed to hold its markers back until the next message arrives."""

    def begin(recorder):
        recorder, effects = chandy_lamport.begin(recorder)
        return recorder, tuple(e for e in effects if not isinstance(e, SendMarker))

    def on_marker(recorder, channel, count):
        had_recorded = recorder.has_recorded
        recorder, effects = chandy_lamport.on_marker(recorder, channel)
        if had_recorded:
            return recorder, effects
        return recorder, tuple(e for e in effects if not isinstance(e, SendMarker))

    late: set[tuple[str, tuple[str, ...]]] = set()

    def on_message(recorder, channel, message):
        recorder, effects = chandy_lamport.on_message(recorder, channel, message)
        key = (recorder.snapshot, recorder.outgoing)
        if key in late:
            return recorder, effects
        late.add(key)
        return recorder, (*effects, *map(SendMarker, recorder.outgoing))

    changed = {"begin": begin, "on_marker": on_marker, "on_message": on_message}
    return SimpleNamespace(**vars(chandy_lamport) | changed)


def test_a_broken_marker_rule_breaks_the_theorem():
    broken = []
    for seed in range(20):
        log = simulated(shapes.complete(3), Bank(), seed=seed, protocol=late_markers())
        recording = recorded(log)
        for report in judge(recording):
            if "incomplete" not in report.counts:
                result = reorder(recording, report)
                assert result.holds == (report.verdict in ("consistent", "marker-rule"))
                broken.append(failing(result))
    assert any("sends-first" in rules for rules in broken)

"""What tasks and coordinators do, by one fold over the log, and by the rules at each place."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.dataflow_logs.control.activity import DOINGS, DOWN, RUNNING, Doing, doings
from snapshots.domain.dataflow_logs.control.events import Place, is_coordinator
from snapshots.domain.dataflow_logs.control.progress import COMPLETE, GIVEN_UP, Progresses
from snapshots.domain.dataflow_logs.control.signals import ACK, NOTIFY, TRIGGER, signals
from snapshots.domain.model.recording import Recording
from snapshots.domain.simulators.dataflow_samples import SAMPLES_OF_DATAFLOWS
from snapshots.domain.simulators.flink.simulation import run_dataflow
from snapshots.domain.simulators.protocols.flink_task import MODES
from tests.dataflows import a_run_of, any_simulation, failing, with_failures, word_count
from tests.domain.dataflow_logs.control_rules import Rules, told_at
from tests.effort import examples


def found_in(recording: Recording) -> list[Doing]:
    rules = Rules(recording)
    lasts = {name: Place(own[-1].at, own[-1].step) for name, own in recording.events.items() if own}
    return doings(rules.telling, rules.plan, lasts)


def assert_follows_the_rules(recording: Recording, places: int = 120) -> Counter[str]:
    """Compare at some places, and at all around events of the protocol, as far as they are few."""
    rules, found = Rules(recording), found_in(recording)
    tasks = set(rules.plan.tasks)
    last = len(rules.all)
    steps = sorted({*range(0, last + 1, max(1, last // places)), *_turns(found, places), last})
    for step in steps:
        told = {each for each in told_at(found, recording, step) if each[0] in tasks}
        assert told == rules.at(step), (step, rules.all[max(step - 1, 0)])
    return Counter(each.what for each in found)


def _turns(found: list[Doing], most: int) -> set[int]:
    steps = {
        place.step + more
        for each in found
        for place in (each.since, each.until)
        if place is not None and place.step is not None
        for more in (0, 1)
    }
    return set(Random(1).sample(sorted(steps), min(most, len(steps))))


@pytest.mark.parametrize("sample", SAMPLES_OF_DATAFLOWS, ids=lambda sample: sample.slug)
def test_tasks_of_each_sample_do_what_the_rules_say(sample):
    assert_follows_the_rules(assemble(*sample.log()).recording)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_tasks_of_any_run_do_what_the_rules_say(mode):
    seen: Counter[str] = Counter()
    for seed in range(examples(6)):
        rng = Random(seed)
        simulation = any_simulation(rng, mode)
        end = run_dataflow(simulation).log.events[-1].at
        run = run_dataflow(with_failures(rng, simulation, end))
        seen += assert_follows_the_rules(assemble(*run.log).recording, places=25)
    assert {name for name in DOINGS if seen[name]} >= {DOWN, RUNNING, "finished", "uploading"}


def a_crash() -> Recording:
    run = run_dataflow(failing(a_run_of(word_count(2)), 14_000, "count[0]"))
    return assemble(*run.log).recording


def test_a_task_is_down_from_the_failure_until_it_comes_back_and_runs_when_it_works_again():
    recording = a_crash()
    mine = [each for each in found_in(recording) if each.process == "sink[0]"]
    down = next(each for each in mine if each.what == DOWN)
    assert (down.since.at, down.until.at) == (14_000, 24_000)
    running = [each for each in mine if each.what == RUNNING]
    assert not [r for r in running if r.since.at < down.until.at and r.until.at > down.since.at]
    restoring = next(each for each in mine if each.what == "restoring")
    assert restoring.since == down.until
    works = [e for e in recording.events["sink[0]"] if e.kind == "receive" and e.at > 24_000]
    assert restoring.until == Place(works[0].at, works[0].step)


def test_nothing_is_said_to_run_in_a_log_that_was_made_of_checkpoints():
    recording = a_crash()
    rules = Rules(recording)
    derived = replace(rules.plan, is_derived=True)
    found = doings(rules.telling, derived, {})
    assert not [each for each in found if each.what in (RUNNING, "restoring")]
    assert [each for each in found if each.what == "copying"]


def test_a_coordinator_says_for_whom_it_waits_until_all_have_acknowledged():
    rules = Rules(a_crash())
    said = [each.words for each in Progresses(rules.telling, rules.plan).said]
    assert said[:2] == [
        "checkpoint 1: 0 of 6 acknowledged; waited for: source[0], source[1], count[0], 3 more",
        "checkpoint 1: 1 of 6 acknowledged; waited for: source[1], count[0], count[1], 2 more",
    ]
    assert (
        "checkpoint 1: 4 of 6 acknowledged; given up (failover); missing: sink[0], sink[1]" in said
    )
    assert any(words.endswith("6 of 6 acknowledged; not complete yet") for words in said)
    by_name = Progresses(rules.telling, rules.plan).by_name
    assert {each.fate for each in by_name.values()} == {COMPLETE, GIVEN_UP}


def test_a_log_that_does_not_name_who_has_to_acknowledge_says_so():
    rules = Rules(a_crash())
    for event in rules.telling:
        event.fields.pop("to_ack", None)
    said = Progresses(rules.telling, rules.plan).said
    assert said[1].words == ("checkpoint 1: 1 acknowledged; the log does not name all that have to")


@pytest.mark.parametrize("sample", SAMPLES_OF_DATAFLOWS, ids=lambda sample: sample.slug)
def test_each_acknowledgement_and_each_order_of_the_log_is_a_signal(sample):
    rules = Rules(assemble(*sample.log()).recording)
    found = signals(rules.telling, rules.plan)
    kinds = Counter(event.kind for event in rules.telling)
    counts = Counter(each.kind for each in found)
    assert counts[ACK] == kinds["cp_ack"] + kinds["task_end"]
    orders = [e for e in rules.telling if e.kind in ("cp_trigger", "cp_notify")]
    named = sum(len(e.names("to_trigger") or e.names("tasks") or ()) for e in orders)
    planned = sum(len(e.fields["ranges"]) for e in rules.telling if e.kind == "batch_plan")
    assert counts[TRIGGER] + counts[NOTIFY] == named + planned
    assert all(is_coordinator(each.coordinator) for each in found)
    assert all(each.arrived is None or each.arrived.step > each.sent.step for each in found)
    heard = sum(each.kind == NOTIFY and each.arrived is not None for each in found)
    assert heard == kinds["cp_notified"]

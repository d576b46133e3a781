"""Cuts: their contents, orphans and states, and the nearest consistent one."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.causal_closure import nearest_consistent_cut
from snapshots.domain.judging.cuts import (
    NEVER,
    ChannelLog,
    Cut,
    contents,
    cut_at,
    is_consistent,
    orphans,
    received_index,
    state_at,
)
from snapshots.domain.model.shapes import without_order
from tests.builders import a_run, recorded, runs, simulated
from tests.effort import examples


def ids(messages):
    return [message.id for message in messages]


def two_messages():
    """Return a run in which p sends m1 and m2, and q receives them in this order."""
    return recorded(
        a_run()
        .send("p->q", "m1", 1, state=9)
        .send("p->q", "m2", 2, state=7)
        .receive("p->q", "m1", state=6)
        .receive("p->q", "m2", state=8)
    )


def test_a_channel_holds_what_was_sent_inside_and_not_received_inside():
    recording = two_messages()
    assert ids(contents(recording, Cut({"p": 2, "q": 0}))["p->q"]) == ["m1", "m2"]
    assert ids(contents(recording, Cut({"p": 2, "q": 1}))["p->q"]) == ["m2"]
    assert ids(contents(recording, Cut({"p": 2, "q": 2}))["p->q"]) == []


def test_a_process_that_the_cut_does_not_name_has_nothing_inside():
    assert ids(contents(two_messages(), Cut({"p": 1}))["p->q"]) == ["m1"]


def test_a_message_never_received_is_in_flight():
    recording = recorded(a_run().send("p->q", "m1", 1))
    assert ids(contents(recording, Cut({"p": 1, "q": 9}))["p->q"]) == ["m1"]


def test_every_channel_of_the_topology_has_contents_even_if_nothing_was_ever_sent_on_it():
    assert contents(two_messages(), Cut({"p": 2}))["q->p"] == ()


def test_a_message_received_inside_and_sent_outside_is_an_orphan():
    recording = two_messages()
    cut = Cut({"p": 1, "q": 2})
    assert ids(orphans(recording, cut)) == ["m2"]
    assert not is_consistent(recording, cut)
    assert is_consistent(recording, Cut({"p": 1, "q": 1}))


def test_if_a_message_overtook_another_the_overtaken_one_is_in_flight():
    run = a_run(fifo=False).send("p->q", "m1").send("p->q", "m2")
    recording = recorded(run.receive("p->q", "m2").receive("p->q", "m1"))
    assert ids(contents(recording, Cut({"p": 2, "q": 1}))["p->q"]) == ["m1"]


def test_the_state_at_a_cut_is_the_one_after_the_last_event_inside():
    recording = two_messages()
    assert [state_at(recording, "q", position) for position in (0, 1, 2)] == ["5", "6", "8"]


def test_control_events_leave_the_state_as_it_was_whatever_they_recorded():
    recording = recorded(a_run().internal("p", "works", state=4).record("p", "s1", state=99))
    assert state_at(recording, "p", 2) == "4"


def test_an_application_event_without_a_state_leaves_it_not_known():
    recording = recorded(a_run().internal("p", "works", state=None).internal("p", "rests", state=3))
    assert state_at(recording, "p", 1) is None
    assert state_at(recording, "p", 2) == "3"


def test_a_cut_in_time_takes_every_event_up_to_and_at_the_instant():
    recording = two_messages()
    assert cut_at(recording, at=299).positions == {"p": 2, "q": 0}
    assert cut_at(recording, at=300).positions == {"p": 2, "q": 1}


def test_a_cut_by_step_takes_that_many_events():
    recording = two_messages()
    assert [sum(cut_at(recording, step=k).positions.values()) for k in range(5)] == [0, 1, 2, 3, 4]


def test_a_cut_is_given_by_an_instant_or_by_a_step_and_not_by_both():
    with pytest.raises(ValueError, match="exactly one"):
        cut_at(two_messages(), at=1, step=1)


def test_the_nearest_consistent_cut_steps_back_or_on_whichever_moves_fewer_events():
    chain = a_run().send("p->q", "m1").receive("p->q", "m1").internal("q", "a").internal("q", "b")
    recording = recorded(chain)
    assert nearest_consistent_cut(recording, Cut({"p": 0, "q": 3})).positions == {"p": 1, "q": 3}
    assert nearest_consistent_cut(recording, Cut({"p": 0, "q": 1})).positions == {"p": 0, "q": 0}


def test_a_cut_beyond_the_end_counts_as_the_end():
    assert nearest_consistent_cut(two_messages(), Cut({"p": 70, "q": -3})).positions == {
        "p": 2,
        "q": 0,
    }


def test_moving_one_process_can_make_others_move_too():
    channels = ("p->q", "q->r", "r->p")
    chain = (
        a_run({"p": 0, "q": 0, "r": 0}, channels)
        .send("p->q", "m1")
        .receive("p->q", "m1")
        .send("q->r", "m2")
        .receive("q->r", "m2")
    )
    for n in range(9):
        chain.internal("r", f"works {n}")
    recording = recorded(chain)
    cut = Cut({"p": 0, "q": 0, "r": 10})
    assert nearest_consistent_cut(recording, cut).positions == {"p": 1, "q": 2, "r": 10}


@settings(max_examples=examples(40), deadline=None)
@given(runs(max_processes=8), st.data())
def test_every_cut_in_time_and_by_step_is_consistent(log, data):
    recording = recorded(log)
    end = max((event.at for event in log.events), default=0)
    assert is_consistent(recording, cut_at(recording, at=data.draw(st.integers(-1, end + 1))))
    assert is_consistent(recording, cut_at(recording, step=data.draw(st.integers(0, len(log[1])))))


def drawn_cut(data, recording):
    return Cut(
        {
            process: data.draw(st.integers(0, len(events)))
            for process, events in recording.events.items()
        }
    )


@settings(max_examples=examples(60), deadline=None)
@given(runs(max_processes=5), st.data())
def test_the_nearest_consistent_cut_is_consistent_and_a_consistent_one_stays(log, data):
    recording = recorded(log)
    cut = drawn_cut(data, recording)
    nearest = nearest_consistent_cut(recording, cut)
    assert is_consistent(recording, nearest)
    if is_consistent(recording, cut):
        assert nearest == cut


def test_no_consistent_cut_inside_or_around_is_nearer_than_the_nearest():
    recording = recorded(
        a_run()
        .send("p->q", "m1")
        .receive("p->q", "m1")
        .send("q->p", "m2")
        .receive("q->p", "m2")
        .send("p->q", "m3")
        .receive("p->q", "m3")
    )
    sizes = {process: len(events) for process, events in recording.events.items()}
    cuts = [Cut({"p": p, "q": q}) for p, q in product(range(sizes["p"] + 1), range(sizes["q"] + 1))]

    def moved(one, other):
        steps = [other.position(process) - one.position(process) for process in sizes]
        one_way = all(step >= 0 for step in steps) or all(step <= 0 for step in steps)
        return sum(map(abs, steps)) if one_way else NEVER

    for cut in cuts:
        best = min(moved(cut, other) for other in cuts if is_consistent(recording, other))
        assert moved(cut, nearest_consistent_cut(recording, cut)) == best


@settings(max_examples=examples(60), deadline=None)
@given(runs(max_processes=5), st.data())
def test_a_searched_channel_answers_as_one_that_is_read_through(log, data):
    recording = recorded(log)
    cut = drawn_cut(data, recording)
    for channel in recording.topology.channels:
        searched = ChannelLog(recording.messages[channel.id])
        ends = cut.position(channel.source), cut.position(channel.target)
        assert searched.in_flight(*ends) == contents(recording, cut)[channel.id]
        expected = [m for m in orphans(recording, cut) if m.channel == channel.id]
        assert list(searched.orphans(*ends)) == expected


def test_the_partners_of_a_message_are_those_that_could_have_overtaken_it():
    log = simulated(without_order(simulated().header.topology), events=200)
    for messages in recorded(log).messages.values():
        searched = ChannelLog(messages)
        for message in messages:
            before = messages[: message.ordinal]
            after = messages[message.ordinal + 1 :]
            assert searched.latest_before(message.sent_index) == max(
                before, key=received_index, default=None
            )
            assert searched.earliest_after(message.sent_index) == min(
                after, key=received_index, default=None
            )

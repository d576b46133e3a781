"""What two sources know of a checkpoint is merged, in any order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.archive.causes import cause_of, most, phase_of
from snapshots.domain.archive.merging import NotTheSame, merged
from snapshots.domain.archive.model import (
    STATUSES,
    CheckpointFacts,
    SubtaskFacts,
    VertexFacts,
)
from snapshots.domain.archive.packing import pack, unpack
from tests.effort import examples

numbers = st.none() | st.integers(0, 2**62)
flags = st.none() | st.booleans()
texts = st.text(max_size=4)
subtasks = st.builds(SubtaskFacts, st.integers(0, 3), flags, flags, *[numbers for _ in range(8)])


def by(key: str, items):
    return st.lists(items, max_size=2, unique_by=lambda item: getattr(item, key)).map(
        lambda found: tuple(sorted(found, key=lambda item: getattr(item, key)))
    )


def told(found: CheckpointFacts, is_told: bool) -> CheckpointFacts:
    return replace(found, is_bytes_told=is_told and found.bytes is not None)


vertices = st.builds(VertexFacts, st.sampled_from("abc"), texts, numbers, by("index", subtasks))
in_any_case = st.builds(
    CheckpointFacts,
    st.just(7),
    st.just(0),
    kind=texts,
    status=st.sampled_from(STATUSES),
    triggered_at=st.none() | st.just(1_000),
    ended_at=numbers,
    duration=numbers,
    bytes=numbers,
    uploaded=numbers,
    in_flight=numbers,
    subtasks=numbers,
    acknowledged=numbers,
    failure=texts,
    phase=texts,
    path=texts,
    vertices=by("id", vertices),
)
facts = st.builds(told, in_any_case, st.booleans())


@given(facts, facts, facts)
@settings(max_examples=examples(60))
def test_the_order_of_arrival_does_not_matter(one, two, three):
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))


@given(facts, facts)
@settings(max_examples=examples(60))
def test_a_repeat_changes_nothing(one, two):
    both = merged(one, two)
    assert merged(both, one) == merged(both, two) == merged(both, both) == both


@pytest.mark.parametrize("counted", [10, 99])
def test_a_size_from_the_engine_counts_more_than_one_counted_in_files(counted):
    engine, files = (
        CheckpointFacts(1, bytes=50, is_bytes_told=True),
        CheckpointFacts(1, bytes=counted),
    )
    for both in (merged(engine, files), merged(files, engine)):
        assert (both.bytes, both.is_bytes_told) == (50, True)
    assert merged(files, CheckpointFacts(1)).bytes == counted


def test_the_largest_of_all_is_not_known_where_one_did_not_acknowledge():
    done = SubtaskFacts(0, acknowledged=True, start_delay=3, alignment=1)
    late = SubtaskFacts(1, acknowledged=True, start_delay=900)
    silent = SubtaskFacts(1, acknowledged=False)
    for last, status, found in (
        (late, "failed", 900),
        (silent, "failed", None),
        (silent, "in progress", 3),
    ):
        vertices = (VertexFacts("a", "map", 2, (done, last)),)
        assert most(CheckpointFacts(1, status=status, vertices=vertices), "start_delay") == found


@given(facts, facts)
@settings(max_examples=examples(60))
def test_nothing_known_is_lost(one, two):
    both = merged(one, two)
    for name in CheckpointFacts.__slots__:
        if name != "vertices" and getattr(one, name) not in (None, ""):
            assert getattr(both, name) not in (None, "")
    places = {(v.id, s.index) for each in (one, two) for v in each.vertices for s in v.subtasks}
    assert {(v.id, s.index) for v in both.vertices for s in v.subtasks} == places
    known = {
        (v.id, s.index, name)
        for each in (one, two)
        for v in each.vertices
        for s in v.subtasks
        for name in SubtaskFacts.__slots__
        if getattr(s, name) is not None
    }
    assert known == {
        (v.id, s.index, name)
        for v in both.vertices
        for s in v.subtasks
        for name in SubtaskFacts.__slots__
        if getattr(s, name) is not None
    }


@given(by("id", vertices))
@settings(max_examples=examples(60))
def test_packed_numbers_come_back(own):
    assert unpack(pack(own)) == own


def test_other_triggers_are_other_checkpoints():
    with pytest.raises(NotTheSame):
        merged(CheckpointFacts(1, triggered_at=5), CheckpointFacts(1, triggered_at=6))
    with pytest.raises(NotTheSame):
        merged(CheckpointFacts(1), CheckpointFacts(2))


def test_the_end_of_a_checkpoint_replaces_what_was_seen_under_way():
    begun = CheckpointFacts(3, status="in progress", duration=115, bytes=16_442, acknowledged=9)
    ended = CheckpointFacts(3, status="completed", duration=211, bytes=20_000, acknowledged=10)
    assert merged(ended, begun) == ended


def a_failed(failure="Checkpoint expired before completing.", **fields) -> CheckpointFacts:
    return CheckpointFacts(3, status="failed", failure=failure, **fields)


@pytest.mark.parametrize(
    ("words", "phase"),
    [
        ("Checkpoint expired before completing.", "acknowledgement"),
        ("Asynchronous task checkpoint failed.", "async"),
        ("Checkpoint was declined (tasks not ready)", "trigger"),
        ("Checkpoint was declined.", "sync"),
        ("Failure to finalize checkpoint.", "completion"),
        ("FailoverRegion is restarting.", "failure of the job"),
        ("disk on fire", "not known"),
        ("", "not known"),
    ],
)
def test_flinks_words_give_the_phase(words, phase):
    assert phase_of(a_failed(words)) == phase


def test_a_checkpoint_that_did_not_fail_has_no_phase_and_no_cause():
    completed = CheckpointFacts(3, status="completed", failure="odd")
    assert (phase_of(completed), cause_of(completed)) == ("", "")


def test_equal_causes_are_equal_texts():
    one = a_failed("Could not write part 17 of 5c5d1a5d3165198a761dbfb0694e22f9\n\tat java")
    two = a_failed("Could not write part 9 of 45b0254a46cabbc3efeea5d2e170ea5b\n\tat scala")
    assert cause_of(one) == cause_of(two) == "Could not write part # of #"

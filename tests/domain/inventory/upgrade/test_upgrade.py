"""What Flink does with a savepoint and a new job, rule by rule."""

from dataclasses import replace

import pytest

from snapshots.domain.inventory.model import (
    BROADCAST,
    COMPLETED,
    FAILED,
    LISTED,
    TIMERS,
    ChannelContents,
    CheckpointInventory,
    Fact,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.restore_check import Completeness
from snapshots.domain.inventory.upgrade.answer import (
    LOSES,
    MAYBE_CHAINED,
    MOVED,
    NOT_KNOWN,
    REFUSED,
    RESTORED,
)
from snapshots.domain.inventory.upgrade.new_job import (
    AUTOMATIC,
    DeclaredState,
    NewJob,
    NewOperator,
    NewVertex,
)
from snapshots.domain.inventory.upgrade.upgrade import answer

COUNT = OperatorInventory(
    id="c" * 32,
    name="count",
    uid="count",
    parallelism=2,
    max_parallelism=8,
    bytes=100,
    subtasks=(SubtaskInventory(0, 100, (0, 7), {"keyed state": 100}),),
    states=(
        StateInventory("count", "value", "string → long", entries=3, bytes=60),
        StateInventory("_timer_state/event", TIMERS, "string", entries=0, bytes=0),
    ),
)
MAP = OperatorInventory(id="a" * 32, name="map", uid="map", parallelism=2, max_parallelism=8)
SAVEPOINT = CheckpointInventory(
    job="",
    id=7,
    kind="savepoint",
    status=COMPLETED,
    operators=(COUNT, MAP),
    facts=(Fact("savepoint format", "canonical"),),
)
MAP_AFTER = NewOperator("a" * 32, "map", "map", ())
COUNTED = DeclaredState("count", "value", "Long")


def vertex(
    operator: NewOperator, parallelism: int | None = 2, most: int | None = 8, *others: NewOperator
) -> NewVertex:
    return NewVertex(operator.name or "v", parallelism, most, (operator, *others))


def new_job(*states: DeclaredState, parallelism=2, most=8, uid="count", **fields) -> NewJob:
    count = NewOperator("c" * 32 if uid == "count" else "d" * 32, "count", uid, states)
    fields.setdefault("described_by", "the list of uids")
    return NewJob(
        vertices=(
            vertex(count, parallelism, most),
            vertex(NewOperator("a" * 32, "map", "map", ())),
        ),
        **fields,
    )


def outcomes(found) -> tuple[str, str]:
    return found.without_allow, found.with_allow


def with_count(**changes) -> CheckpointInventory:
    return replace(SAVEPOINT, operators=(replace(COUNT, **changes), MAP))


def test_the_same_job_is_restored():
    found = answer(SAVEPOINT, new_job(COUNTED))
    assert outcomes(found) == (RESTORED, RESTORED)
    assert found.headline.startswith("Yes")
    assert [operator.fate for operator in found.operators] == ["claimed", "claimed"]


def test_an_operator_that_nobody_claims_is_refused_or_dropped():
    found = answer(SAVEPOINT, new_job(COUNTED, uid="counter"))
    assert outcomes(found) == (REFUSED, LOSES)
    assert found.lost_with_allow == ("count.count",)
    (sentence,) = found.left_over
    assert "with the uid count it would claim the state" in sentence
    assert "100 bytes" in sentence


def test_an_operator_without_state_may_go():
    without = NewJob("the list of uids", new_job(COUNTED).vertices[:1])
    assert outcomes(answer(SAVEPOINT, without)) == (RESTORED, RESTORED)


def test_a_coordinator_alone_is_state():
    source = replace(MAP, subtasks=(SubtaskInventory(-1, 0, parts={"coordinator": 0}),))
    held = replace(SAVEPOINT, operators=(COUNT, source))
    without = NewJob("the list of uids", new_job(COUNTED).vertices[:1])
    assert outcomes(answer(held, without)) == (REFUSED, RESTORED)


def test_a_state_that_is_no_longer_registered_is_lost_without_a_word():
    found = answer(SAVEPOINT, new_job(DeclaredState("counter", "value", "Long")))
    assert outcomes(found) == (LOSES, LOSES)
    assert found.lost_without_allow == found.lost_with_allow == ("count.count",)
    assert "3 entries" in found.losses[0]
    assert any("count.counter" in note for note in found.notes)


def test_an_empty_state_is_no_loss():
    empty = replace(COUNT.states[0], entries=0)
    assert outcomes(answer(with_count(states=(empty,)), new_job())) == (RESTORED, RESTORED)
    unread = replace(empty, complete=False)
    assert outcomes(answer(with_count(states=(unread,)), new_job())) == (LOSES, LOSES)


@pytest.mark.parametrize(
    ("declared", "outcome"),
    [
        (DeclaredState("count", "value", "String"), REFUSED),
        (DeclaredState("count", "list", "Long"), REFUSED),
        (DeclaredState("count", LISTED, "Long"), REFUSED),
        (DeclaredState("count", "value", "Long", key="String"), RESTORED),
        (DeclaredState("count", "value", "Long", key="Long"), REFUSED),
        (DeclaredState("count", "value", "Money"), NOT_KNOWN),
        (DeclaredState("count", "value", "lo<ng"), NOT_KNOWN),
        (DeclaredState("count", "value", "Long -> Long"), NOT_KNOWN),
        (DeclaredState("count", "value"), NOT_KNOWN),
        (DeclaredState("count", None, "Long"), RESTORED),
    ],
)
def test_a_state_has_to_fit(declared, outcome):
    assert outcomes(answer(SAVEPOINT, new_job(declared))) == (outcome, outcome)


def test_a_key_cannot_be_migrated():
    pojo = replace(COUNT.states[0], type="pojo a.K → long", type_in_full="a.K{id: long} → long")
    declared = DeclaredState("count", "value", "Long", key="K{id: long, more: int}")
    found = answer(with_count(states=(pojo,)), new_job(declared))
    assert outcomes(found) == (REFUSED, REFUSED)
    assert "keys cannot be migrated" in found.refusals[0]


def test_a_field_that_is_added_is_said():
    pojo = replace(COUNT.states[0], type="string → pojo a.V", type_in_full="string → a.V{id: long}")
    declared = DeclaredState("count", "value", "V{id: long, more: int}")
    found = answer(with_count(states=(pojo,)), new_job(declared))
    assert outcomes(found) == (RESTORED, RESTORED)
    assert any("the field more is new" in note.lower() for note in found.notes)


def test_timers_that_are_left_are_not_known():
    timers = replace(COUNT.states[1], entries=2)
    found = answer(with_count(states=(COUNT.states[0], timers)), new_job(COUNTED))
    assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
    assert "2 timers" in found.unknown[0]


def test_broadcast_state_has_a_key_of_its_own():
    rules = StateInventory("rules", BROADCAST, "string → long", entries=1)
    declared = DeclaredState("rules", BROADCAST, "String -> Long")
    assert outcomes(answer(with_count(states=(rules,)), new_job(declared))) == (RESTORED, RESTORED)
    other = DeclaredState("rules", BROADCAST, "Long -> Long")
    found = answer(with_count(states=(rules,)), new_job(other))
    assert outcomes(found) == (REFUSED, REFUSED)


# --- parallelism ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parallelism", "most", "outcome"),
    [
        (8, 8, RESTORED),
        (9, 8, REFUSED),  # above its own
        (9, AUTOMATIC, REFUSED),  # above the savepoint's
        (8, AUTOMATIC, RESTORED),
        (2, 16, REFUSED),
        (2, 4, REFUSED),
        (9, None, REFUSED),
        (2, None, NOT_KNOWN),
        (None, 8, NOT_KNOWN),
        (None, None, NOT_KNOWN),
    ],
)
def test_parallelisms(parallelism, most, outcome):
    found = answer(SAVEPOINT, new_job(COUNTED, parallelism=parallelism, most=most))
    assert outcomes(found) == (outcome, outcome)


def test_one_sentence_stands_for_all_operators_with_another_maximum():
    vertices = tuple(replace(item, max_parallelism=16) for item in new_job(COUNTED).vertices)
    found = answer(SAVEPOINT, NewJob("the list of uids", vertices))
    (sentence,) = found.refusals
    assert "16" in sentence
    assert "count, map" in sentence


def test_a_maximum_that_is_not_told_is_said():
    found = answer(SAVEPOINT, new_job(COUNTED, most=None))
    assert any("maximum parallelism" in item for item in found.unknown)


# --- the whole ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "backend", "outcome"),
    [
        ("heap", "hashmap", RESTORED),
        ("heap", "rocksdb", REFUSED),
        ("tables", "hashmap", REFUSED),
        ("tables", "rocksdb", RESTORED),
        ("full", "hashmap", REFUSED),
        ("heap", None, NOT_KNOWN),
    ],
)
def test_only_its_own_backend_reads_a_native_format(layout, backend, outcome):
    held = replace(with_count(facts=(Fact("layout of keyed state", layout),)), facts=())
    found = answer(held, new_job(COUNTED, backend=backend))
    assert outcomes(found) == (outcome, outcome)
    if backend is None:
        assert any("another backend cannot read it" in item for item in found.unknown)
    assert outcomes(answer(replace(held, facts=SAVEPOINT.facts), new_job(COUNTED))) == (
        RESTORED,
        RESTORED,
    )


def test_a_job_that_cannot_be_built_is_refused():
    found = answer(SAVEPOINT, NewJob("the plan", (), failure="No operators defined."))
    assert found.without_allow == found.with_allow == REFUSED
    assert "No operators defined." in found.refusals[0]


def test_a_failed_checkpoint_is_refused():
    assert answer(replace(SAVEPOINT, status=FAILED), new_job(COUNTED)).with_allow == REFUSED


def test_metadata_that_cannot_be_read_tell_nothing():
    held = replace(SAVEPOINT, problem="Its _metadata cannot be read: cut off", operators=())
    assert answer(held, new_job(COUNTED)).without_allow == NOT_KNOWN


def test_missing_files_and_data_in_flight_are_said():
    held = replace(
        SAVEPOINT,
        missing=(MissingFile("x", 3, "not in the upload"),),
        channels=(ChannelContents("c", "a[0]", "b[0]", "whole", 0, 1, 4_000),),
    )
    found = answer(held, new_job(COUNTED))
    assert "1 file that the metadata name is not whole in the upload (x)" in found.unknown[0]
    assert "4,000 bytes are in flight" in " ".join(found.notes)


def test_a_missing_file_makes_a_yes_not_known_and_leaves_a_no():
    held = replace(SAVEPOINT, missing=(MissingFile("x", 3, "not in the upload"),))
    assert outcomes(answer(SAVEPOINT, new_job(COUNTED))) == (RESTORED, RESTORED)
    assert outcomes(answer(held, new_job(COUNTED))) == (NOT_KNOWN, NOT_KNOWN)
    assert outcomes(answer(held, new_job(COUNTED, uid="counter"))) == (REFUSED, NOT_KNOWN)


def test_a_damaged_file_makes_a_yes_not_known():
    broken = Completeness("not-restorable", ("x: It is too short.",))
    found = answer(SAVEPOINT, new_job(COUNTED), broken)
    assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
    assert "x: It is too short." in found.unknown[0]
    whole = answer(SAVEPOINT, new_job(COUNTED), Completeness("restorable"))
    assert outcomes(whole) == (RESTORED, RESTORED)


@pytest.mark.parametrize(
    ("services", "outcome"),
    [(("user-timers",), RESTORED), ((), LOSES), (("window-timers",), LOSES)],
)
def test_timers_come_back_in_the_service_of_their_name(services, outcome):
    timers = replace(COUNT.states[1], name="_timer_state/event_user-timers", entries=2)
    job = new_job(COUNTED)
    (count,) = job.vertices[0].operators
    declared = replace(job.vertices[0], operators=(replace(count, timers=services),))
    found = answer(
        with_count(states=(COUNT.states[0], timers)),
        replace(job, vertices=(declared, job.vertices[1])),
    )
    assert outcomes(found) == (outcome, outcome)
    assert any("2 timers never fire" in loss for loss in found.losses) == (outcome == LOSES)


@pytest.mark.parametrize("name", ["python-state-count", "count"])
def test_bytes_of_python_are_not_known(name):
    bytes_ = StateInventory("python-state-count", "list", "row<string> → bytes", entries=3)
    found = answer(with_count(states=(bytes_,)), new_job(DeclaredState(name, "list", "bytes")))
    assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
    assert "their type in Python" in found.unknown[0]
    assert not found.notes
    renamed = answer(with_count(states=(bytes_,)), new_job(DeclaredState("n", "list", "bytes")))
    assert outcomes(renamed) == (LOSES, LOSES)


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        ("GroupAggregate[3]", "GroupAggregate[9]", False),
        ("[3]:Calc(select=[k])", "[9]:Calc(select=[k])", False),
        ("sink[4]: Writer", "sink[5]: Writer", False),
        ("Calc[3]", "GroupAggregate[3]", True),
        ("[3]:Calc(select=[k])", "[3]:Calc(select=[k, v])", True),
    ],
)
def test_the_numbers_of_the_planner_are_no_names(before, after, moves):
    job = new_job(COUNTED)
    (count,) = job.vertices[0].operators
    renamed = replace(job.vertices[0], operators=(replace(count, name=after, uid=None),))
    found = answer(with_count(name=before, uid=None), replace(job, vertices=(renamed,)))
    assert (found.operators[0].fate == MOVED) == moves


def test_two_operators_with_one_id_get_the_state_by_chance():
    job = new_job(COUNTED)
    (count,) = job.vertices[0].operators
    twin = vertex(replace(count, name="twin", uid=None, states=()))
    for vertices in ((*job.vertices, twin), (twin, *job.vertices)):
        found = answer(SAVEPOINT, replace(job, vertices=vertices))
        assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
        assert any("have the same id" in each for each in found.unknown)
    other = vertex(replace(MAP_AFTER, name="twin"))
    found = answer(SAVEPOINT, replace(job, vertices=(*job.vertices, other)))
    assert outcomes(found) == (RESTORED, RESTORED)


def test_somebody_says_that_there_are_no_uids():
    map_ = NewOperator("a" * 32, "map")
    plan = NewJob("the plan", (vertex(map_, 2, None, NewOperator(None, "count")),))
    (said,) = (each for each in answer(SAVEPOINT, plan).unknown if "say so" in each)
    assert said.endswith("whether it has: count.")
    told = answer(SAVEPOINT, replace(plan, without_uids=True))
    assert not any("say so" in each for each in told.unknown)
    assert any("cannot be computed" in each for each in told.unknown)
    assert any("It was said that" in each for each in told.notes)
    none = NewJob("the execution plan", (vertex(NewOperator(None, "count")),))
    assert any("tells no ids" in each for each in answer(SAVEPOINT, none).unknown)


def test_a_plan_hides_what_is_chained():
    map_ = NewOperator("a" * 32, "map")
    plan = NewJob("the plan", (vertex(map_, 2, None, NewOperator(None, "count")),))
    found = answer(SAVEPOINT, plan)
    assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
    assert found.operators[0].fate == MAYBE_CHAINED
    assert any("tells the id of the first operator of each vertex" in s for s in found.unknown)
    assert "one has the same name" in found.operators[0].sentences[0]


def test_a_plan_does_not_list_states():
    count = NewOperator("c" * 32, "count")
    found = answer(SAVEPOINT, NewJob("the plan", (vertex(count), vertex(NewOperator("a" * 32)))))
    assert outcomes(found) == (NOT_KNOWN, NOT_KNOWN)
    (sentence,) = found.unknown
    assert sentence.startswith("The plan does not list the states")


def test_an_id_that_moved_to_another_operator_is_said():
    old = replace(SAVEPOINT, operators=(replace(COUNT, uid=None),))
    other = NewOperator("c" * 32, "enrich", None, (COUNTED,))
    found = answer(old, NewJob("the list of uids", (vertex(other),)))
    assert found.operators[0].fate == MOVED
    assert any("enrich where count was" in note for note in found.notes)

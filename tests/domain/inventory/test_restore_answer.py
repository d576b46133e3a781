"""A restore is answered with yes, no or not known, each with its reason."""

from dataclasses import replace

import pytest

from snapshots.domain.inventory.batches import PlannedSource
from snapshots.domain.inventory.model import (
    INPUT_HALF,
    LISTED,
    WHOLE,
    ChannelContents,
    CheckpointInventory,
    Fact,
    MissingFile,
    OperatorInventory,
    StateInventory,
    SubtaskInventory,
)
from snapshots.domain.inventory.operator_plan import StoredKey, StoredSizes
from snapshots.domain.inventory.restore_answer import NO, NOT_KNOWN, YES
from snapshots.domain.inventory.restore_plan import FLINK, SEATUNNEL, SPARK, Asked, plan_restore
from snapshots.domain.model.topology import JsonText


def an_operator(name="count", parallelism=2, groups=8, **fields):
    subtasks = tuple(
        SubtaskInventory(index, 10, (4 * index, 4 * index + 3), {"keyed state": 10})
        for index in range(parallelism)
    )
    given = {"subtasks": subtasks, "states": (StateInventory("s", "value", entries=3),)}
    return OperatorInventory(name, name, parallelism, groups, **(given | fields))


def a_checkpoint(*operators, version=6, **fields):
    given = {"path": "chk-7", "facts": (Fact("version of _metadata", version),)}
    return CheckpointInventory(
        "job", 7, "checkpoint", "completed", operators=operators, **(given | fields)
    )


def answered(checkpoint, parallelism, *, engine=FLINK, **asked):
    return plan_restore(engine, checkpoint, Asked(parallelism, **asked))


def a_channel(exchange, part=WHOLE, target="sink[0]", size=50):
    source = "count[0]" if part == WHOLE else None
    return ChannelContents("c", source, target, part, 0, 1, size, exchange=exchange)


def test_yes_says_what_the_maximum_is_and_what_is_in_flight():
    held = a_checkpoint(an_operator(), why_empty="It is aligned.")
    result = answered(held, 4)
    assert (result.answer, result.headline) == (
        YES,
        "Yes: Flink restores checkpoint 7 with 4 subtasks.",
    )
    assert result.reasons == (
        "The smallest maximum parallelism of its operators is 8, and 4 subtasks are not more.",
        "Nothing is in flight. It is aligned.",
    )
    silent = answered(replace(held, why_empty=None), 4)
    assert len(silent.reasons) == 1  # nothing tells what is in flight, so nothing is said


def test_more_subtasks_than_key_groups_are_refused_once_for_all_operators():
    held = a_checkpoint(an_operator("a"), an_operator("b"), an_operator("c", groups=16))
    result = answered(held, 9)
    assert result.answer == NO
    assert result.headline.startswith(
        "No: a and b have a maximum parallelism of 8, which the checkpoint fixes."
    )
    assert result.reasons == ()
    assert answered(held, 9, kept=frozenset({"a", "b"})).answer == YES
    assert answered(held, 8).answer == YES


def test_operators_without_state_may_get_another_maximum():
    """Flink chooses it where the job does not, and the checkpoint does not say who did."""
    empty = an_operator("map", subtasks=(SubtaskInventory(0), SubtaskInventory(1)), states=())
    result = answered(a_checkpoint(empty), 9)
    assert result.answer == NOT_KNOWN
    assert "map holds no state, but ran with a smaller maximum" in result.headline
    assert answered(a_checkpoint(empty, an_operator()), 9).answer == NO


@pytest.mark.parametrize("exchange", ["FORWARD", "RESCALE", "BROADCAST"])
def test_exchanges_that_refuse_data_in_flight_are_named_with_its_bytes(exchange):
    sink = an_operator("sink")
    held = a_checkpoint(an_operator(), sink, channels=(a_channel(exchange),))
    result = answered(held, 4)
    assert result.answer == NO
    assert result.headline.startswith(
        f"No: 50 bytes are in flight from count to sink ({exchange})."
    )
    assert answered(held, 2).answer == YES


def test_data_in_flight_of_an_unknown_exchange_depends_on_the_version():
    half = a_channel(None, part=INPUT_HALF)
    old = answered(a_checkpoint(an_operator("sink"), channels=(half,), version=3), 4)
    assert old.answer == NOT_KNOWN
    assert old.headline.startswith("Not known: 50 bytes in flight would have to be divided.")
    held = a_checkpoint(an_operator("sink"), channels=(half,), version=3)
    assert answered(held, 2).answer == YES
    new = answered(a_checkpoint(an_operator("sink"), channels=(half,), version=4), 4)
    assert new.answer == YES
    assert "50 bytes in flight are on exchanges that Flink can divide." in new.reasons


def test_what_the_upload_lacks_leaves_it_open():
    missing = (MissingFile("shared/a", 5, "It is not here."),)
    result = answered(a_checkpoint(an_operator(), missing=missing), 2)
    assert result.answer == NOT_KNOWN
    assert "1 file that it needs is not in the upload (shared/a)." in result.headline
    damaged = an_operator(states=(StateInventory("s", "value", complete=False),))
    result = answered(a_checkpoint(damaged), 2)
    assert "The files of count.s are missing or damaged" in result.unknown[0]
    rest_only = a_checkpoint(an_operator(), path=None, problem="Its files are not here.")
    assert answered(rest_only, 2).headline.startswith("Not known: its files are not in the upload")
    nothing = answered(a_checkpoint(), 2)
    assert nothing.headline == (
        "Not known: the upload does not say which operators this checkpoint has."
    )
    silent = answered(a_checkpoint(an_operator(groups=None)), 2)
    assert silent.unknown == ("The maximum parallelism of count is not known.",)


@pytest.mark.parametrize("status", ["failed", "in progress"])
def test_only_a_completed_checkpoint_is_restored(status):
    held = replace(a_checkpoint(an_operator()), status=status)
    for engine in (FLINK, SEATUNNEL):
        result = answered(held, 2, engine=engine)
        assert (result.answer, result.headline) == (
            NO,
            f"No: the checkpoint 7 is {status}: only a completed one can be restored.",
        )
    unsure = replace(held, status="unknown")
    assert answered(unsure, 2).unknown == ("Whether it was completed is not known.",)


def test_a_discarded_checkpoint_is_gone():
    facts = (Fact("discarded", "yes"),)
    gone = a_checkpoint(an_operator(), facts=facts, path=None)
    assert answered(gone, 2).headline == "No: Flink has discarded it, so its files are gone."
    copied = replace(gone, path="chk-7")  # before Flink discarded it
    assert answered(copied, 2).answer == YES


def test_without_an_operator_its_state_is_thrown_away():
    subtasks = (
        SubtaskInventory(0, 90, (0, 7), {"keyed state": 60, "in flight, at the input": 30}),
    )
    states = (
        StateInventory("a", "value", entries=2),
        StateInventory("b", "map", entries=0),
        StateInventory("coordinator", "coordinator", entries=1),
    )
    gone = an_operator("gone", bytes=90, subtasks=subtasks, states=states)
    held = a_checkpoint(an_operator(), gone)
    result = answered(held, 4, without=frozenset({"gone"}))
    assert result.headline == (
        "Yes, with allowNonRestoredState: Flink restores checkpoint 7 with 4 subtasks, and throws "
        "away the state of gone."
    )
    [thrown] = result.thrown_away
    assert (thrown.states, thrown.entries, thrown.bytes) == (("a",), 2, 60)
    assert thrown.sentence == (
        "The state of gone of 60 bytes is thrown away: a, 2 entries. With it go 30 bytes that "
        "were in flight."
    )
    assert [item.name for item in result.operators] == ["count"]
    flown = replace(held, channels=(a_channel("HASH", target="gone[0]"),))
    assert answered(flown, 4, without=frozenset({"gone"})).answer == NOT_KNOWN
    other = answered(held, 4, engine=SEATUNNEL, without=frozenset({"gone"}))
    assert other.headline.startswith("Yes: SeaTunnel restores")


def test_without_an_operator_that_is_too_narrow_the_rest_fits():
    held = a_checkpoint(an_operator("small", groups=2), an_operator())
    assert answered(held, 4).answer == NO
    assert answered(held, 4, without=frozenset({"small"})).answer == YES


def test_uneven_state_and_idle_subtasks_are_pointed_out():
    groups = {0: 970, 1: 10, 4: 10, 7: 10}
    key = StoredKey(JsonText('"hot"'), 0, 960, 4)
    lists = {"SourceReaderState": [(0, 9)]}
    source = an_operator(
        "Source: s",
        subtasks=(SubtaskInventory(0, 9, None, {"operator state": 9}),),
        states=(StateInventory("SourceReaderState", LISTED, entries=1),),
    )
    sizes = {
        "count": StoredSizes(groups, keys=(key,)),
        "Source: s": StoredSizes(elements=lists),
    }
    result = answered(a_checkpoint(an_operator(), source), 4, sizes=sizes)
    assert result.cautions == (
        "The largest subtask of count gets 3.92 times the mean (before: 1.96). Its heaviest key "
        "group, 0, holds 97% of its keyed state and goes to subtask 0.",
        "Source: s has 1 element in the list SourceReaderState for 4 subtasks: 3 of them get none.",
    )
    [count, _] = result.operators
    assert [(item.group, item.subtask) for item in count.heaviest_groups] == [
        (0, 0),
        (1, 0),
        (4, 2),
        (7, 3),
    ]
    assert [(item.key, item.subtask, item.bytes) for item in count.heaviest_keys] == [
        ('"hot"', 0, 960)
    ]


# --- Spark ---------------------------------------------------------------------------------------


def a_batch(number=5, status="completed", *operators, setting="2", **fields):
    settings = {} if setting is None else {"spark.sql.shuffle.partitions": setting}
    ranges = (PlannedSource("0", "files", '{"logOffset":3}', '{"logOffset":4}', True, rows=7),)
    given = {"path": f"offsets/{number}", "settings": settings, "ranges": ranges}
    return CheckpointInventory(
        "query", number, "batch", status, operators=operators, **(given | fields)
    )


def stateful(partitions=2, **fields):
    subtasks = tuple(SubtaskInventory(index, 10) for index in range(partitions))
    given = {"subtasks": subtasks}
    return OperatorInventory("0", "stateStoreSave", partitions, **(given | fields))


def test_spark_goes_on_with_the_partitions_of_its_offset_log_alone():
    batch = a_batch(5, "completed", stateful())
    result = answered(batch, 2, engine=SPARK)
    assert result.headline == (
        "Yes: Spark goes on after batch 5 with the 2 partitions that its state has."
    )
    assert "offsets/5 says spark.sql.shuffle.partitions = 2" in result.reasons[0]
    other = answered(batch, 4, engine=SPARK)
    assert other.answer == NO
    assert "the query is tied to 2 partitions (offsets/5 says" in other.headline
    assert "ignores 4 in the session" in other.headline
    [operator] = other.operators
    assert operator.problem == "Its state is in 2 partitions, and cannot be loaded into 4."
    assert operator.after == ()


def test_without_the_setting_the_partitions_of_the_state_are_the_evidence():
    silent = a_batch(5, "completed", stateful(3), setting=None)
    assert answered(silent, 3, engine=SPARK).answer == YES
    assert "its state has as many partitions" in answered(silent, 4, engine=SPARK).headline
    nameless = OperatorInventory("0", "dedupe", None, subtasks=(SubtaskInventory(0, 1),))
    unknown = a_batch(5, "completed", nameless, setting=None)
    assert answered(unknown, 2, engine=SPARK).answer == NOT_KNOWN


def test_a_query_without_state_is_not_tied_to_a_number():
    result = answered(a_batch(), 9, engine=SPARK)
    assert (result.answer, result.operators) == (YES, ())
    assert "keeps no state" in result.headline
    assert "go on with 2 partitions" in result.notes[0]


def test_a_batch_in_flight_begins_with_the_state_of_the_one_before():
    batch = a_batch(5, "in progress", stateful(2, subtasks=()))
    before = a_batch(4, "completed", stateful())
    result = answered(batch, 2, engine=SPARK, before=before)
    assert result.headline.startswith("Yes: Spark runs batch 5 again with the 2 partitions")
    [split] = result.read_again[0].splits
    assert split.sentence == (
        'Source 0 reads again what lies after {"logOffset":3}, up to {"logOffset":4}.'
    )
    missing = (MissingFile("state/0/1/4.delta", None, "Gone."),)
    lacking = answered(batch, 2, engine=SPARK, before=replace(before, missing=missing))
    assert lacking.answer == NOT_KNOWN
    assert answered(batch, 2, engine=SPARK).answer == NOT_KNOWN


def test_state_that_the_upload_lacks_leaves_spark_open():
    result = answered(a_batch(5, "completed", stateful(2, subtasks=())), 2, engine=SPARK)
    assert result.unknown == ("The upload does not hold the files of the state.",)
    epoch = replace(a_batch(), kind="epoch")
    assert "continuous processing" in answered(epoch, 2, engine=SPARK).headline


def test_spark_cannot_do_without_a_stateful_operator():
    batch = a_batch(5, "completed", stateful())
    result = answered(batch, 2, engine=SPARK, without=frozenset({"0"}))
    assert result.answer == NO
    assert "a query without stateStoreSave cannot go on from it" in result.headline

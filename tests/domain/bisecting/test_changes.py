"""What differs between the global states that two snapshots recorded."""

from snapshots.domain.bisecting.changes import MOST_VALUES, changes, is_named, named_first
from snapshots.domain.properties.global_state import GlobalState


def state(processes, channels=None) -> GlobalState:
    return GlobalState("s", processes, channels or {}, {})


def words(before: GlobalState, after: GlobalState) -> dict[str, str]:
    return {item.name: item.change for item in changes(before, after)}


def test_only_what_differs_or_is_not_known_is_listed():
    before = state({"A": 1, "B": 2, "C": None, "D": 4, "E": None})
    after = state({"A": 1, "B": 3, "C": 2, "D": None, "E": None})
    assert words(before, after) == {
        "B": "changed",
        "C": "unknown",
        "D": "unknown",
        "E": "unknown",
    }


def test_values_are_compared_as_json():
    before = state({"A": True, "B": {"x": 0}, "C": 5}, {"A->B": (1,)})
    after = state({"A": 1, "B": {"x": False}, "C": 5.0}, {"A->B": (True,)})
    assert words(before, after) == {"A": "changed", "B": "changed", "A->B": "changed"}


def test_messages_without_values_are_compared_by_their_ids():
    before, after = (state({}, {"A->B": (None,)}) for _ in range(2))
    same, other = {"A->B": ("m1",)}, {"A->B": ("m2",)}
    assert not changes(before, after, (same, same))
    (change,) = changes(before, after, (same, other))
    assert (change.name, change.change) == ("A->B", "changed")


def test_what_one_snapshot_has_outside_of_its_scope_was_added_or_removed():
    assert words(state({"A": 1, "B": 1}), state({"A": 1, "C": 1})) == {
        "B": "removed",
        "C": "added",
    }


def test_a_long_channel_is_counted_and_shown_in_part():
    before, after = state({}, {"A->B": ()}), state({}, {"A->B": tuple(range(100))})
    (change,) = changes(before, after)
    assert change.counts == (0, 100)
    assert (change.before, change.after) == ([], list(range(MOST_VALUES)))
    (unknown,) = changes(before, state({}, {"A->B": None}))
    assert (unknown.change, unknown.after, unknown.counts) == ("unknown", None, (0, None))


def test_what_the_condition_names_comes_first():
    listed = changes(state({"A": 1, "B": 1}), state({"A": 2, "B": 2}))
    assert [item.name for item in named_first(listed, {"processes": {"B"}})] == ["B", "A"]
    assert [item.name for item in named_first(listed, {"channels": {"B"}})] == ["A", "B"]
    assert not any(is_named(item, {}) for item in listed)


def test_another_order_is_a_change_only_where_the_channel_keeps_the_order():
    before, after = state({}, {"A->B": (1, 2)}), state({}, {"A->B": (2, 1)})
    ids = {"A->B": ("m1", "m2")}, {"A->B": ("m2", "m1")}
    assert not changes(before, after, ids, unordered={"A->B"})
    assert len(changes(before, after, ids)) == 1
    others = state({}, {"A->B": (2, 2)})
    assert len(changes(before, others, unordered={"A->B"})) == 1

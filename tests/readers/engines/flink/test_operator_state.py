"""Operator state: elements by their offsets, decoded if the stream describes their types."""

import json

import pytest

from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink import handles as h
from snapshots.readers.engines.flink.files import Missing
from snapshots.readers.engines.flink.operator_state import (
    OperatorStateInventory,
    read_operator_state,
)
from snapshots.readers.engines.flink.types.composites import as_object
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink.cases import LEGACY, load
from tests.readers.engines.flink.writing import i32, i64, many, utf
from tests.readers.mutated import mutated

_FLINK = "org.apache.flink.api.common.typeutils.base."
LONG = i32(2) + utf(_FLINK + "LongSerializer$LongSerializerSnapshot") + i32(3)
UNKNOWN = i32(2) + utf("com.example.Unknown") + i32(1)


def _meta(name: str, kind: int, **serializers: bytes) -> bytes:
    return utf(name) + i32(kind) + i32(0) + many([utf(k) + v for k, v in serializers.items()])


def _frame(*lists: bytes, broadcast: tuple[bytes, ...] = (), version: int = 6) -> bytes:
    flag = b"\x00" if version >= 6 else b""
    count = len(lists).to_bytes(2, "big"), len(broadcast).to_bytes(2, "big")
    return i32(version) + flag + count[0] + b"".join(lists) + count[1] + b"".join(broadcast)


def _state(*offsets: int, name: str = "s", mode: str = "SPLIT_DISTRIBUTE"):
    return h.OperatorStateOffsets(name, mode, offsets)


def _read(data: bytes, *states: h.OperatorStateOffsets, raw=False) -> OperatorStateInventory:
    return read_operator_state(h.OperatorState(states, h.Inline("", data)), data, raw=raw)


FRAME = _frame(_meta("s", 1, VALUE_SERIALIZER=LONG))


@pytest.mark.parametrize("version", [5, 6])
def test_elements_lie_where_the_handle_says_in_any_order(version):
    frame = _frame(_meta("s", 1, VALUE_SERIALIZER=LONG), version=version)
    at = len(frame)
    inventory = _read(frame + i64(7, 8, 9), _state(at + 16, at, at + 8))
    (state,) = inventory.states
    assert [element.value for element in state.elements] == [9, 7, 8]
    assert [element.size for element in state.elements] == [8, 8, 8]
    assert state.types == {"VALUE_SERIALIZER": "long"}
    assert (inventory.problem, inventory.unread, inventory.compressed) == (None, (), False)


def test_a_broadcast_state_is_one_map():
    meta = _meta("b", 2, KEY_SERIALIZER=LONG, VALUE_SERIALIZER=LONG)
    frame = _frame(broadcast=(meta,))
    data = frame + i32(2) + i64(1, 10, 2, 20)
    (state,) = _read(data, _state(len(frame), name="b", mode="BROADCAST")).states
    assert [element.value for element in state.elements] == [{"1": 10, "2": 20}]


def test_an_unknown_serializer_leaves_names_sizes_and_bytes():
    frame = _frame(_meta("s", 1, VALUE_SERIALIZER=UNKNOWN))
    inventory = _read(frame + b"abcde", _state(len(frame), len(frame) + 2))
    (state,) = inventory.states
    assert [bytes(element.raw) for element in state.elements] == [b"ab", b"cde"]
    assert all(isinstance(element.value, Opaque) for element in state.elements)
    assert "com.example.Unknown is unknown" in state.elements[0].value.reason
    assert inventory.unread == ()
    assert inventory.problem is None


@pytest.mark.parametrize(
    ("data", "offsets", "reason"),
    [
        (FRAME + i64(1) + b"x", (0,), "1 bytes follow the value"),
        (FRAME + b"\x00" * 7, (0,), "8 bytes is expected and 7 are left"),
        (FRAME + i64(1), (2**62,), "8 bytes is expected and 0 are left"),
        (FRAME + i64(1), (-3,), "begins before the first one"),
    ],
)
def test_an_element_that_does_not_decode_exactly_is_kept_as_bytes(data, offsets, reason):
    inventory = _read(data, _state(*(len(FRAME) + offset for offset in offsets)))
    (element,) = inventory.states[0].elements
    assert reason in element.value.reason


def test_no_byte_is_decoded_twice():
    at = len(FRAME)
    inventory = _read(FRAME + i64(5), _state(*[at] * 1_000), _state(at, name="t"))
    sizes = [element.size for state in inventory.states for element in state.elements]
    assert (sum(sizes), max(sizes)) == (8, 8)


def test_bytes_before_the_first_element_are_reported():
    inventory = _read(FRAME + b"??" + i64(5), _state(len(FRAME) + 2))
    assert [(opaque.size, opaque.offset) for opaque in inventory.unread] == [(2, len(FRAME))]
    assert inventory.states[0].elements[0].value == 5


@pytest.mark.parametrize("version", [2, 4, 7])
def test_other_versions_give_names_and_sizes(version):
    inventory = _read(i32(version) + bytes(10), _state(8))
    assert (inventory.states[0].name, inventory.states[0].elements[0].size) == ("s", 6)
    assert f"version {version} cannot be read" in inventory.problem


def test_a_missing_file_leaves_numbers_and_sizes():
    state = h.OperatorState((_state(4, 8), _state(6, name="t")), h.File("/f", 9))
    inventory = read_operator_state(state, Missing("/f", 9, "It is not here."))
    assert inventory.problem == "/f: It is not here."
    sizes = [
        [(element.offset, element.size) for element in state_elements.elements]
        for state_elements in inventory.states
    ]
    assert sizes == [[(4, 2), (8, 1)], [(6, 2)]]
    element = inventory.states[0].elements[0]
    assert (element.value, bytes(element.raw)) == (Opaque(2, b"", inventory.problem), b"")


@pytest.mark.parametrize("offsets", [(-5, 3), (2**62, 3), (-(2**63), 2**62)])
def test_offsets_outside_of_a_missing_file_hold_no_more_than_it(offsets):
    state = h.OperatorState((_state(*offsets),), h.File("/f", 9))
    inventory = read_operator_state(state, Missing("/f", 9, "It is not here."))
    assert sum(element.size for element in inventory.states[0].elements) <= 9
    assert all(element.size >= 0 for element in inventory.states[0].elements)


def test_private_states_have_no_values():
    inventory = _read(b"12345678", _state(4), raw=True)
    assert "private" in inventory.states[0].elements[0].value.reason
    assert inventory.states[0].elements[0].size == 4
    assert read_operator_state(h.OperatorState((), h.EmptySegment()), b"").states == ()


@pytest.mark.parametrize("name", LEGACY)
def test_old_operator_state_agrees_with_the_research_reader(shared_data, name):
    case = load(shared_data, name)
    ((_, stored),) = case.snapshots()
    inventories = {
        (subtask_state.operator.id, subtask_state.subtask.index): subtask_state.contents
        for subtask_state in checkpoint_state.operator_states(case.upload, stored)
        if not subtask_state.raw
    }
    compared = 0
    for operator in case.expected["reader"]["operators"]:
        for subtask in operator["subtasks"]:
            if "managedOperator" not in subtask:
                continue
            ours = {
                elements.name: elements
                for elements in inventories.pop((operator["id"], subtask["index"])).states
            }
            for state in subtask["managedOperator"]["states"]:
                elements = ours[state["name"]]
                assert elements.mode == state["mode"]
                if "values" in state:
                    assert _values(elements) == _expected(state)
                    compared += 1
    assert inventories == {}
    assert compared > 0 or name == "flink1.3-operator-state"


def _values(state) -> object:
    values = [element.value for element in state.elements]
    return values[0] if state.mode == "BROADCAST" else values


def _expected(state: dict) -> object:
    if state["mode"] == "BROADCAST":
        return as_object(tuple(pair) for pair in state["values"])
    return state["values"]


def test_the_first_version_of_operator_state_is_not_decoded(shared_data):
    case = load(shared_data, "flink1.3-operator-state")
    ((_, stored),) = case.snapshots()
    for subtask_state in checkpoint_state.operator_states(case.upload, stored):
        assert "version 2 cannot be read" in subtask_state.contents.problem
        assert sum(len(state.elements) for state in subtask_state.contents.states) > 0


def test_damaged_streams_give_values_or_bytes(shared_data):
    seeds = []
    for name in ("unaligned-orders", "compressed-orders", "flink1.9-broadcast-and-keyed"):
        case = load(shared_data, name)
        stored = case.snapshots()[-1][1]
        for subtask_state in checkpoint_state.operator_states(case.upload, stored):
            data = case.upload.files.read(subtask_state.handle.stream, stored.folder)
            seeds.append((subtask_state.handle, bytes(data)))
    for number, data in enumerate(mutated([data for _, data in seeds])):
        handle = seeds[number % len(seeds)][0]
        inventory = read_operator_state(handle, data)
        elements = [element for state in inventory.states for element in state.elements]
        assert sum(element.size for element in elements) <= len(data)
        known = [element.value for element in elements if not isinstance(element.value, Opaque)]
        json.dumps(known, allow_nan=False)

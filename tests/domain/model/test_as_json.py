"""The types of a dataclass's fields decide what its JSON is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import pytest

from snapshots.domain.model.as_json import (
    Absent,
    Hidden,
    JsonName,
    as_json,
    json_property,
    members_as_json,
)
from snapshots.domain.model.topology import JsonText, ProcessId


@dataclass(frozen=True, slots=True)
class Stop:
    process: ProcessId
    from_: int


@dataclass(frozen=True, slots=True)
class Route:
    stops: tuple[Stop, ...] = ()
    by_name: Mapping[str, Stop] = field(default_factory=dict)
    span: tuple[int, int] | None = None
    pairs: tuple[tuple[int, Stop], ...] = ()
    state: JsonText | None = None
    value: Absent[JsonText] = None
    next: Absent[Stop] = None
    text: Annotated[str, JsonName("expression")] = "x"
    secret: Hidden[object] = None

    @json_property
    def length(self) -> int:
        return len(self.stops)

    @property
    def unseen(self) -> int:
        return 1


@dataclass(frozen=True)
class Counted:
    numbers: tuple[int, ...]

    def to_json(self) -> dict[str, object]:
        return members_as_json(self) | {"total": sum(self.numbers)}


@dataclass(frozen=True)
class Holder:
    counted: Counted


STOP = Stop(ProcessId("p"), 3)


def test_a_dataclass_without_values_has_every_key_but_the_absent_and_the_hidden():
    assert as_json(Route()) == {
        "stops": [],
        "by_name": {},
        "span": None,
        "pairs": [],
        "state": None,
        "expression": "x",
        "length": 0,
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"stops": (STOP, STOP)}, {"stops": [{"process": "p", "from": 3}] * 2, "length": 2}),
        ({"by_name": {"a": STOP}}, {"by_name": {"a": {"process": "p", "from": 3}}}),
        ({"span": (1, 2)}, {"span": [1, 2]}),
        ({"pairs": ((1, STOP),)}, {"pairs": [[1, {"process": "p", "from": 3}]]}),
        ({"state": JsonText('{"a":1}')}, {"state": {"a": 1}}),
        ({"next": STOP}, {"next": {"process": "p", "from": 3}}),
    ],
)
def test_the_type_of_a_field_decides_its_json(fields, expected):
    assert as_json(Route(**fields)) == as_json(Route()) | expected


def test_a_text_of_the_value_null_is_not_absent():
    assert as_json(Route(value=JsonText("null")))["value"] is None
    assert "value" not in as_json(Route(value=None))


def test_members_are_left_out_by_their_names_in_json():
    assert members_as_json(STOP, without=("from",)) == {"process": "p"}


def test_a_class_with_json_of_its_own_uses_it_where_it_is_nested():
    assert as_json(Holder(Counted((1, 2)))) == {"counted": {"numbers": [1, 2], "total": 3}}

"""Payloads that are declared from dataclasses: their schema, and that answers fit it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from snapshots.domain.model.as_json import Absent, Hidden, JsonName, as_json, json_property
from snapshots.domain.model.topology import JsonText, ProcessId
from snapshots.payloads.declaring import (
    Payload,
    described,
    documented,
    list_of,
    payload_of,
    show_as,
)


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop on the way.

    Attributes:
        process: where it is; a text that goes on
            in a second line.
        from_, to: True where it counts.
    """

    process: ProcessId
    from_: bool
    to: bool | None


@dataclass(frozen=True, slots=True)
class Route:
    stops: tuple[Stop, ...]
    by_name: Mapping[str, Stop]
    span: tuple[int, int] | None
    pairs: tuple[tuple[int, Stop], ...]
    state: JsonText | None
    kind: Literal["short", "long"]
    value: Absent[int]
    text: Annotated[str, JsonName("expression")]
    secret: Hidden[bytes]
    examples: dict[str, tuple[list[object], ...]]

    @json_property
    def length(self) -> int:
        """How many stops there are."""
        return len(self.stops)


class RouteByHand(TypedDict):
    stops: list["StopItem"]
    by_name: dict[str, "StopItem"]
    span: list[int] | None
    pairs: list[tuple[int, "StopItem"]]
    state: Any
    kind: Literal["short", "long"]
    value: NotRequired[int | None]
    expression: str
    examples: dict[str, list[list[Any]]]
    length: int


StopItem = payload_of(Stop, "StopItem")
RouteItem = payload_of(Route, "RouteItem")
STOP = Stop(ProcessId("p"), True, None)
ROUTE = Route((STOP,), {}, (1, 2), (), None, "short", None, "x", b"", {"a": ([1],)})


def schema_of(payload: Any) -> dict[str, Any]:
    return TypeAdapter(payload).json_schema()


def without_texts(schema: Any) -> Any:
    if isinstance(schema, list):
        return [without_texts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_texts(item) for key, item in schema.items() if key != "description"}


def test_a_payload_has_the_schema_of_the_same_one_written_by_hand():
    expected = schema_of(RouteByHand) | {"title": "RouteItem"}
    assert without_texts(schema_of(RouteItem)) == without_texts(expected)


def test_the_docstring_describes_the_payload_and_its_fields():
    schema = schema_of(StopItem)
    assert schema["description"] == "A stop on the way."
    assert {name: field["description"] for name, field in schema["properties"].items()} == {
        "process": "Where it is; a text that goes on in a second line.",
        "from": "True where it counts.",
        "to": "True where it counts.",
    }


def test_a_field_can_have_a_docstring_of_its_own():
    @dataclass
    class Leg:
        """A part of the way."""

        length: int | None
        """How long it is,
        in km. None if nobody measured it."""

    (field,) = schema_of(payload_of(Leg))["properties"].values()
    assert field["description"] == "How long it is, in km. Null if nobody measured it."


def test_a_docstring_that_describes_a_field_of_another_name_is_refused():
    @dataclass
    class Renamed:
        """A class.

        Attributes:
            old_name: a text.
        """

        new_name: int

    with pytest.raises(TypeError, match="Renamed describes old_name"):
        payload_of(Renamed)


def test_a_property_is_described_by_its_own_docstring():
    assert (
        schema_of(RouteItem)["properties"]["length"]["description"] == "How many stops there are."
    )


def test_the_signature_that_a_dataclass_has_for_a_docstring_describes_nothing():
    assert "description" not in schema_of(RouteItem)


def test_what_as_json_makes_fits_the_payload():
    TypeAdapter(RouteItem).validate_python(as_json(ROUTE), strict=True)


def test_what_lacks_a_field_does_not_fit_unless_the_field_is_optional():
    body = as_json(STOP)
    del body["to"]
    with pytest.raises(ValidationError, match="to"):
        TypeAdapter(StopItem).validate_python(body)
    TypeAdapter(payload_of(Stop, optional=["to"])).validate_python(body)


def test_a_payload_can_leave_fields_out_and_have_further_ones():
    extra = {"place": documented(int, "Its number.")}
    schema = schema_of(payload_of(Stop, "Short", without=["from", "to"], more=extra))
    assert schema["title"] == "Short"
    assert schema["properties"].keys() == set(schema["required"]) == {"process", "place"}
    assert schema["properties"]["place"]["description"] == "Its number."


def test_a_field_can_be_shown_as_another_type_under_its_description():
    field = schema_of(payload_of(Stop, more={"to": list[int]}))["properties"]["to"]
    assert (field["type"], field["description"]) == ("array", "True where it counts.")


def test_fields_of_any_class_can_be_shown_as_a_payload():
    class Array:
        pass

    @dataclass
    class Column:
        numbers: Array

    show_as(Array, StopItem)
    numbers = schema_of(payload_of(Column))["properties"]["numbers"]
    assert numbers == {"$ref": "#/$defs/StopItem"}


def test_a_page_of_a_list_has_items_and_a_total():
    schema = schema_of(list_of(StopItem, "StopList"))
    assert schema["title"] == "StopList"
    assert schema["properties"]["items"]["items"] == {"$ref": "#/$defs/StopItem"}
    assert schema["properties"]["total"]["type"] == "integer"
    assert all(field["description"].endswith(".") for field in schema["properties"].values())


def test_a_list_that_is_sent_whole_has_no_total_and_may_have_further_fields():
    more = {"name": documented(str, "Its name.")}
    schema = schema_of(list_of(StopItem, "Stops", is_paged=False, more=more))
    assert schema["properties"].keys() == {"items", "name"}


def test_a_payload_written_by_hand_is_described_by_its_docstring_too():
    @described
    class Named(TypedDict):
        """A name.

        Attributes:
            short: without the rest.
        """

        name: str
        short: NotRequired[str | None]

    schema = schema_of(Named)
    assert schema["description"] == "A name."
    assert schema["required"] == ["name"]
    assert schema["properties"]["short"]["description"] == "Without the rest."


def test_a_payload_written_by_hand_can_hold_one_that_a_dataclass_declares():
    class Journey(TypedDict):
        stops: list[Annotated[dict[str, Any], Payload(StopItem)]]

    stops = schema_of(Journey)["properties"]["stops"]
    assert stops["items"] == {"$ref": "#/$defs/StopItem"}

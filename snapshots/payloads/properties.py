"""Payloads of properties evaluated on what snapshots recorded."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12


class BuiltInProperty(TypedDict):
    """definition: when it is true. shape: what states and values must look like."""

    property: str
    title: str
    definition: str
    shape: str


class PropertyList(TypedDict):
    items: list[BuiltInProperty]


class PropertyAnswer(TypedDict):
    """answer: true, false or unknown; missing says what the log does not hold. conclusion: what
    follows for the run, in the terms of Chandy and Lamport, section 5."""

    property: str
    snapshot: str
    answer: str
    sentence: str
    conclusion: str
    witness: dict[str, Any]
    missing: list[str]


class PropertyStrip(TypedDict):
    """A built-in property has title, definition and shape. omitted: snapshots not evaluated."""

    property: str | None
    title: NotRequired[str]
    definition: NotRequired[str]
    shape: NotRequired[str]
    expression: str | None
    items: list[PropertyAnswer]
    total: int
    omitted: int

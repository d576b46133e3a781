"""Payloads of properties evaluated on what snapshots recorded."""

from typing import NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.properties.answers import Answer, Property
from snapshots.payloads.declaring import described, payload_of

BuiltInProperty = payload_of(Property, "BuiltInProperty")
PropertyAnswer = payload_of(Answer, "PropertyAnswer")


class PropertyList(TypedDict):
    items: list[BuiltInProperty]


@described
class PropertyStrip(TypedDict):
    """One property, or one expression, over all snapshots of a recording.

    Attributes:
        property: the name of a built-in property; null for an expression.
        title, definition, shape: those of a built-in property.
        total: how many snapshots there are.
        omitted: how many of them were not evaluated.
    """

    property: str | None
    title: NotRequired[str]
    definition: NotRequired[str]
    shape: NotRequired[str]
    expression: str | None
    items: list[PropertyAnswer]
    total: int
    omitted: int

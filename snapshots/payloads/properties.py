"""Payloads of properties evaluated on what snapshots recorded."""

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.properties.answers import Answer, Property
from snapshots.payloads.declaring import Payload, described, list_of, payload_of

BuiltInProperty = payload_of(Property, "BuiltInProperty")
PropertyList = list_of(BuiltInProperty, "PropertyList", is_paged=False)
PropertyAnswer = Annotated[dict[str, Any], Payload(payload_of(Answer, "PropertyAnswer"))]


@described
class PropertyStrip(TypedDict):
    """One property, or one expression, over all snapshots of a recording.

    Attributes:
        property: the name of a built-in property; null for an expression.
        title: the title of the built-in property; absent for an expression.
        definition: when the built-in property is true; absent for an expression.
        shape: what states and values must look like; absent for an expression.
        phase: the number of the phase, from 1; null for every property but ``phase``.
        expression: the expression in CEL; null for a built-in property.
        items: the answer of each snapshot, in the order in which the snapshots began.
        total: how many snapshots there are.
        omitted: how many of them were not evaluated.
    """

    property: str | None
    title: NotRequired[str]
    definition: NotRequired[str]
    shape: NotRequired[str]
    phase: int | None
    expression: str | None
    items: list[PropertyAnswer]
    total: int
    omitted: int

"""Write elements of SVG as text, with everything in them escaped."""

from collections.abc import Mapping

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

Point = tuple[float, float]


def element(name: str, attributes: Mapping[str, object], *children: str) -> SafeString:
    """Return an element; attributes that are None are left out, and texts are escaped."""
    given = "".join(
        f' {key}="{escape(_written(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(child if isinstance(child, SafeString) else escape(child) for child in children)
    return mark_safe(f"<{name}{given}>{inner}</{name}>")  # all parts are escaped


def text(content: str, place: Point, look: str, anchor: str = "middle") -> SafeString:
    """Return a text at a place; ``look`` is its class, ``anchor`` where the place is in it."""
    x, y = place
    return element("text", {"x": x, "y": y, "class": look, "text-anchor": anchor}, content)


def title(content: str) -> SafeString:
    """Return what is read under the pointer."""
    return element("title", {}, content)


def arrow_head(name: str) -> SafeString:
    """Return an arrow head for the ends of lines; ``name`` is its id and the end of its class."""
    attributes = {
        "id": name,
        "class": f"drawing-{name}",
        "viewBox": "0 0 8 8",
        "refX": 1,
        "refY": 4,
        "markerWidth": 8,
        "markerHeight": 8,
        "markerUnits": "userSpaceOnUse",
        "orient": "auto",
    }
    return element("marker", attributes, element("path", {"d": "M0 0L8 4L0 8z"}))


def _written(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)

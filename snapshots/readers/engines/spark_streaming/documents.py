"""Parse JSON from untrusted files, with bounded depth and errors that are sentences."""

from typing import Any

import orjson

Json = Any
"""What JSON can hold: None, bool, int, float, str, list, dict."""


class NotReadable(ValueError):
    """A text is not JSON of the expected form; the message is a sentence."""


class NotKnown(NotReadable):
    """A text is of a form that is not known here, such as one of a newer Spark."""


def parse(text: bytes | str, depth: int) -> Json:
    """Parse JSON. Raises: NotReadable, also if it is nested deeper than ``depth``."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotReadable(f"It is not JSON ({error.msg}, character {error.colno}).") from error
    if _deeper_than(value, depth):
        raise NotReadable(f"It is nested more than {depth} levels deep.")
    return value


def parse_object(text: bytes | str, depth: int) -> dict[str, Json]:
    """Parse a JSON object. Raises: NotReadable."""
    value = parse(text, depth)
    if not isinstance(value, dict):
        raise NotReadable("A JSON object is expected.")
    return value


def whole(document: dict[str, Json], name: str) -> int:
    """Return an integer field of at most 64 bits. Raises: NotReadable."""
    value = document.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise NotReadable(f'The field "{name}" must be a whole number.')
    return value


def text_of(document: dict[str, Json], name: str) -> str:
    """Return a text field. Raises: NotReadable."""
    value = document.get(name)
    if not isinstance(value, str):
        raise NotReadable(f'The field "{name}" must be a text.')
    return value


def _deeper_than(value: Json, depth: int) -> bool:
    level = [value]
    for _ in range(depth + 1):
        inner: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return False
        level = inner
    return True

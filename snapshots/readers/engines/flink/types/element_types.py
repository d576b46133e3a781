"""Parse types of in-flight records that a person names, and decode records with them.

No checkpoint stores these types. They are written like names of serializers: ``string``,
``tuple<string,string,long>``, ``list<int>``, or like a state's type: ``pojo demo.Order``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from snapshots.readers.engines.flink.channels.elements import RECORD, Element
from snapshots.readers.engines.flink.types import composites
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer
from snapshots.readers.formats.cursor import Cursor, Malformed

LONGEST_TEXT = 1_000  # characters
MOST_NESTED = 20

_ALSO_CALLED = {
    "bool": "boolean",
    "integer": "int",
    "text": "string",
    "byte[]": "bytes",
    "long[]": "longs",
    "int[]": "ints",
    "double[]": "doubles",
    "string[]": "strings",
}


# For each composite type: how many types are inside (None for any number), and its constructor.
_COMPOSITES: dict[str, tuple[int | None, Callable[..., Serializer]]] = {
    "tuple": (None, lambda *parts: composites.TupleSerializer(parts)),
    "row": (None, lambda *parts: composites.RowSerializer(parts)),
    "list": (1, composites.ListSerializer),
    "array": (1, composites.ArraySerializer),
    "nullable": (1, lambda part: composites.NullableSerializer(part, 0)),
    "map": (2, composites.MapSerializer),
    "either": (2, composites.EitherSerializer),
}


class UnknownType(ValueError):
    """A text names no known type; the message is a sentence."""


def parse_type(text: str, known: Mapping[str, Serializer] | None = None) -> Serializer:
    """Return the type that a text names.

    Args:
        text: the name of a type.
        known: further types by name, see ``types_of``.

    Raises: UnknownType.
    """
    if len(text) > LONGEST_TEXT:
        raise UnknownType(f"A type of more than {LONGEST_TEXT:,} characters is not read.")
    known = known or {}
    if text.strip() in known:
        return known[text.strip()]
    parser = _Parser(text, known)
    parsed = parser.type(0)
    if parser.left:
        raise UnknownType(f"“{parser.left}” follows the type.")
    return parsed


class _Parser:
    """A parser of one text; ``left`` is what it has not read yet."""

    def __init__(self, text: str, known: Mapping[str, Serializer]) -> None:
        self.left = text.strip()
        self._known = known

    def type(self, depth: int) -> Serializer:
        if depth > MOST_NESTED:
            raise UnknownType(f"Types nest at most {MOST_NESTED} deep.")
        name = self._name()
        if not self._takes("<"):
            return self._simple(name)
        if name not in _COMPOSITES:
            raise UnknownType(f"“{name}” has no types inside. {_offer()}")
        parts = [self.type(depth + 1)]
        while self._takes(","):
            parts.append(self.type(depth + 1))
        if not self._takes(">"):
            raise UnknownType(f"A “>” is missing at “{self.left}”.")
        count, build = _COMPOSITES[name]
        if count not in (None, len(parts)):
            raise UnknownType(f"“{name}” has {count} types inside, not {len(parts)}.")
        return build(*parts)

    def _name(self) -> str:
        end = min((self.left.find(mark) for mark in "<>," if mark in self.left), default=None)
        name, self.left = self.left[:end], "" if end is None else self.left[end:]
        return name.strip()

    def _takes(self, mark: str) -> bool:
        """Skip the mark if it comes next, and tell whether it did."""
        if not self.left.startswith(mark):
            return False
        self.left = self.left[1:].lstrip()
        return True

    def _simple(self, name: str) -> Serializer:
        if name in self._known:
            return self._known[name]
        simple = _ALSO_CALLED.get(name, name)
        if simple not in SIMPLE:
            raise UnknownType(f"The type “{name}” is not known. {_offer()}")
        return SIMPLE[simple]


def _offer() -> str:
    return f"Known are {', '.join(SIMPLE)}, and with types inside {', '.join(_COMPOSITES)}."


def types_of(serializers: Iterable[Serializer]) -> dict[str, Serializer]:
    """Return serializers and those inside of them, by name."""
    types: dict[str, Serializer] = {}
    waiting = list(serializers)
    while waiting:
        serializer = waiting.pop()
        if serializer.name not in types:
            types[serializer.name] = serializer
            waiting += _parts(serializer)
    return types


def _parts(serializer: Serializer) -> Iterator[Serializer]:
    if not is_dataclass(serializer):
        return
    waiting = [getattr(serializer, field.name) for field in fields(serializer)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Serializer):
            yield value
        elif isinstance(value, tuple):
            waiting += value


def decoded(element: Element, type_: Serializer) -> object:
    """Return the value of a record. Raises: Malformed unless it takes all of the record's bytes."""
    cursor = Cursor(element.value)
    value = type_.decode(cursor)
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the value", cursor.position)
    return value


def fits(elements: Iterable[Element], type_: Serializer) -> bool:
    """Tell whether every record decodes to its last byte."""
    try:
        for element in elements:
            if element.kind == RECORD:
                decoded(element, type_)
    except Malformed:
        return False
    return True

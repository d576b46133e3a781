"""Types of records in flight, which no checkpoint stores: named by a person, tried on every record.

A type is written as the serializers here are called: ``string``, ``tuple<string,string,long>``,
``list<int>``, or as a state's serializer is called, as ``pojo demo.Order``.
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


def _parts(count: int | None, build: Callable[..., Serializer]) -> tuple[int | None, Callable]:
    return count, build


_COMPOSITES = {
    "tuple": _parts(None, lambda *parts: composites.TupleSerializer(parts)),
    "row": _parts(None, lambda *parts: composites.RowSerializer(parts)),
    "list": _parts(1, composites.ListSerializer),
    "array": _parts(1, composites.ArraySerializer),
    "nullable": _parts(1, lambda part: composites.NullableSerializer(part, 0)),
    "map": _parts(2, composites.MapSerializer),
    "either": _parts(2, composites.EitherSerializer),
}


class UnknownType(ValueError):
    """A text names no type that is known here; says why in a sentence."""


def parse_type(text: str, known: Mapping[str, Serializer] | None = None) -> Serializer:
    """The type that ``text`` names. known: further types by name, see ``types_of``.

    Raises: UnknownType.
    """
    if len(text) > LONGEST_TEXT:
        raise UnknownType(f"A type of more than {LONGEST_TEXT:,} characters is not read.")
    known = known or {}
    if text.strip() in known:
        return known[text.strip()]
    parsing = _Parsing(text, known)
    found = parsing.type(0)
    if parsing.left:
        raise UnknownType(f"“{parsing.left}” follows the type.")
    return found


class _Parsing:
    """A text of which ``left`` is not read yet."""

    def __init__(self, text: str, known: Mapping[str, Serializer]) -> None:
        self.left = text.strip()
        self._known = known

    def type(self, depth: int) -> Serializer:
        if depth > MOST_NESTED:
            raise UnknownType(f"Types nest at most {MOST_NESTED} deep.")
        name = self._name()
        if not self._taken("<"):
            return self._simple(name)
        if name not in _COMPOSITES:
            raise UnknownType(f"“{name}” has no types inside. {_offer()}")
        parts = [self.type(depth + 1)]
        while self._taken(","):
            parts.append(self.type(depth + 1))
        if not self._taken(">"):
            raise UnknownType(f"A “>” is missing at “{self.left}”.")
        count, build = _COMPOSITES[name]
        if count not in (None, len(parts)):
            raise UnknownType(f"“{name}” has {count} types inside, not {len(parts)}.")
        return build(*parts)

    def _name(self) -> str:
        end = min((self.left.find(mark) for mark in "<>," if mark in self.left), default=None)
        name, self.left = self.left[:end], "" if end is None else self.left[end:]
        return name.strip()

    def _taken(self, mark: str) -> bool:
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
    """The types of states by name, and the types inside of them."""
    found: dict[str, Serializer] = {}
    waiting = list(serializers)
    while waiting:
        one = waiting.pop()
        if one.name not in found:
            found[one.name] = one
            waiting += _inside(one)
    return found


def _inside(serializer: Serializer) -> Iterator[Serializer]:
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
    """The value of a record. Raises: Malformed unless it takes exactly the record's bytes."""
    cursor = Cursor(element.value)
    value = type_.decode(cursor)
    if cursor.left:
        raise Malformed(f"{cursor.left} bytes follow the value", cursor.position)
    return value


def fits(elements: Iterable[Element], type_: Serializer) -> bool:
    """Whether every record decodes to its last byte."""
    try:
        for element in elements:
            if element.kind == RECORD:
                decoded(element, type_)
    except Malformed:
        return False
    return True

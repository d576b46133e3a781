"""Turn the dataclasses of the domain and the store into JSON, and list what it consists of.

The types of the fields decide: nested dataclasses become objects, tuples become lists, and texts
of the type JsonText become the values that they hold. `payloads.declaring` makes the types of the
API from the same members.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, partial
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import parsed

Convert = Callable[[Any], object]
Write = Callable[[Any], dict[str, object]]
T = TypeVar("T")

_ABSENT, _HIDDEN = object(), object()

Absent = Annotated[T | None, _ABSENT]
"""A field that the JSON leaves out where it is None."""

Hidden = Annotated[T, _HIDDEN]
"""A field that the JSON never has."""


@dataclass(frozen=True, slots=True)
class JsonName:
    """The name of a field in JSON, where it differs: ``Annotated[str, JsonName("expression")]``.

    The underscore at the end of a name, as in ``from_``, needs no such marker: JSON leaves it out.
    """

    name: str


class json_property(property):  # noqa: N801 (a decorator, as property is)
    """A property that the JSON of its class has, behind the fields."""


@dataclass(frozen=True, slots=True)
class Member:
    """One key of the JSON of a dataclass.

    Attributes:
        attribute: the name of the field or property.
        type: the type of the field without its markers.
        is_absent: whether the JSON leaves the key out where the value is None.
        convert: a function that makes JSON of a value; None if every value is JSON already.
        text: the docstring of a property; empty for a field.
    """

    attribute: str
    name: str
    type: Any
    is_absent: bool
    convert: Convert | None
    text: str = ""


@cache
def members(cls: type) -> tuple[Member, ...]:
    """Return the keys of the JSON of a dataclass: its fields, then its properties for JSON."""
    hints = get_type_hints(cls, include_extras=True)
    own = [_member(field.name, hints[field.name]) for field in fields(cls)]
    return tuple(member for member in own if member is not None) + tuple(_properties(cls))


def _properties(cls: type) -> Iterator[Member]:
    for name, item in inspect.getmembers_static(cls, lambda item: isinstance(item, json_property)):
        hint = get_type_hints(item.fget, include_extras=True)["return"]
        if member := _member(name, hint):
            yield replace(member, text=inspect.cleandoc(item.__doc__ or ""))


def _member(attribute: str, hint: Any) -> Member | None:
    """Return the key of a field; None for a hidden one."""
    marks = _marks(hint)
    if _HIDDEN in marks:
        return None
    names = (mark.name for mark in marks if isinstance(mark, JsonName))
    name = next(names, attribute.rstrip("_"))
    bare = get_args(hint)[0] if marks else hint
    return Member(attribute, name, bare, _ABSENT in marks, _converter(bare))


def _marks(hint: Any) -> Sequence[object]:
    return hint.__metadata__ if get_origin(hint) is Annotated else ()


def as_json(value: Any) -> dict[str, object]:
    """Return a dataclass as JSON: by its own ``to_json`` where it has one, else by its members."""
    return _writer(type(value))(value)  # type: ignore[arg-type]


def members_as_json(value: Any, without: tuple[str, ...] = ()) -> dict[str, object]:
    """Return the members of a dataclass as JSON, except those whose names are in ``without``."""
    return _member_writer(type(value), without)(value)  # type: ignore[arg-type]


@cache
def _writer(cls: type) -> Write:
    return getattr(cls, "to_json", None) or _member_writer(cls, ())


@cache
def _member_writer(cls: type, without: tuple[str, ...]) -> Write:
    steps = [
        (member.name, attrgetter(member.attribute), member.is_absent, member.convert)
        for member in members(cls)
        if member.name not in without
    ]

    def write(value: Any) -> dict[str, object]:
        body: dict[str, object] = {}
        for name, read, is_absent, convert in steps:
            item = read(value)
            if item is not None:
                body[name] = item if convert is None else convert(item)
            elif not is_absent:
                body[name] = None
        return body

    return write


@cache
def _converter(hint: Any) -> Convert | None:
    if hint is JsonText:
        return parsed
    if isinstance(hint, NewType):
        return _converter(hint.__supertype__)
    if is_dataclass(hint):
        return as_json
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return next(map(_unless_none, filter(None, map(_converter, arguments))), None)
    if origin is tuple and arguments[1:] != (...,):
        return partial(_entries, tuple(map(_converter, arguments)))
    if origin in (tuple, list, Sequence):
        return _items(_converter(arguments[0]))
    if origin in (dict, Mapping):
        return _values(_converter(arguments[1]))
    return None


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _entries(converts: Sequence[Convert | None], entries: Sequence[object]) -> list[object]:
    pairs = zip(converts, entries, strict=True)
    return [entry if convert is None else convert(entry) for convert, entry in pairs]


def _items(convert: Convert | None) -> Convert:
    return list if convert is None else lambda items: [convert(item) for item in items]


def _values(convert: Convert | None) -> Convert:
    if convert is None:
        return dict
    return lambda items: {key: convert(item) for key, item in items.items()}

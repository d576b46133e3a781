"""Declare payloads: from the dataclasses that they show, and with what their docstrings say.

A docstring describes fields in a list headed ``Attributes:`` or ``Args:``, one ``name: text`` a
field, a longer text indented below. A field may also have a docstring of its own, on the lines
below it. OpenAPI shows each text as a sentence beside its field, and what stands above the list
beside the payload.
"""

import ast
import inspect
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, reduce
from itertools import pairwise
from operator import or_
from types import GenericAlias, MappingProxyType, UnionType
from typing import Annotated, Any, NewType, NotRequired, Union, get_args, get_origin

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.domain.model.as_json import members
from snapshots.domain.model.topology import JsonText

_LIST = re.compile(r"^(?:Attributes|Args):\n", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+(?:, \w+)*): ", re.MULTILINE)
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}
_PYTHON = re.compile(rf"\b(?:{'|'.join(_JSON_WORDS)})\b")

_typed_dict: Any = TypedDict
"""TypedDict as a function of names that are computed, which type checkers do not take."""

_declared: dict[type, Any] = {}
"""The payload of each dataclass, as which other payloads show a field of that type."""


@dataclass(frozen=True, slots=True)
class Payload:
    """The shape of a field in a payload written by hand: ``Annotated[dict[str, Any], Payload(X)]``.

    Type checkers see a dictionary, because they cannot see a payload that is made when it runs.
    """

    payload: Any

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.payload)


def payload_of(
    cls: type,
    name: str = "",
    *,
    without: Collection[str] = (),
    optional: Collection[str] = (),
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Return the TypedDict of what ``as_json`` makes of a dataclass.

    A nested dataclass is shown as the payload that was declared of it before.

    Args:
        name: the name of the schema, where it is not that of the dataclass.
        without: names in JSON that this payload does not have.
        optional: names in JSON that data of older versions does not have.
        more: the types of further fields, and of fields that are shown as another type, by name.

    Raises: TypeError where the docstring describes a field that the dataclass does not have.
    """
    summary, texts = _described_fields(cls)
    if unknown := texts.keys() - {field.name for field in fields(cls)}:
        raise TypeError(f"The docstring of {cls.__name__} describes {', '.join(sorted(unknown))}")
    types = {
        member.name: documented(
            more.get(member.name) or _type(member.type),
            member.text or texts.get(member.attribute, ""),
            is_required=not (member.is_absent or member.name in optional),
        )
        for member in members(cls)
        if member.name not in without
    }
    payload = _typed_dict(name or cls.__name__, dict(more) | types)
    payload.__doc__ = summary
    if not without:
        show_as(cls, payload)
    return payload


def show_as(cls: type, payload: Any) -> None:
    """Show fields of a type, in payloads that are declared from now on, as this payload."""
    _declared.setdefault(cls, payload)


def list_of(
    item: Any, name: str, *, is_paged: bool = True, more: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """Return the payload of a page of a list: its ``items``, and the ``total`` of all pages.

    Args:
        is_paged: False for a list that is always sent whole, and has no ``total``.
        more: the types of further fields, by name.
    """
    types = {"items": many(item, "The items of this page." if is_paged else "All items.")}
    if is_paged:
        types["total"] = documented(int, "How many items there are on all pages.")
    return _typed_dict(name, types | dict(more))


def described(payload: Any) -> Any:
    """Move the descriptions of fields from the docstring of a TypedDict to its fields."""
    payload.__doc__, texts = _described_fields(payload)
    for name, text in texts.items():
        payload.__annotations__[name] = documented(payload.__annotations__[name], text)
    return payload


def documented(hint: Any, text: str, *, is_required: bool = True) -> Any:
    """Return the type of a field together with the description that OpenAPI shows."""
    full = Annotated[hint, Field(description=text)] if text else hint
    return full if is_required else NotRequired[full]


def many(item: Any, text: str) -> Any:
    """Return the type of a list of items together with its description."""
    return documented(list[item], text)


def _docstring(cls: type) -> str:
    """Return the docstring of a class; "" for the signature that ``dataclass`` writes."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return "" if text.startswith(f"{cls.__name__}(") else text


def _in_json(text: str) -> str:
    """Return a text in the words of JSON, which has null, true and false."""
    return _PYTHON.sub(lambda match: _JSON_WORDS[match[0]], text)


def _described_fields(cls: type) -> tuple[str, dict[str, str]]:
    """Return what the docstrings of a class say of the whole, and what they say of each field."""
    summary, *rest = _LIST.split(_docstring(cls), maxsplit=1)
    _, *parts = _ENTRY.split(rest[0]) if rest else [""]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    texts = {name: text for names, text in pairs for name in names.split(", ")}
    texts |= _field_docstrings(cls.__module__).get(cls.__name__, {})
    sentences = {name: _sentence(_in_json(text)) for name, text in texts.items()}
    return _in_json(summary).strip(), sentences


@cache
def _field_docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings below fields in the classes of a module, by class and field."""
    classes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    return {
        item.name: {
            field.target.id: text.value.value
            for field, text in pairwise(item.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for item in classes
        if isinstance(item, ast.ClassDef)
    }


def _sentence(text: str) -> str:
    """Return a text on one line, in which each sentence that begins with null has a capital N."""
    line = " ".join(text.split())
    line = line.replace(". null ", ". Null ")
    return line[:1].upper() + line[1:]


def _type(hint: Any) -> Any:
    """Return the type of the JSON of a value: what `as_json` makes of it."""
    if hint is JsonText or hint is object:
        return Any
    if isinstance(hint, NewType):
        return _type(hint.__supertype__)
    origin = get_origin(hint)
    if shown := _declared.get(origin or hint):
        return shown
    if isinstance(hint, type) and is_dataclass(hint):
        return payload_of(hint)
    arguments = tuple(map(_type, get_args(hint)))
    if origin in (Union, UnionType):
        return Any if Any in arguments else reduce(or_, arguments)
    if origin is tuple and arguments[1:] != (...,) and len(set(arguments)) > 1:
        return GenericAlias(tuple, arguments)
    if origin in (tuple, list, Sequence):
        return GenericAlias(list, arguments[:1])
    return GenericAlias(dict, arguments) if origin in (dict, Mapping) else hint

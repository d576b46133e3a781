"""Read a document as people paste it: Python's dictionaries, and JSON with small faults of a chat.

Python prints a dictionary with single quotes, ``None`` and ``True``. A chat turns quotation marks
into typographic ones, and an editor leaves a comma before a closing bracket. Nothing is evaluated:
only objects, lists, tuples, strings, numbers and the constants are known.
Source: the lexical analysis and ``repr`` of Python; RFC 8259.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

Literal = Any  # a nested type cannot name itself here

_SPACE = re.compile(r"[\s\u00a0]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_WORD = re.compile(r"[A-Za-z]+")
_CLOSING = {'"': '"”', "“": '"”', "”": '"”', "'": "'’", "‘": "'’", "’": "'’"}
_REST = {marks: re.compile(rf"((?:[^\\{marks}]++|\\.)*+)[{marks}]", re.S) for marks in ('"”', "'’")}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_ESCAPED: Mapping[str, str] = MappingProxyType(
    {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": "", "0": "\0"}
)
_CONSTANTS: Mapping[str, Literal] = MappingProxyType(
    {"true": True, "false": False, "null": None, "None": None, "True": True, "False": False}
    | {"nan": None, "NaN": None}
)
_BRACKETS = {"[": "]", "(": ")"}
_LONGEST_NUMBER = 400  # characters
_MOST_DIGITS = 19  # of a whole number


class NotLiteral(ValueError):
    """A text is no such document; the message says where and why, as a sentence."""


def read(text: str, place: int, depth: int) -> tuple[Literal, int]:
    """Return the document that begins at a place, and the place behind it.

    Args:
        depth: how deep it may be nested.

    Raises: NotLiteral.
    """
    place = _skipped(text, place)
    mark = text[place : place + 1]
    if depth < 0:
        raise NotLiteral("It is nested too deep.")
    if mark == "{":
        return _object(text, place + 1, depth - 1)
    if mark in _BRACKETS:
        return _list(text, place + 1, depth - 1, _BRACKETS[mark])
    if mark in _CLOSING:
        return _string(text, place)
    return _scalar(text, place)


def _skipped(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


def _object(text: str, place: int, depth: int) -> tuple[Literal, int]:
    found: dict[str, Literal] = {}
    while text[(place := _skipped(text, place)) : place + 1] != "}":
        if text[place : place + 1] not in _CLOSING:
            raise _misfit(text, place, "the name of a field")
        name, place = _string(text, place)
        place = _skipped(text, place)
        if text[place : place + 1] != ":":
            raise _misfit(text, place, "a colon")
        found[name], place = read(text, place + 1, depth)
        place = _behind_item(text, place, "}")
    return found, place + 1


def _list(text: str, place: int, depth: int, closing: str) -> tuple[Literal, int]:
    found: list[Literal] = []
    while text[(place := _skipped(text, place)) : place + 1] != closing:
        value, place = read(text, place, depth)
        found.append(value)
        place = _behind_item(text, place, closing)
    return found, place + 1


def _behind_item(text: str, place: int, closing: str) -> int:
    """Return the place behind the comma, or that of the closing bracket."""
    place = _skipped(text, place)
    mark = text[place : place + 1]
    if mark == ",":
        return place + 1
    if mark == closing:
        return place
    raise _misfit(text, place, f"a comma or {closing}")


def _string(text: str, place: int) -> tuple[str, int]:
    match = _REST[_CLOSING[text[place]]].match(text, place + 1)
    if match is None:
        raise NotLiteral(f"The text that begins at character {place + 1} has no end.")
    return _ESCAPE.sub(_unescaped, match[1]), match.end()


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPED.get(match[4], match[4])
    number = int(code, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"


def _scalar(text: str, place: int) -> tuple[Literal, int]:
    word = _WORD.match(text, place)
    if word is not None:
        if word[0] not in _CONSTANTS:
            raise _misfit(text, place, "a value")
        return _CONSTANTS[word[0]], word.end()
    number = _NUMBER.match(text, place)
    if number is None or len(number[0]) > _LONGEST_NUMBER:
        raise _misfit(text, place, "a value")
    is_whole = number[0].lstrip("+-").isdigit() and len(number[0]) <= _MOST_DIGITS
    return int(number[0]) if is_whole else float(number[0]), number.end()


def _misfit(text: str, place: int, expected: str) -> NotLiteral:
    found = f"“{text[place]}” stands there" if place < len(text) else "it ends there"
    return NotLiteral(f"At character {place + 1}, {expected} is expected, and {found}.")

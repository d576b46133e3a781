"""Compiles ShiViz's regular expressions, in JavaScript's syntax, for an engine that cannot hang.

RE2 takes time in proportion to the text, whatever the expression; it has no back-references and
nothing that looks ahead or behind, which are refused with a reason. Sources: ECMAScript, "RegExp
(Regular Expression) Objects"; RE2's wiki, "Syntax".
"""

import re
from dataclasses import dataclass
from typing import Any

import re2

from snapshots.domain.model.defects import quoted, refuse

LONGEST = 2000  # characters of an expression
LARGEST_PROGRAM = 1000  # instructions: a search takes at most about 10 ns each per byte
_MEMORY = 8 * 2**20  # bytes that an expression may take while it searches
_SPACE = (
    r"\t\n\x0b\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
_NO_SPACE = (
    r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}"
)
_DOT = r"[^\n\r\x{2028}\x{2029}]"
_REPEATED = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
_GROUP = re.compile(r"\(\?<(\w+)>")
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_CONTROLS = {"t": r"\t", "n": r"\n", "v": r"\x0b", "f": r"\f", "r": r"\r", "0": r"\x{0}"}
_ASIDE = {
    "(?=": "looks ahead",
    "(?!": "looks ahead",
    "(?<=": "looks behind",
    "(?<!": "looks behind",
}


@dataclass(frozen=True)
class Expression:
    """A regular expression, ready to search in bytes of UTF-8.

    Attributes:
        text: the expression as it was given.
        engine: RE2's compiled pattern; the library has no types.
        groups: the names of the groups, in order.
    """

    text: str
    engine: Any
    groups: tuple[str, ...]


def compiled(text: str, needed: tuple[str, ...] = (), *, whole_lines: bool = False) -> Expression:
    """Compile an expression. Raises: InputRefused (``bad-expression``).

    Args:
        needed: groups that it must have.
        whole_lines: whether it stands for a line from ^ to $.
    """
    if len(text) > LONGEST:
        raise _bad(text, f"is longer than {LONGEST:,} characters")
    translated, groups = _Translation(text).result()
    for name in needed:
        if name not in groups:
            raise _bad(text, f"lacks the group (?<{name}>…)")
    options = re2.Options()
    options.log_errors, options.max_mem = False, _MEMORY
    source = f"(?m)^(?:{translated})$" if whole_lines else f"(?m){translated}"
    try:
        engine = re2.compile(source, options)
    except re2.error as error:
        raise _bad(text, f"cannot be used: {_reason(error)}") from None
    if engine.programsize > LARGEST_PROGRAM:
        raise _bad(text, "repeats too much: it would be slow. Use * or + in place of large counts")
    return Expression(text, engine, groups)


def _reason(error: Exception) -> str:
    given = error.args[0] if error.args else b""
    return given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)


def _bad(text: str, reason: str) -> Exception:
    return refuse("bad-expression", f"The expression {quoted(text)} {reason}.")


class _Translation:
    """Walks through an expression once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._out: list[str] = []
        self._groups: list[str] = []

    def result(self) -> tuple[str, tuple[str, ...]]:
        while self._at < len(self._text):
            self._out.append(self._next())
        return "".join(self._out), tuple(self._groups)

    def _next(self) -> str:
        character = self._text[self._at]
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "{":
            repeated = _REPEATED.match(self._text, self._at)
            return self._take(len(repeated[0])) if repeated else self._literal()
        if character == "\\":
            return self._escape(inside=False)
        if character == ".":
            self._at += 1
            return _DOT
        return self._literal() if character in "}]" else self._take(1)

    def _take(self, length: int) -> str:
        self._at += length
        return self._text[self._at - length : self._at]

    def _literal(self) -> str:
        return _escaped(self._take(1))

    def _group(self) -> str:
        for start, verb in _ASIDE.items():
            if self._text.startswith(start, self._at):
                raise _bad(self._text, f"{verb} ({start}…), which is not possible here")
        named = _GROUP.match(self._text, self._at)
        if named:
            if named[1] in self._groups or not named[1].isascii():
                raise _bad(self._text, f"has the group {quoted(named[1])} twice, or not in ASCII")
            self._groups.append(named[1])
            self._at = named.end()
            return f"(?P<{named[1]}>"
        if self._text.startswith("(?:", self._at):
            return self._take(3)
        if self._text.startswith("(?", self._at):
            raise _bad(self._text, "has a group that JavaScript does not know")
        self._at += 1
        return "(?:"

    def _class(self) -> str:
        self._at += 1
        negated = self._text.startswith("^", self._at)
        self._at += negated
        parts: list[str] = []
        while not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise _bad(self._text, "has a [ without its ]")
            character = self._text[self._at]
            if character == "\\":
                parts.append(self._escape(inside=True))
            else:
                parts.append(self._take(1) if character == "-" else self._literal())
        self._at += 1
        if not parts:
            return r"[\x{0}-\x{10ffff}]" if negated else r"[^\x{0}-\x{10ffff}]"
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _escape(self, *, inside: bool) -> str:
        self._at += 1
        if self._at >= len(self._text):
            raise _bad(self._text, "ends with a backslash")
        if code := _CODE.match(self._text, self._at):
            self._at = code.end()
            return f"\\x{{{code[1] or code[2]}}}"
        character = self._take(1)
        if character in "123456789" or (character == "k" and not inside):
            raise _bad(self._text, "refers back to a group, which is not possible here")
        if character in "sS":
            ranges = _SPACE if character == "s" else _NO_SPACE
            return ranges if inside else f"[{ranges}]"
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character in "dDwW" or (character in "bB" and not inside):
            return "\\" + character
        return r"\x08" if character == "b" else _escaped(character)


def _escaped(character: str) -> str:
    """Write a character so that it stands for itself, inside a class and outside."""
    return character if character.isalnum() or character == "_" else f"\\x{{{ord(character):x}}}"

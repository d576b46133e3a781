"""Types of Flink's state, read from how checkpoints and people spell them.

``Long``, ``java.lang.Long`` and ``long`` are one type. Composite types are spelt
``tuple<string,long>``, ``List<Long>`` or, for a class with fields, ``Acct{owner: String}``. Columns
of SQL are spelt as there, ``rowdata<BIGINT NOT NULL, DECIMAL(38, 0)>``; Flink compares all of it.
"""

import re
from dataclasses import dataclass

LONGEST = 10_000  # characters of a type
MOST_NESTED = 40

# fmt: off
_SIMPLE = frozenset({
    "boolean", "byte", "short", "int", "long", "float", "double", "char", "string", "biginteger",
    "bigdecimal", "date", "timestamp", "instant", "localdate", "localtime", "localdatetime", "void",
    "booleans", "bytes", "chars", "shorts", "ints", "longs", "floats", "doubles", "strings", "utf8",
    "timewindow", "globalwindow",
})
_COMPOSITE = frozenset({
    "list", "map", "array", "tuple", "row", "rowdata", "nullable", "either", "ttl", "timer",
    "decimal", "timestampdata",
})
# fmt: on
_ALIASES = {"integer": "int", "character": "char", "decimal": "bigdecimal", "byte[]": "bytes"}
_OPAQUE = ("kryo ", "enum ", "case ")
_WORD = r"(?:[^\s<>{},:(]|\([^()]*\))+"
_TOKEN = re.compile(rf"\s*([<>{{}},:]|{_WORD}(?: {_WORD})*)")
_COLUMN = re.compile(
    r"(BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DATE|DECIMAL\(\d+,\d+\)"
    r"|(?:CHAR|VARCHAR|BINARY|VARBINARY|TIME|TIMESTAMP|TIMESTAMP_LTZ)\(\d+\))( NOT NULL)?"
)
_LONGEST_COLUMN = 2**31 - 1
_COLUMN_ALIASES = {
    "INTEGER": "INT",
    "STRING": f"VARCHAR({_LONGEST_COLUMN})",
    "BYTES": f"VARBINARY({_LONGEST_COLUMN})",
}
_NUMBERED_TUPLE = re.compile(r"tuple\d*")


@dataclass(frozen=True, slots=True)
class Type:
    """A type.

    Attributes:
        name: in lower case for what Flink knows; the short name of any other class.
        parts: the types that it is made of.
        fields: the fields of a class by name; None where they are not told, and for what has none.
        is_class: whether it is a class of somebody's own.
    """

    name: str
    parts: tuple["Type", ...] = ()
    fields: tuple[tuple[str, "Type"], ...] | None = None
    is_class: bool = False


def parse(text: str) -> Type | None:
    """Return the type that a text spells; None where it spells none."""
    if len(text) > LONGEST:
        return None
    reader = _Reader(_TOKEN.findall(text))
    try:
        type_ = reader.type()
    except (ValueError, IndexError):
        return None
    return type_ if not reader.left else None


def arrows(text: str) -> list[str]:
    """Split ``key → user key → value``, however the arrow is spelt, outside all brackets."""
    parts, depth, begin, place = [], 0, 0, 0
    text = text.replace("->", "→")
    for place, letter in enumerate(text):
        depth += (letter in "<{") - (letter in ">}")
        if letter == "→" and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()]


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.left = tokens[::-1]

    def type(self, depth: int = 0) -> Type:
        """Read one type. Raises: ValueError, IndexError."""
        if depth > MOST_NESTED:
            raise ValueError("nested too deep")
        word = self.left.pop()
        if word in "<>{},:":
            raise ValueError(word)
        if word.lower() == "rowdata" and self._takes("<"):
            return Type("rowdata", self._columns(depth))
        if self._takes("<"):
            parts = [self.type(depth + 1)]
            while self._takes(","):
                parts.append(self.type(depth + 1))
            self._require(">")
            return _composite(word, tuple(parts))
        if self._takes("{"):
            fields = [self._field(depth)] if self.left[-1] != "}" else []
            while self._takes(","):
                fields.append(self._field(depth))
            self._require("}")
            return Type(_short(word), fields=tuple(sorted(fields)), is_class=True)
        return _plain(word)

    def _columns(self, depth: int) -> tuple[Type, ...]:
        """Read the columns of a row of SQL; one that cannot be compared is a class."""
        columns: list[Type] = []
        if self._takes(">"):
            return ()  # the key of a stream that is not partitioned
        while not columns or self._takes(","):
            following = self.type(depth + 1) if self.left[-2:-1] in (["<"], ["{"]) else None
            columns.append(following or _column(self.left.pop()))
        self._require(">")
        return tuple(columns)

    def _field(self, depth: int) -> tuple[str, Type]:
        name = self.left.pop()
        self._require(":")
        return name, self.type(depth + 1)

    def _takes(self, token: str) -> bool:
        if self.left and self.left[-1] == token:
            self.left.pop()
            return True
        return False

    def _require(self, token: str) -> None:
        if not self._takes(token):
            raise ValueError(f"{token} is missing")


def _column(word: str) -> Type:
    if word in "<>{},:":
        raise ValueError(word)
    text = word.upper().removesuffix(" NOT NULL")
    text = _COLUMN_ALIASES.get(text, text).replace(", ", ",")
    text += " NOT NULL" if word.upper().endswith(" NOT NULL") else ""
    return Type(text) if _COLUMN.fullmatch(text) else Type(word, is_class=True)


def _composite(word: str, parts: tuple[Type, ...]) -> Type:
    name = _short(word)
    lowered = name.lower()
    if _NUMBERED_TUPLE.fullmatch(lowered):
        return Type("tuple", parts)
    if lowered in _COMPOSITE:
        return Type(lowered, parts)
    return Type(name, parts, is_class=True)


def _plain(word: str) -> Type:
    if word.startswith(_OPAQUE):
        kind, _, name = word.partition(" ")
        return Type(f"{kind} {_short(name)}", is_class=True)
    name = _short(word.removeprefix("pojo "))
    lowered = _ALIASES.get(name.lower(), name.lower())
    is_simple = lowered in _SIMPLE and not word.startswith("pojo ")
    return Type(lowered) if is_simple else Type(name, is_class=True)


def _short(name: str) -> str:
    """Return the name of a class without its package; people leave that out."""
    return name.rpartition(".")[2]

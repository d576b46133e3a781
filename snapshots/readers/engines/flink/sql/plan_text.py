"""Read what Flink writes of a plan's nodes: ``Join(joinType=[InnerJoin], select=[k, id])``.

Names and types that are not of the forms that Flink writes are left out, never guessed.
"""

import re
from collections.abc import Iterator

LONGEST = 100_000  # characters of one node
_NODE = re.compile(r"(?:\[(\d+)\]:)?([A-Z]\w*)(?:\[\d+\])?\(")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_ALIAS = re.compile(r".* AS ([A-Za-z_$][\w$]*)", re.DOTALL)
_ORDER = re.compile(r"([A-Za-z_$][\w$]*)(?: (?:ASC|DESC)\b.*)?")
_OPEN, _CLOSE = "([{<", ")]}>"
_WORDS = {"STRING": "VARCHAR", "BYTES": "VARBINARY", "INTEGER": "INT", "DEC": "DECIMAL",
          "NUMERIC": "DECIMAL", "TIMESTAMP_WITH_LOCAL_TIME_ZONE": "TIMESTAMP_LTZ",
          "TIMESTAMP_WITHOUT_TIME_ZONE": "TIMESTAMP", "DOUBLE PRECISION": "DOUBLE"}  # fmt: skip


def split(text: str, mark: str = ",") -> Iterator[str]:
    """Yield the parts of a text between marks that stand outside of brackets and quotes."""
    depth, begin, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'`\"":
            quote = letter
        elif letter in _OPEN and not (letter == "<" and text[place + 1 : place + 2] in " =>"):
            depth += 1
        elif letter in _CLOSE and not (letter == ">" and text[place - 1 : place] in " -<"):
            depth -= 1
        elif letter == mark and depth == 0:
            yield text[begin:place].strip()
            begin = place + 1
    if last := text[begin:].strip():
        yield last


def node(text: str) -> tuple[int | None, str, dict[str, str]] | None:
    """Return number, kind and attributes of a node; None for a text of another form."""
    text = text.strip()
    if len(text) > LONGEST or (head := _NODE.match(text)) is None:
        return None
    inner = text[head.end() :]
    inner = inner[: inner.rfind("])") + 1] if "])" in inner else inner.rstrip(")")
    attributes = {}
    for part in split(inner):
        name, equals, value = part.partition("=")
        if equals and _NAME.fullmatch(name) and value.startswith("["):
            attributes[name] = value[1:].removesuffix("]")
    number = head.group(1)
    return None if number is None else int(number), head.group(2), attributes


def selected(text: str) -> list[str | None]:
    """Return the names of selected columns; None for one without a name."""
    return [_selected(part) for part in split(text)]


def _selected(part: str) -> str | None:
    if _NAME.fullmatch(part):
        return part
    alias = _ALIAS.fullmatch(part)
    return None if alias is None else alias.group(1)


def ordered(text: str) -> list[str | None]:
    """Return the names of the columns by which is sorted."""
    found = [_ORDER.fullmatch(part) for part in split(text)]
    return [None if one is None else one.group(1) for one in found]


def type_word(text: str) -> str | None:
    """Return the first word of a type as Cutline calls it: ``VARCHAR`` for ``STRING NOT NULL``."""
    words = text.strip().upper()
    if words.startswith("TIMESTAMP") and ("LOCAL TIME ZONE" in words or "_LTZ" in words):
        return "TIMESTAMP_LTZ"
    head = re.match(r"[A-Z_]+(?: PRECISION)?", words)
    return None if head is None else _WORDS.get(head.group(), head.group())

"""The syntax tree of a checked CEL expression, read from its serialized form.

Source: cel.expr.CheckedExpr, cel-spec `proto/cel/expr/checked.proto` and `syntax.proto`, in
Protocol Buffers' wire format. Only what Cutline looks at is kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

IDENT, SELECT, CALL, CONST, LIST, STRUCT, COMPREHENSION = (
    "ident",
    "select",
    "call",
    "const",
    "list",
    "struct",
    "comprehension",
)
_CHECKED_EXPR, _EXPR, _SOURCE_INFO, _POSITIONS = 2, 4, 5, 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Node:
    """One node. offset: 0-based character where the source names it; of an operator, its sign.

    name: of an ident, a select's field, a call's function. text: of a constant string, else None.
    children: in the order of the source; of a comprehension its range and then the parts of its
    loop, in which ``bound`` are the names that stand for the items. is_test: a select in has(…).
    raw: the node as it was serialized.
    """

    kind: str
    offset: int
    raw: bytes
    name: str = ""
    text: str | None = None
    children: tuple["Node", ...] = ()
    bound: frozenset[str] = field(default_factory=frozenset)
    is_test: bool = False

    def is_call(self, function: str) -> bool:
        """Tell whether the node calls this function."""
        return self.kind == CALL and self.name == function


def read(serialized: bytes) -> Node:
    """The tree of ``Expression.serialize()``."""
    checked = _one(serialized, _CHECKED_EXPR)
    info = _one(checked, _SOURCE_INFO)
    positions = {}
    for entry in _all(info, _POSITIONS):
        pair = dict(_fields(entry))
        positions[pair.get(1, 0)] = pair.get(2, 0)
    return _node(_one(checked, _EXPR), positions)


def part(serialized: bytes, node: Node) -> bytes:
    """The serialized form of one node of the tree as an expression of its own."""
    checked = _one(serialized, _CHECKED_EXPR)
    kept = b"".join(
        _written(number, value)
        for number, value in _fields(checked)
        if number != _EXPR and isinstance(value, bytes)
    )
    return _written(1, _one(serialized, 1)) + _written(
        _CHECKED_EXPR, kept + _written(_EXPR, node.raw)
    )


def _node(raw: bytes, positions: Mapping[int, int]) -> Node:
    parts = dict(_fields(raw))
    offset = positions.get(parts.pop(2, 0), 0)
    ((number, body),) = parts.items() or ((0, b""),)

    def children(*numbers: int) -> tuple[Node, ...]:
        return tuple(_node(item, positions) for n in numbers for item in _all(body, n))

    if number == 3:
        text = dict(_fields(body)).get(6)
        return Node(CONST, offset, raw, text=None if text is None else text.decode())
    if number == 4:
        return Node(IDENT, offset, raw, name=_text(body, 1))
    if number == 5:
        is_test = bool(dict(_fields(body)).get(3))
        name = _text(body, 2)
        return Node(SELECT, offset, raw, name=name, children=children(1), is_test=is_test)
    if number == 6:
        return Node(CALL, offset, raw, name=_text(body, 2), children=children(1, 3))
    if number == 7:
        return Node(LIST, offset, raw, children=children(1))
    if number == 8:
        values = [
            _node(item, positions)
            for entry in _all(body, 2)
            for n in (3, 4)
            for item in _all(entry, n)
        ]
        return Node(STRUCT, offset, raw, children=tuple(values))
    bound = frozenset(filter(None, (_text(body, n) for n in (1, 3, 8))))
    return Node(COMPREHENSION, offset, raw, children=children(2, 4, 5, 6, 7), bound=bound)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of every field of a message; lengths and varints are decoded."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size, at = _varint(data, at) if wire == _BYTES else ({_FIXED64: 8, _FIXED32: 4}[wire], at)
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _written(number: int, value: bytes) -> bytes:
    size, head = len(value), bytes([number << 3 | _BYTES])
    while size > 0x7F:
        head += bytes([size & 0x7F | 0x80])
        size >>= 7
    return head + bytes([size]) + value


def _all(data: bytes, wanted: int) -> list[bytes]:
    return [value for number, value in _fields(data) if number == wanted]


def _one(data: bytes, wanted: int) -> bytes:
    return next(iter(_all(data, wanted)), b"")


def _text(data: bytes, wanted: int) -> str:
    return _one(data, wanted).decode()

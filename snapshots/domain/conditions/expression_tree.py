"""Read the syntax tree of a checked CEL expression from its serialized form.

Source: cel.expr.CheckedExpr, cel-spec `proto/cel/expr/checked.proto` and `syntax.proto`, in
Protocol Buffers' wire format. Only the parts that Cutline uses are read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

IDENT, SELECT, CALL, CONST = "ident", "select", "call", "const"
LIST, STRUCT, COMPREHENSION = "list", "struct", "comprehension"
_CHECKED_EXPR, _EXPR, _SOURCE_INFO, _POSITIONS = 2, 4, 5, 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class Node:
    """One node of the syntax tree.

    Attributes:
        offset: the place in the source, in characters from 0; for an operator, that of its sign.
        raw: the node as it was serialized.
        name: the name of an ident, the field of a select, or the function of a call.
        text: the text of a constant string; None for other nodes.
        children: the parts in the order of the source. A comprehension has its range, then its
            loop.
        bound: the names that stand for items in the loop of a comprehension.
        is_test: whether the node is the select in ``has(…)``.
    """

    kind: str
    offset: int
    raw: bytes
    name: str = ""
    text: str | None = None
    children: tuple["Node", ...] = ()
    bound: frozenset[str] = frozenset()
    is_test: bool = False

    def is_call(self, function: str) -> bool:
        """Tell whether the node calls this function."""
        return self.kind == CALL and self.name == function


def read(serialized: bytes) -> Node:
    """Read the tree from the result of CEL's ``serialize()``."""
    checked = _first(serialized, _CHECKED_EXPR)
    positions = {
        _number(entry, 1): _number(entry, 2)
        for entry in _all(_first(checked, _SOURCE_INFO), _POSITIONS)
    }
    return _node(_first(checked, _EXPR), positions)


def part(serialized: bytes, node: Node) -> bytes:
    """Serialize one node of the tree as an expression of its own."""
    checked = _first(serialized, _CHECKED_EXPR)
    kept = b"".join(
        _written(number, value)
        for number, value in _fields(checked)
        if number != _EXPR and isinstance(value, bytes)
    )
    return _written(1, _first(serialized, 1)) + _written(
        _CHECKED_EXPR, kept + _written(_EXPR, node.raw)
    )


def _node(raw: bytes, positions: Mapping[int, int]) -> Node:
    offset = positions.get(_number(raw, 2), 0)
    bodies = ((n, body) for n, body in _fields(raw) if n != 2 and isinstance(body, bytes))
    number, body = next(bodies, (0, b""))

    def children(*numbers: int) -> tuple[Node, ...]:
        return tuple(_node(item, positions) for n in numbers for item in _all(body, n))

    if number == 3:
        texts = _all(body, 6)
        return Node(CONST, offset, raw, text=texts[0].decode() if texts else None)
    if number == 4:
        return Node(IDENT, offset, raw, name=_text(body, 1))
    if number == 5:
        is_test, name = bool(_number(body, 3)), _text(body, 2)
        return Node(SELECT, offset, raw, name=name, children=children(1), is_test=is_test)
    if number == 6:
        return Node(CALL, offset, raw, name=_text(body, 2), children=children(1, 3))
    if number == 7:
        return Node(LIST, offset, raw, children=children(1))
    if number == 8:
        values = (item for entry in _all(body, 2) for n in (3, 4) for item in _all(entry, n))
        return Node(STRUCT, offset, raw, children=tuple(_node(item, positions) for item in values))
    bound = frozenset(filter(None, (_text(body, n) for n in (1, 3, 8))))
    return Node(COMPREHENSION, offset, raw, children=children(2, 4, 5, 6, 7), bound=bound)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (number, value) of every field of a message, with lengths and varints decoded."""
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
    values = (value for number, value in _fields(data) if number == wanted)
    return [value for value in values if isinstance(value, bytes)]


def _first(data: bytes, wanted: int) -> bytes:
    return next(iter(_all(data, wanted)), b"")


def _text(data: bytes, wanted: int) -> str:
    return _first(data, wanted).decode()


def _number(data: bytes, wanted: int) -> int:
    """Return the varint in a field, or 0, which is not written."""
    values = (value for number, value in _fields(data) if number == wanted)
    return next((value for value in values if isinstance(value, int)), 0)

"""Give the columns in the state of a query their names, by a plan or by CREATE TABLE.

An operator is found in a plan by its number, if that is surely the job's; else by its kind and the
columns of its states, and only if all nodes that fit say the same. Names are given only where as
many columns of the same types are there; where not, a note says so.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from snapshots.domain.inventory.columns import Columns, NamedColumn
from snapshots.readers.engines.flink.sql import plan_text
from snapshots.readers.engines.flink.sql.plans import Naming, Node, Plan, Table
from snapshots.readers.engines.flink.types.composites import (
    ListSerializer,
    TtlSerializer,
    TupleSerializer,
)
from snapshots.readers.engines.flink.types.operators import FieldsSerializer
from snapshots.readers.engines.flink.types.sql_columns import IN_SQL, Column
from snapshots.readers.engines.flink.types.sql_rows import RowDataSerializer
from snapshots.readers.engines.flink.types.values import Serializer

_NUMBER = re.compile(r"\w+\[(\d+)\]")
_HASHED = re.compile(r"hash\[(.*)\]")
_INPUT = re.compile(r"(?:multi-join-input-)(\d+)")
_SIDES = {"left-records": 0, "right-records": 1, "left": 0, "right": 1,
          "IntervalJoinLeftCache": 0, "IntervalJoinRightCache": 1}  # fmt: skip
_OF_INPUT = {
    "data-state", "data-state-with-append", "data-state-with-update", "Top1-Rank-State",
    "deduplicate-state", "waiting-to-emit-on-timer", "window_rank", "window_deduplicate",
    "inputState", "valueMapState", "dataState", "values", "list", "sqnToNodeState",
    "sharedBuffer-events", "eventQueuesStateName",
}  # fmt: skip
_SORTED = {"data-state", "data-state-with-append", "window_rank", "sorted-map"}
_KEYS = ("groupBy", "partitionBy", "key", "pk", "partitionKeys")
_OF_JOIN = {"Join", "WindowJoin", "IntervalJoin", "TemporalJoin", "MultiJoin"}
_SAME = {"SinkMaterializer": "Sink"}  # what a compiled plan calls an operator

Names = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows in one state, by the serializers of its key and its values."""

    key: tuple[Column, ...]
    user_key: tuple[Column, ...] | None
    row: tuple[Column, ...] | None


def rows_of(key: Serializer, user_key: Serializer | None, value: Serializer) -> Rows:
    """Return the rows in a state; None where a part has none."""
    of_map = None if user_key is None else _row(user_key)
    if of_map and all(column.names for column in of_map):
        of_map = None  # rows in rows, whose names the bytes have
    return Rows(_row(key) or (), of_map, _row(value))


def _row(serializer: Serializer) -> tuple[Column, ...] | None:
    match serializer:
        case RowDataSerializer(columns=columns):
            return columns
        case ListSerializer(element=inner) | TtlSerializer(value=inner):
            return _row(inner)
        case TupleSerializer(fields=fields) if fields:
            return _row(fields[0])
        case FieldsSerializer(parts=parts) if parts:
            return _row(parts[0])
    element = getattr(serializer, "element", None)
    return _row(element) if isinstance(element, Serializer) else None


@dataclass(frozen=True, slots=True)
class Named:
    """The names for the states of one operator.

    Attributes:
        states: the columns of each state that has names.
        ttl: the time to live of each state, in the words of a compiled plan.
        zone: the time zone of the session, by a compiled plan.
        notes: which names were not given, and why, as sentences.
    """

    states: Mapping[str, Columns]
    ttl: Mapping[str, str]
    zone: str | None
    notes: tuple[str, ...]


NOT_NAMED = Named({}, {}, None, ())


def named(
    naming: Naming, graph: Plan | None, kind: str, name: str | None, states: Mapping[str, Rows]
) -> Named:
    """Name the columns in the states of an operator."""
    found: dict[str, Columns] = {}
    notes: list[str] = []
    ttl: dict[str, str] = {}
    zone = None
    own = _Operator(kind, name, states, _by_number(graph, kind, name))
    for plan in (*naming.plans, *(() if graph is None else (graph,))):
        nodes, note = _nodes(plan, own)
        if note is not None and not found:
            notes.append(note)
        if not nodes:
            continue
        if all(node.ttl == nodes[0].ttl for node in nodes):
            ttl = ttl or _ttl(nodes[0], kind, states)
        if all(node.zone == nodes[0].zone for node in nodes):
            zone = zone or nodes[0].zone
        for state, rows in states.items():
            if state not in found and (columns := _columns(plan, nodes[0], kind, state, rows)):
                found[state] = columns
    for state, rows in states.items():
        if naming.tables and state not in found and _place(kind, state) is not None:
            table, note = _table(naming.tables, rows)
            if table is not None:
                found[state] = table
            elif note not in notes:
                notes.append(note)
    return Named(found, ttl, zone, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Operator:
    """An operator, with its node in the job's graph if the REST API told that."""

    kind: str
    name: str | None
    states: Mapping[str, Rows]
    node: Node | None


def _by_number(graph: Plan | None, kind: str, name: str | None) -> Node | None:
    number = _NUMBER.match(name or "")
    if graph is None or number is None:
        return None
    own = [one for one in graph.nodes if one.number == int(number.group(1)) and one.kind == kind]
    return own[0] if len(own) == 1 else None


# --- by a plan ------------------------------------------------------------------------------------


def _ttl(node: Node, kind: str, states: Iterable[str]) -> dict[str, str]:
    """Return the time to live of each state; that of a side of a join by the side's number."""
    told = list(node.ttl.values())
    if len(told) == 1:
        return dict.fromkeys(states, told[0])
    places = {state: _place(kind, state) for state in states}
    return {
        state: told[place]
        for state, place in places.items()
        if place is not None and place < len(told) and kind in _OF_JOIN
    }


def _nodes(plan: Plan, own: _Operator) -> tuple[list[Node], str | None]:
    """Return the nodes that an operator may be, which say the same, or why there are none.

    The text of its node in the job's graph tells it apart from others that fit as well.
    """
    if plan.has_numbers:
        return ([] if own.node is None else [own.node]), None
    kind, name, states = own.kind, own.name, own.states
    same = [node for node in plan.nodes if node.kind in (kind, _SAME.get(kind))]
    if not same:
        return [], None
    fitting = [node for node in same if _fits(node, kind, states)]
    number = _NUMBER.match(name or "")
    by_number = [node for node in fitting if number and node.number == int(number.group(1))]
    by_text = [node for node in fitting if own.node and node.attributes == own.node.attributes]
    fitting = by_number or by_text or fitting
    if not fitting:
        counts = "; ".join(dict.fromkeys(_counts(node) for node in same[:3]))
        return [], (
            f"{plan.file}: its names are not given to {name or kind}, because no {kind} in it has "
            f"columns as this one has. There: {counts}."
        )
    said = {tuple(map(str, _said(node, kind, states))) for node in fitting}
    if len(said) == 1:
        return fitting, None
    return [], (
        f"{plan.file}: its names are not given to {name or kind}, because {len(fitting)} nodes in "
        "it fit and name the columns differently."
    )


def _counts(node: Node) -> str:
    counts = [len(known[0]) if (known := one.columns()) else None for one in node.inputs]
    texts = ["not known" if count is None else str(count) for count in counts]
    return f"inputs with {' and '.join(texts)} columns" if texts else "inputs that are not known"


def _said(node: Node, kind: str, states: Mapping[str, Rows]) -> Iterator[object]:
    for state, rows in states.items():
        yield _names(node, kind, state, rows)


def _fits(node: Node, kind: str, states: Mapping[str, Rows]) -> bool:
    """Tell whether every row of an operator has as many columns as a node, of the same types."""
    is_told = False
    for state, rows in states.items():
        key, user_key, row, types = _names(node, kind, state, rows)
        for names, columns in ((key, rows.key), (user_key, rows.user_key), (row, rows.row)):
            if names is not None and columns is not None:
                is_told = True
                if len(names) != len(columns):
                    return False
        columns = _row_columns(rows)
        if types is not None and columns is not None and not _same_types(types, columns):
            return False
    return is_told


def _row_columns(rows: Rows) -> tuple[Column, ...] | None:
    return rows.row if rows.row is not None else rows.user_key


def _same_types(types: Names, columns: tuple[Column, ...]) -> bool:
    return len(types) == len(columns) and all(
        type_ is None or IN_SQL.get(column.type) in (None, type_)
        for type_, column in zip(types, columns, strict=True)
    )


def _columns(plan: Plan, node: Node, kind: str, state: str, rows: Rows) -> Columns | None:
    key, user_key, row, _ = _names(node, kind, state, rows)
    parts = [
        None if names is None or columns is None or len(names) != len(columns) else names
        for names, columns in ((key, rows.key), (user_key, rows.user_key), (row, rows.row))
    ]
    if not any(part and any(part) for part in parts):
        return None
    told = f"{plan.words} in {plan.file}" if plan.file else plan.words
    return Columns(
        _named(parts[0], rows.key),
        _named(parts[1], rows.user_key),
        _named(parts[2], rows.row),
        told,
    )


def _named(names: Names | None, columns: tuple[Column, ...] | None) -> tuple[NamedColumn, ...]:
    if names is None or columns is None or not any(names):
        return ()
    return tuple(
        NamedColumn(name, column.in_full) for name, column in zip(names, columns, strict=True)
    )


def _names(
    node: Node, kind: str, state: str, rows: Rows
) -> tuple[Names | None, Names | None, Names | None, Names | None]:
    """Return the names of key, user key and row, and the types of the row."""
    key = _key_names(node)
    user_key = None
    if state in _SORTED and "orderBy" in node.attributes:
        user_key = tuple(plan_text.ordered(node.attributes["orderBy"]))
    row = types = None
    if (place := _place(kind, state)) is not None:
        row, types = _input(node, place, len(_row_columns(rows) or ()))
    elif state == "accState":
        row = _accumulators(node, rows)
    if rows.row is None and row is not None:
        user_key, row = row, None
    return key, user_key, row, types


def _place(kind: str, state: str) -> int | None:
    """Return which input of an operator the rows of a state are of."""
    if kind in _OF_JOIN:
        numbered = _INPUT.fullmatch(state)
        return int(numbered.group(1)) if numbered else _SIDES.get(state)
    return 0 if state in _OF_INPUT else None


def _input(node: Node, place: int, count: int) -> tuple[Names | None, Names | None]:
    """Return names and types of an input; by what a join puts out, if the input is not known."""
    if len(node.inputs) > place and (known := node.inputs[place].columns()):
        return known
    output = node.own
    if node.inputs or output is None or not count or node.kind not in _OF_JOIN or place > 1:
        return None, None
    names = output[:count] if place == 0 else output[-count:]
    return (names, None) if len(output) > count else (None, None)


def _key_names(node: Node) -> Names | None:
    for name in _KEYS:
        if name in node.attributes:
            return tuple(plan_text.selected(node.attributes[name]))
    if node.inputs and node.inputs[0].kind == "Exchange":
        hashed = _HASHED.fullmatch(node.inputs[0].attributes.get("distribution", ""))
        return tuple(plan_text.selected(hashed.group(1))) if hashed else None
    return None


def _accumulators(node: Node, rows: Rows) -> Names | None:
    """Return the names of aggregates if each of them has one accumulator, and nothing else has."""
    keys = set(_key_names(node) or ())
    if "select" not in node.attributes or rows.row is None:
        return None
    names = [one for one in plan_text.selected(node.attributes["select"]) if one not in keys]
    return tuple(names) if len(names) == len(rows.row) and "groupBy" in node.attributes else None


# --- by CREATE TABLE ------------------------------------------------------------------------------


def _table(tables: Iterable[Table], rows: Rows) -> tuple[Columns | None, str]:
    if (row := _row_columns(rows)) is None:
        return None, "Rows whose types are not known get no names of a table."
    fitting = [table for table in tables if any(table.types) and _same_types(table.types, row)]
    types = ", ".join(IN_SQL.get(column.type, column.type) for column in row)
    if len({table.names for table in fitting}) == 1:
        told = f"CREATE TABLE {fitting[0].name} in {fitting[0].file}, by the types alone"
        names = _named(fitting[0].names, row)
        return Columns((), () if rows.row else names, names if rows.row else (), told), ""
    if fitting:
        return None, f"Several tables have columns of the types {types}: no names are given."
    return None, f"No table that was given has exactly columns of the types {types}: no names."

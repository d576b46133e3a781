"""Read what names the columns of a query: a compiled plan, EXPLAIN, a job's graph, CREATE TABLE.

Each of them is optional and comes from outside, so that sizes, depths and counts are bounded, and
what has another form than Flink's is left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from snapshots.readers.engines.flink.rest.job_graph import JobGraph, preceding
from snapshots.readers.engines.flink.sql import plan_text

MOST_BYTES = 4 * 2**20  # of one file
MOST_NODES = 5_000
MOST_TABLES = 1_000
MOST_FILES = 20
MOST_LINES = 50_000  # of EXPLAIN
MOST_PASSED = 50  # nodes that leave the columns as they are, one behind the other

_EXPLAIN = "EXPLAIN"
_EXPLAINED = b"== Optimized "
_TABLE = re.compile(rb"\bCREATE\s+(?:TEMPORARY\s+)?TABLE\b", re.IGNORECASE)
_CREATE = re.compile(
    r"\bCREATE\s+(?:TEMPORARY\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.`$-]+)\s*\(", re.IGNORECASE
)
_TREE = re.compile(r"^((?:[ :] {2})*)([:+]- )?")
_REUSE = re.compile(r"\(reuse_id=\[(\d+)\]\)$")
_REUSED = re.compile(r"Reused\(reference_id=\[(\d+)\]\)")
_ROW = re.compile(r"ROW<(.*)>(?: NOT NULL)?", re.DOTALL)
_COLUMN = re.compile(r"`((?:[^`]|``)+)`\s+(.+)", re.DOTALL)
_NO_COLUMN = ("PRIMARY", "CONSTRAINT", "WATERMARK", "UNIQUE", "PERIOD", "LIKE", "DISTRIBUTED")
_PASSING = {"Exchange", "WatermarkAssigner", "ConstraintEnforcer", "MiniBatchAssigner",
            "DropUpdateBefore", "StreamRecordTimestampInserter", "Deduplicate", "Limit",
            "TemporalSort", "ChangelogNormalize", "WindowDeduplicate"}  # fmt: skip
_OUTPUTS = ("select", "fields", "union")

Names = tuple[str | None, ...]


@dataclass(slots=True)
class Node:
    """A node of a plan.

    Attributes:
        number: its number in the plan; None where the plan gives none.
        kind: such as ``Join``.
        own: the columns that it puts out, as far as its own text tells.
        types: the first words of their types, where the plan has them.
        ttl: the times to live of its states by name.
        zone: the time zone of the session.
    """

    number: int | None
    kind: str
    attributes: dict[str, str]
    own: Names | None = None
    types: Names | None = None
    inputs: list["Node"] = field(default_factory=list)
    ttl: dict[str, str] = field(default_factory=dict)
    zone: str | None = None

    def columns(self) -> tuple[Names, Names | None] | None:
        """Return the names of the columns that it puts out and, where known, their types."""
        node = self
        for _ in range(MOST_PASSED):
            if node.own is not None:
                return node.own, node.types
            if node.kind not in _PASSING or len(node.inputs) != 1:
                return None
            node = node.inputs[0]
        return None


@dataclass(frozen=True, slots=True)
class Plan:
    """The nodes of a query.

    Attributes:
        file: where it was read; None for the answers of the REST API.
        words: what it is, for people.
        has_numbers: whether its numbers are surely those of the job's operators.
    """

    file: str | None
    words: str
    nodes: tuple[Node, ...]
    has_numbers: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of CREATE TABLE; a computed column has no type."""

    file: str
    name: str
    names: tuple[str, ...]
    types: Names


@dataclass(frozen=True, slots=True)
class Naming:
    """All that names columns in one upload."""

    plans: tuple[Plan, ...] = ()
    tables: tuple[Table, ...] = ()


def begins_as_naming(head: bytes) -> bool:
    """Tell whether a file begins as a compiled plan, as EXPLAIN, or has CREATE TABLE."""
    is_plan = head.lstrip().startswith(b"{") and b'"flinkVersion"' in head[:200]
    return is_plan or b"== Abstract Syntax Tree ==" in head or bool(_TABLE.search(head))


def read_naming(files: Iterable[tuple[str, bytes | memoryview]]) -> tuple[Naming, dict[str, str]]:
    """Return what files name, and of each file that names nothing the reason."""
    plans, tables, unread = [], [], {}
    for count, (path, data) in enumerate(files):
        content = bytes(data[:MOST_BYTES])
        if count >= MOST_FILES:
            unread[path] = f"{MOST_FILES} other files that name columns were read."
        elif len(data) > MOST_BYTES:
            unread[path] = f"It is larger than {MOST_BYTES // 2**20} MiB."
        elif content.lstrip().startswith(b"{"):
            if nodes := _compiled(content):
                plans.append(Plan(path, "the compiled plan", nodes))
            else:
                unread[path] = "It is no compiled plan of Flink with nodes and edges."
        elif _EXPLAINED in content:
            plans.append(Plan(path, _EXPLAIN, _explained(content.decode("utf-8", "replace"))))
        elif found := _created(path, content.decode("utf-8", "replace")):
            tables += found
        else:
            unread[path] = "No columns were found in it."
    plans.sort(key=lambda plan: plan.words == _EXPLAIN)  # a compiled plan has numbers and types
    return Naming(tuple(plans), tuple(tables)), unread


def of_graph(graph: JobGraph) -> Plan:
    """Return the plan that a job's graph in the REST API describes.

    The inputs of a vertex are known only where the vertices before it have a single end.
    """
    chains: dict[str, list[Node | None]] = {}
    ends: dict[str, Node | None] = {}
    for vertex in graph.vertices:
        chain = [_described(member) for member in vertex.members]
        before = preceding("\n".join(vertex.members)) if len(chain) > 1 else ()
        chains[vertex.id] = chain
        is_line = before is not None and list(before) == list(range(len(chain) - 1))
        ends[vertex.id] = chain[-1] if chain and is_line else None
        for node, earlier in zip(chain[1:], chain[:-1], strict=True) if is_line else ():
            if node is not None and earlier is not None:
                node.inputs.append(earlier)
    for vertex in graph.vertices:
        inputs = [ends.get(one.source) for one in sorted(vertex.inputs, key=lambda one: one.gate)]
        first = next(iter(chains[vertex.id]), None)
        if first is not None and all(inputs):
            first.inputs = [one for one in inputs if one is not None]
    nodes = [node for chain in chains.values() for node in chain if node is not None]
    return Plan(None, "the job's plan in the REST API", tuple(nodes[:MOST_NODES]), True)


def _described(text: str) -> Node | None:
    if (parts := plan_text.node(text)) is None:
        return None
    number, kind, attributes = parts
    output = next((attributes[name] for name in _OUTPUTS if name in attributes), None)
    return Node(
        number, kind, attributes, None if output is None else tuple(plan_text.selected(output))
    )


# --- compiled plans -------------------------------------------------------------------------------


def _compiled(content: bytes) -> tuple[Node, ...]:
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        return ()
    listed, edges = (body.get(name) for name in ("nodes", "edges"))
    if not isinstance(listed, list) or not isinstance(edges, list) or len(listed) > MOST_NODES:
        return ()
    nodes = {}
    for item in listed:
        if isinstance(item, dict) and (node := _of_compiled(item)) is not None:
            nodes[node.number] = node
    for edge in edges[: 2 * MOST_NODES]:
        if not isinstance(edge, dict):
            continue
        source, target = (edge.get(name) for name in ("source", "target"))
        if isinstance(source, int) and isinstance(target, int) and {source, target} <= nodes.keys():
            nodes[target].inputs.append(nodes[source])
    return tuple(nodes.values())


def _of_compiled(item: dict[str, Any]) -> Node | None:
    number, description = item.get("id"), item.get("description")
    if not isinstance(number, int) or not isinstance(description, str):
        return None
    if (node := _described(description)) is None:
        return None
    node.number = number
    if (typed := _row_type(item.get("outputType"))) is not None:
        node.own, node.types = typed
    states = item.get("state")
    for state in states if isinstance(states, list) else ():
        name, ttl = (
            (state.get("name"), state.get("ttl")) if isinstance(state, dict) else (None,) * 2
        )
        if isinstance(name, str) and isinstance(ttl, str):
            node.ttl[name] = ttl
    settings = item.get("configuration")
    zone = settings.get("table.local-time-zone") if isinstance(settings, dict) else None
    node.zone = zone if isinstance(zone, str) else None
    return node


def _row_type(value: Any) -> tuple[Names, Names] | None:
    """Return names and types of a row's columns, in either of the forms of compiled plans."""
    if isinstance(value, str) and len(value) <= plan_text.LONGEST:
        if (row := _ROW.fullmatch(value)) is None:
            return None
        found = [_COLUMN.fullmatch(part) for part in plan_text.split(row.group(1))]
        columns = [(one.group(1), plan_text.type_word(one.group(2))) for one in found if one]
        return _pairs(columns) if len(columns) == len(found) else None
    fields = value.get("fields") if isinstance(value, dict) else None
    if not isinstance(fields, list):
        return None
    columns = []
    for item in fields:
        if not isinstance(item, dict) or not isinstance(name := item.get("name"), str):
            return None
        type_ = item.get("fieldType")
        text = type_.get("type") if isinstance(type_, dict) else type_
        columns.append((name, plan_text.type_word(text) if isinstance(text, str) else None))
    return _pairs(columns)


def _pairs(columns: list[tuple[str, str | None]]) -> tuple[Names, Names]:
    return tuple(name for name, _ in columns), tuple(type_ for _, type_ in columns)


# --- EXPLAIN --------------------------------------------------------------------------------------


def _explained(text: str) -> tuple[Node, ...]:
    """Return the nodes of the last tree of EXPLAIN, the optimized execution plan."""
    sections = text.split("== Optimized Execution Plan ==")
    if len(sections) == 1:
        sections = text.split("== Optimized Physical Plan ==")
    nodes: list[Node] = []
    named: dict[str, Node] = {}
    at: dict[int, Node] = {}
    reused: list[tuple[Node, int, str]] = []
    for line in sections[-1].splitlines()[:MOST_LINES]:
        if line.startswith("== ") or len(nodes) >= MOST_NODES:
            break
        tree = _TREE.match(line)
        body = line[tree.end() :].strip() if tree else ""
        depth = (len(tree.group(1)) // 3 + (tree.group(2) is not None)) if tree else 0
        if not body:
            at = {}
            continue
        parent = at.get(depth - 1)
        if again := _REUSED.fullmatch(body):
            if parent is not None:
                reused.append((parent, len(parent.inputs), again.group(1)))
                parent.inputs.append(parent)  # its place, until all are read
            continue
        if (node := _described(_REUSE.sub("", body))) is None:
            node = Node(None, "", {})
        nodes.append(node)
        at[depth] = node
        if own := _REUSE.search(body):
            named[own.group(1)] = node
        if parent is not None:
            parent.inputs.append(node)
    for parent, place, name in reused:
        parent.inputs[place] = named.get(name, Node(None, "", {}))
    return tuple(nodes)


# --- CREATE TABLE ---------------------------------------------------------------------------------


def _created(path: str, text: str) -> list[Table]:
    tables: list[Table] = []
    place = 0
    while len(tables) < MOST_TABLES and (found := _CREATE.search(text, place)):
        if (body := _inner(text, found.end())) is None:
            break
        place = found.end() + len(body)
        columns = []
        for part in plan_text.split(body):
            name, _, rest = part.partition(" ")
            if name.upper() in _NO_COLUMN or not rest.strip():
                continue
            is_computed = rest.strip().upper().startswith("AS ")
            columns.append((name.strip("`"), None if is_computed else plan_text.type_word(rest)))
        if columns:
            own = found.group(1).replace("`", "").rpartition(".")[2]
            names = tuple(name for name, _ in columns)
            tables.append(Table(path, own, names, tuple(type_ for _, type_ in columns)))
    return tables


def _inner(text: str, begin: int) -> str | None:
    """Return what stands up to the bracket that closes; None if it is longer than one node."""
    depth, quote = 1, ""
    for place in range(begin, min(len(text), begin + plan_text.LONGEST)):
        letter = text[place]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'`\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if not depth:
                return text[begin:place]
    return None

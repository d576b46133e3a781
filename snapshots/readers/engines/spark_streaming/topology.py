"""Derive the graph of a query from its checkpoint.

A checkpoint stores no edges and no stateless operators. Operators are numbered from the sink
towards the sources, so a chain can be drawn by descending id. Two operators side by side look like
two in a row. Edges are *settled* if there is only one way to draw them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snapshots.readers.engines.spark_streaming.documents import Json
from snapshots.readers.engines.spark_streaming.logs.offsets import kind_of
from snapshots.readers.engines.spark_streaming.progress import Progress
from snapshots.readers.engines.spark_streaming.state.operators import Operator

SINK = "sink"


@dataclass(frozen=True)
class SourceNode:
    """A source of the query.

    Attributes:
        id: its index in the offset log, or its name.
        description: the description in progress reports.
    """

    id: str
    kind: str
    description: str | None = None


@dataclass(frozen=True)
class OperatorNode:
    """A stateful operator of the query.

    Attributes:
        name: the name in the checkpoint's metadata.
        reported_name: the name in progress reports.
    """

    id: int
    name: str | None
    reported_name: str | None
    partitions: int | None


@dataclass(frozen=True)
class Topology:
    """The graph of a query.

    Attributes:
        edges: pairs of ``source:<id>``, ``op:<id>`` and ``sink``.
        assumed: whether the edges are not settled.
        note: why the edges are assumed, as sentences.
    """

    sources: tuple[SourceNode, ...]
    operators: tuple[OperatorNode, ...]
    sink: str | None
    edges: tuple[tuple[str, str], ...]
    assumed: bool
    note: str | None


def derive_topology(
    offsets: Mapping[int, Mapping[str, Json]],
    operators: Sequence[Operator],
    reports: Sequence[Progress],
    folders: Mapping[str, str | None],
    sink: str | None = None,
) -> Topology:
    """Return the graph of a query.

    Args:
        offsets: the offset of each source by batch.
        operators: the stateful operators.
        reports: progress reports of the query.
        folders: the folder of each file source's input files.
        sink: the sink in the commit log, used if no report names one.
    """
    newest = offsets[max(offsets)] if offsets else {}
    texts = _descriptions(offsets, reports, folders)
    sources = tuple(SourceNode(name, _kind(name, offsets), texts.get(name)) for name in newest)
    reported = _reported_names(operators, reports)
    nodes = tuple(
        OperatorNode(each.id, each.name, reported.get(each.id), each.partitions)
        for each in operators
    )
    joins = {node.id for node in nodes if "HashJoin" in (node.name or node.reported_name or "")}
    edges = _edges([source.id for source in sources], [node.id for node in nodes], joins)
    settled = len(nodes) == 0 or (len(nodes) == 1 and (len(sources) == 1 or bool(joins)))
    settled = settled and (not joins or len(sources) <= 2)
    return Topology(
        sources,
        nodes,
        next((report.sink for report in reversed(reports) if report.sink), sink),
        edges,
        not settled,
        None if settled else _why(len(sources), len(nodes)),
    )


def _why(sources: int, operators: int) -> str:
    if operators > 1:
        return (
            "The checkpoint has no edges. Its stateful operators are drawn in a row, from the "
            "highest id to the lowest; some may lie side by side."
        )
    return (
        f"The checkpoint has no edges. All {sources} sources are drawn into the one stateful "
        "operator; some may go past it."
    )


def _kind(source: str, offsets: Mapping[int, Mapping[str, Json]]) -> str:
    """Return the kind of a source, judged by its newest offset; it may have none yet."""
    known = (offsets[batch].get(source) for batch in sorted(offsets, reverse=True))
    return kind_of(next((offset for offset in known if offset is not None), None))


def _reported_names(operators: Sequence[Operator], reports: Sequence[Progress]) -> dict[int, str]:
    """Return the names of operators in the newest report, which lists them by ascending id."""
    ids = [operator.id for operator in operators]
    for report in reversed(reports):
        names: list[Json] = [operator.get("operatorName") for operator in report.operators]
        if ids == list(range(len(names))) and all(isinstance(name, str) for name in names):
            return dict(zip(ids, names, strict=True))
    return {}


def _descriptions(
    offsets: Mapping[int, Mapping[str, Json]],
    reports: Sequence[Progress],
    folders: Mapping[str, str | None],
) -> dict[str, str]:
    """Return the description of each source for which one is certain.

    Version 1 of the offset log has the order of the reports. Version 2 has names in an order of its
    own. There a description belongs to a source if the end offsets of all reports and the folder
    of the source's files agree with it, and no other description fits.
    """
    seen = [report for report in reports if report.batch in offsets and not report.idle]
    if not seen:
        return {}
    names = list(offsets[seen[-1].batch])
    indexes = range(len(seen[-1].sources))
    if len(names) != len(indexes):
        return {}
    if names == [str(index) for index in indexes]:
        fitting = {name: [index] for index, name in enumerate(names)}
    else:
        fitting = {
            name: [i for i in indexes if _fits(name, i, offsets, seen, folders.get(name))]
            for name in names
        }
    descriptions = {}
    for name, candidates in fitting.items():
        others = {i for other, fits in fitting.items() if other != name for i in fits}
        own = [i for i in candidates if i not in others] or candidates
        if len(own) == 1 and (description := seen[-1].sources[own[0]].description):
            descriptions[name] = description
    return descriptions


def _fits(
    name: str,
    index: int,
    offsets: Mapping[int, Mapping[str, Json]],
    reports: Sequence[Progress],
    folder: str | None,
) -> bool:
    for report in reports:
        if len(report.sources) <= index:
            return False
        if report.sources[index].end != offsets[report.batch].get(name):
            return False
    description = reports[-1].sources[index].description or ""
    return folder is None or not description.startswith("FileStream") or f"{folder}]" in description


def _edges(
    sources: list[str], operators: list[int], joins: set[int]
) -> tuple[tuple[str, str], ...]:
    """Draw the chain from the sink upwards; the operators above a join are its left input."""
    edges: list[tuple[str, str]] = []
    ids = [f"source:{source}" for source in sources]
    below = SINK
    for index, operator in enumerate(operators, start=1):
        node = f"op:{operator}"
        edges.append((node, below))
        if operator in joins and index < len(operators) and len(ids) > 1:
            edges.append((ids.pop(), node))
        below = node
    inputs = [(source, below) for source in ids]
    return (*inputs, *reversed(edges))

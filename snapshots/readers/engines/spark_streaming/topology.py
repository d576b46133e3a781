"""The graph of a query, as far as a checkpoint tells it.

A checkpoint has no edges, and stateless operators leave no trace. Operator ids are handed out from
the sink towards the sources, so a chain can be drawn by descending id; two operators side by side
cannot be told from two in a row. Edges are *settled* where there is only one way to draw them.
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
    """id: its place in the offset log, or its name. description: as progress reports have it."""

    id: str
    kind: str
    description: str | None = None


@dataclass(frozen=True)
class OperatorNode:
    """name: of the checkpoint's metadata. reported_name: of progress reports."""

    id: int
    name: str | None
    reported_name: str | None
    partitions: int | None


@dataclass(frozen=True)
class Topology:
    """edges: pairs of ``source:<id>``, ``op:<id>`` and ``sink``. note: why they are assumed."""

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
    """offsets: of the batches, by source. folders: what a file source reads from, by source.

    sink: as the commit log names it, used where no report does.
    """
    newest = offsets[max(offsets)] if offsets else {}
    told = _descriptions(offsets, reports, folders)
    sources = tuple(SourceNode(name, _kind(name, offsets), told.get(name)) for name in newest)
    reported = _reported_names(operators, reports)
    nodes = tuple(
        OperatorNode(one.id, one.name, reported.get(one.id), one.partitions) for one in operators
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
    """By its newest offset; a source may have none yet."""
    known = (offsets[batch].get(source) for batch in sorted(offsets, reverse=True))
    return kind_of(next((offset for offset in known if offset is not None), None))


def _reported_names(operators: Sequence[Operator], reports: Sequence[Progress]) -> dict[int, str]:
    """Reports list the operators in the order of their ids."""
    ids = [operator.id for operator in operators]
    for report in reversed(reports):
        names = [one.get("operatorName") for one in report.operators]
        if ids == list(range(len(names))) and all(isinstance(name, str) for name in names):
            return dict(zip(ids, names, strict=True))
    return {}


def _descriptions(
    offsets: Mapping[int, Mapping[str, Json]],
    reports: Sequence[Progress],
    folders: Mapping[str, str | None],
) -> dict[str, str]:
    """Sources to their descriptions, where it is certain which is whose.

    Offset log 1 has the order of the reports. Version 2 has names in an order of its own: there a
    description is a source's if the end offsets of all reports and the folder of its files agree,
    and no other description fits.
    """
    seen = [report for report in reports if report.batch in offsets and not report.idle]
    if not seen:
        return {}
    names = list(offsets[seen[-1].batch])
    places = range(len(seen[-1].sources))
    if len(names) != len(places):
        return {}
    if names == [str(place) for place in places]:
        fitting = {name: [place] for place, name in enumerate(names)}
    else:
        fitting = {
            name: [p for p in places if _fits(name, p, offsets, seen, folders.get(name))]
            for name in names
        }
    told = {}
    for name, candidates in fitting.items():
        others = [c for other, c in fitting.items() if other != name]
        own = [p for p in candidates if not any(p in c for c in others)] or candidates
        if len(own) == 1 and (description := seen[-1].sources[own[0]].description):
            told[name] = description
    return told


def _fits(
    name: str,
    place: int,
    offsets: Mapping[int, Mapping[str, Json]],
    reports: Sequence[Progress],
    folder: str | None,
) -> bool:
    for report in reports:
        if len(report.sources) <= place:
            return False
        if report.sources[place].end != offsets[report.batch].get(name):
            return False
    description = reports[-1].sources[place].description or ""
    return folder is None or not description.startswith("FileStream") or f"{folder}]" in description


def _edges(
    sources: list[str], operators: list[int], joins: set[int]
) -> tuple[tuple[str, str], ...]:
    """From the sink upwards; a join takes the operators above as its left input."""
    edges: list[tuple[str, str]] = []
    ids = [f"source:{source}" for source in sources]
    below = SINK
    for place, operator in enumerate(operators):
        node = f"op:{operator}"
        edges.append((node, below))
        above = operators[place + 1 :]
        if operator in joins and above and len(ids) > 1:
            edges.append((ids.pop(), node))
        below = node
    inputs = [(source, below) for source in ids]
    return (*inputs, *reversed(edges))

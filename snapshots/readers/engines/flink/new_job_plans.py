"""The plans that Flink makes of a job before it runs.

A plan of the REST API tells the id of the first operator of each vertex. The execution plan tells
none. Ids that a plan leaves out are filled in where Flink's rule for operators without a uid gives
them: with certainty if the id of a later operator was generated from them, else only if somebody
says that the job sets no uids.
"""

import html
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product

from snapshots.domain.inventory.upgrade.new_job import NewJob, NewOperator, NewVertex
from snapshots.readers.engines.flink.generated_ids import Node, best_connected, generated
from snapshots.readers.engines.flink.new_job_fields import number_field, wrong
from snapshots.readers.engines.flink.rest.fields import items, number, text
from snapshots.readers.engines.flink.rest.job_graph import members, preceding

PLAN, EXECUTION_PLAN = "the plan", "the execution plan"
FORWARD = "FORWARD"  # the exchange that Flink chains operators over
ID = re.compile(r"[0-9a-f]{32}")
_MARKUP = re.compile(r"<br\s*/?>")


@dataclass(frozen=True, slots=True)
class _Chain:
    """The operators of a vertex of a plan.

    Attributes:
        first: the place of its first operator among all of the plan.
        before: for each further operator, which of the chain it follows.
    """

    first: int
    before: tuple[int, ...]

    def places(self) -> range:
        """Return the places of its operators."""
        return range(self.first, self.first + 1 + len(self.before))


def of_plan(nodes: list[dict], backend: str | None, *, without_uids: bool) -> NewJob:
    """Read a plan of the REST API."""
    job = NewJob(PLAN, tuple(_vertex_of_plan(node) for node in nodes), backend)
    ids = _ids_of_plan(nodes, job, without_uids)
    return replace(_with_ids(job, ids), without_uids=without_uids)


def _vertex_of_plan(node: dict) -> NewVertex:
    id_ = text(node, "id") or ""
    if not ID.fullmatch(id_):
        raise wrong("A vertex of a plan must have an id of 32 hex digits.", "plan.nodes.id")
    first, *others = members(text(node, "description") or "") or (id_,)
    return NewVertex(
        " -> ".join((first, *others)),
        number_field(node, ("parallelism",), "plan.nodes", least=1),
        None,
        (NewOperator(id_, first), *(NewOperator(None, name) for name in others)),
    )


def _ids_of_plan(nodes: list[dict], job: NewJob, without_uids: bool) -> dict[int, str]:
    """Return the ids that follow from the plan, by the places of the operators."""
    chains = _chains(nodes)
    if chains is None:
        return {}
    graph, choices = _graph(nodes, job, chains)
    best = best_connected(graph, choices)
    if best is None:
        return {}
    connected, numbered = best
    told = {place for place, node in enumerate(connected) if node.id is not None}
    if without_uids and told == numbered.agreeing:
        return dict(enumerate(numbered.ids))
    return {place: numbered.ids[place] for place in numbered.proven(connected)}


def _chains(nodes: list[dict]) -> dict[str, _Chain] | None:
    """Return the chains by the ids of their vertices, None if a description hides their form."""
    chains: dict[str, _Chain] = {}
    first = 0
    for node in nodes:
        before = preceding(text(node, "description") or "")
        if before is None:
            return None
        chains[text(node, "id") or ""] = chain = _Chain(first, before)
        first = chain.places().stop
    return chains if len(chains) == len(nodes) else None


def _graph(
    nodes: list[dict], job: NewJob, chains: dict[str, _Chain]
) -> tuple[list[Node], dict[int, list[tuple[int, ...]]]]:
    """Return the operators of a plan, and the inputs that the first of each vertex may have.

    A plan does not tell which operator of a vertex another vertex reads from.
    """
    operators = [operator for _, operator in job.operators()]
    graph, choices = [Node(id=operator.id) for operator in operators], {}
    for node, chain in zip(nodes, chains.values(), strict=True):
        for place, before in zip(chain.places()[1:], chain.before, strict=True):
            graph[place] = replace(graph[place], inputs=(chain.first + before,))
        for before, count in Counter(chain.before).items():
            place = chain.first + before
            graph[place] = replace(graph[place], chained=count)
        inputs = sorted(items(node, "inputs"), key=lambda each: number(each, "num") or 0)
        sources = [chains.get(text(each, "id") or "") for each in inputs]
        if sources:
            choices[chain.first] = [
                *product(*(source.places()[::-1] for source in sources if source is not None))
            ]
    return graph, choices


def _with_ids(job: NewJob, ids: dict[int, str]) -> NewJob:
    """Fill in ids by the places of the operators."""
    place = 0
    vertices = []
    for vertex in job.vertices:
        operators = []
        for operator in vertex.operators:
            is_new = operator.id is None and place in ids
            operators.append(replace(operator, id=ids[place]) if is_new else operator)
            place += 1
        vertices.append(replace(vertex, operators=tuple(operators)))
    return replace(job, vertices=tuple(vertices))


# --- the execution plan ---------------------------------------------------------------------------


def of_execution_plan(nodes: list[dict], backend: str | None, *, without_uids: bool) -> NewJob:
    """Read an execution plan, whose nodes are operators."""
    job = NewJob(EXECUTION_PLAN, tuple(map(_stream_node, nodes)), backend)
    ids = _numbered(nodes) if without_uids else {}
    return replace(_with_ids(job, ids), without_uids=without_uids)


def _stream_node(node: dict) -> NewVertex:
    name = _MARKUP.sub(" ", html.unescape(text(node, "type", "contents") or ""))
    width = number_field(node, ("parallelism",), "nodes", least=1)
    return NewVertex(name, width, None, (NewOperator(None, name),))


def _numbered(nodes: list[dict]) -> dict[int, str]:
    """Return Flink's ids of operators without uids; empty if the plan does not give them.

    Flink translates operators in the order of their numbers in the plan.
    """
    order = sorted(range(len(nodes)), key=lambda place: number(nodes[place], "id") or 0)
    ranks = {number(nodes[place], "id") or 0: rank for rank, place in enumerate(order)}
    edges = [items(nodes[place], "predecessors") for place in order]
    sources = [[ranks.get(number(edge, "id") or 0, -1) for edge in each] for each in edges]
    if len(ranks) < len(nodes) or any(-1 in each for each in sources):
        return {}
    widths = [number(nodes[place], "parallelism") for place in order]
    chained = Counter(
        into[0]
        for rank, into in enumerate(sources)
        if len(into) == 1
        and edges[rank][0].get("ship_strategy") == FORWARD
        and widths[into[0]] == widths[rank]
    )
    graph = [Node(tuple(into), chained[rank]) for rank, into in enumerate(sources)]
    numbered = generated(graph)
    return {} if numbered is None else {order[rank]: id_ for rank, id_ in enumerate(numbered.ids)}

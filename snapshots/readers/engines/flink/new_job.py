"""The new version of a Flink job, from what its author can get without running it.

Three descriptions are read:

* A list of uids, as JSON: vertices with ``operators``, or operators alone. It holds the most, and
  is the only description that can list states. ``docs/formats/flink.md`` has its form.
* The plan of the REST API (``/jars/:id/plan``, ``/jobs/:id/plan``): it holds the id of the first
  operator of each vertex, and not the ids of the others.
* The execution plan (``EXPLAIN JSON_EXECUTION_PLAN``, ``getExecutionPlan()``): it holds names and
  parallelisms, and no ids.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from snapshots.domain.inventory.model import BROADCAST, LISTED, UNION
from snapshots.domain.inventory.upgrade.new_job import (
    AUTOMATIC,
    KEYED_KINDS,
    DeclaredState,
    NewJob,
    NewOperator,
    NewVertex,
)
from snapshots.domain.model.defects import InputRefused, quoted, refuse
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from snapshots.readers.engines.flink.rest.fields import items, mapping, text
from snapshots.readers.engines.flink.rest.job_graph import members

LONGEST = 4 * 2**20  # bytes of a description
MOST_OPERATORS = 20_000
MOST_STATES = 1_000  # of an operator
BACKENDS = ("hashmap", "rocksdb", "forst")

UIDS, PLAN, EXECUTION_PLAN = "the list of uids", "the plan", "the execution plan"
_ID = re.compile(r"[0-9a-f]{32}")
_OPERATOR_KINDS = {
    "operator list": LISTED,
    "operator union list": UNION,
    "operator broadcast": BROADCAST,
}
_KINDS = {f"keyed {kind}": kind for kind in KEYED_KINDS} | _OPERATOR_KINDS
_MARKUP = re.compile(r"<br\s*/?>")


def read_new_job(data: bytes, backend: str | None = None) -> NewJob:
    """Read the description of a job. Raises: InputRefused with the field that is wrong."""
    if backend is not None and backend not in BACKENDS:
        raise _wrong(f"The backend must be one of {', '.join(BACKENDS)}.", "backend")
    if len(data) > LONGEST:
        raise refuse(
            "too-large", f"The description of a job is larger than {LONGEST // 2**20} MiB."
        )
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        line = data[: error.pos].count(b"\n") + 1
        raise refuse("not-json", "The description of a job must be JSON.", line=line) from None
    if isinstance(document, list):
        return _of_uids(document, backend)
    if not isinstance(document, dict):
        raise _wrong("The description of a job must be a JSON list or a JSON object.", None)
    if failure := _failure(document):
        return NewJob(PLAN, (), backend, failure)
    if nodes := items(mapping(document, "plan"), "nodes"):
        return _of_plan(nodes, backend)
    if nodes := items(document, "nodes"):
        is_rest = any(_ID.fullmatch(text(node, "id") or "") for node in nodes)
        return _of_plan(nodes, backend) if is_rest else _of_execution_plan(nodes, backend)
    raise _wrong("The object is no plan: it has neither “plan” nor “nodes”.", "plan")


def read_new_job_file(path: Path, backend: str | None = None) -> NewJob:
    """Read the description of a job from a file. Raises: InputRefused, OSError."""
    with path.open("rb") as file:
        return read_new_job(file.read(LONGEST + 1), backend)


def _failure(document: dict) -> str | None:
    """Return Flink's error if it could not build the job graph, None if it could."""
    found = document.get("error") or document.get("errors")
    if isinstance(found, list):
        found = "\n".join(text for text in found if isinstance(text, str))
    if not isinstance(found, str) or not found:
        return None
    lines = [line.strip() for line in found.splitlines()]
    causes = [line.removeprefix("Caused by: ") for line in lines if "Exception" in line]
    return (causes or lines)[-1][:1_000]


# --- the list of uids -----------------------------------------------------------------------------


def _of_uids(document: list, backend: str | None) -> NewJob:
    if not document:
        raise _wrong("The list of uids is empty.", None)
    is_flat = not any(isinstance(item, dict) and "operators" in item for item in document)
    vertices = [_vertex(item, f"[{place}]", is_flat) for place, item in enumerate(document)]
    if sum(len(vertex.operators) for vertex in vertices) > MOST_OPERATORS:
        raise _wrong(f"A job has at most {MOST_OPERATORS:,} operators here.", None)
    return NewJob(UIDS, tuple(vertices), backend)


def _vertex(item: object, where: str, is_flat: bool) -> NewVertex:
    fields = _object(item, where)
    operators = [fields] if is_flat else fields.get("operators")
    if not isinstance(operators, list) or not operators:
        raise _wrong("A vertex must have a list of operators.", f"{where}.operators")
    built = tuple(
        _operator(one, where if is_flat else f"{where}.operators[{place}]")
        for place, one in enumerate(operators)
    )
    return NewVertex(
        _text(fields, "vertex", where) or built[0].name or built[0].uid or built[0].id or "",
        _number(fields, ("parallelism",), where, least=1),
        _number(fields, ("maxParallelism", "max_parallelism"), where, least=AUTOMATIC),
        built,
    )


def _operator(item: object, where: str) -> NewOperator:
    fields = _object(item, where)
    id_, uid = _text(fields, "operatorId", where), _text(fields, "uid", where)
    if id_ is not None and not _ID.fullmatch(id_):
        raise _wrong("The id of an operator must have 32 hex digits.", f"{where}.operatorId")
    if id_ is None and uid is None:
        raise _wrong("An operator must have a uid or an operatorId.", f"{where}.uid")
    states = fields.get("states")
    if states is not None and not (isinstance(states, list) and len(states) <= MOST_STATES):
        raise _wrong(f"The states must be a list of at most {MOST_STATES:,}.", f"{where}.states")
    return NewOperator(
        id_ or id_of_uid(uid or ""),
        _text(fields, "name", where),
        uid,
        None
        if states is None
        else tuple(_state(state, f"{where}.states[{place}]") for place, state in enumerate(states)),
    )


def _state(item: object, where: str) -> DeclaredState:
    fields = _object(item, where)
    name, kind = _text(fields, "name", where), _text(fields, "kind", where)
    if name is None:
        raise _wrong("A state must have a name.", f"{where}.name")
    if kind is not None and kind not in _KINDS:
        raise _wrong(f"The kind of a state must be one of {', '.join(_KINDS)}.", f"{where}.kind")
    return DeclaredState(
        name, kind and _KINDS[kind], _text(fields, "type", where), _text(fields, "key", where)
    )


def _object(item: object, where: str) -> dict:
    if not isinstance(item, dict):
        raise _wrong("Each entry of the list must be an object.", where)
    return item


def _text(fields: dict, key: str, where: str) -> str | None:
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise _wrong(f"{quoted(key)} must be a text.", f"{where}.{key}")
    return value


def _number(fields: dict, keys: tuple[str, ...], where: str, least: int) -> int | None:
    key = next((key for key in keys if fields.get(key) is not None), None)
    if key is None:
        return None
    value = fields[key]
    if type(value) is not int or not least <= value <= 2**15 or value == 0:
        raise _wrong(f"{quoted(key)} must be a number from 1 to {2**15:,}.", f"{where}.{key}")
    return value


def _wrong(sentence: str, field: str | None) -> InputRefused:
    return refuse("header-invalid", sentence, field=field)


# --- plans ----------------------------------------------------------------------------------------


def _of_plan(nodes: list[dict], backend: str | None) -> NewJob:
    """Read a plan of the REST API, whose vertices bear the id of their first operator."""
    return NewJob(PLAN, tuple(_vertex_of_plan(node) for node in nodes), backend)


def _vertex_of_plan(node: dict) -> NewVertex:
    id_ = text(node, "id") or ""
    if not _ID.fullmatch(id_):
        raise _wrong("A vertex of a plan must have an id of 32 hex digits.", "plan.nodes.id")
    first, *others = members(text(node, "description") or "") or (id_,)
    return NewVertex(
        " -> ".join((first, *others)),
        _number(node, ("parallelism",), "plan.nodes", least=1),
        None,
        (NewOperator(id_, first), *(NewOperator(None, name) for name in others)),
    )


def _of_execution_plan(nodes: list[dict], backend: str | None) -> NewJob:
    return NewJob(EXECUTION_PLAN, tuple(_stream_nodes(nodes)), backend)


def _stream_nodes(nodes: list[dict]) -> Iterator[NewVertex]:
    for node in nodes:
        name = _MARKUP.sub(" ", html.unescape(text(node, "type", "contents") or ""))
        yield NewVertex(
            name,
            _number(node, ("parallelism",), "nodes", least=1),
            None,
            (NewOperator(None, name),),
        )

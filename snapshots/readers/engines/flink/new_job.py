"""The new version of a Flink job, from what its author can get without running it.

Three descriptions are read:

* A list of uids, as JSON: vertices with ``operators``, or operators alone. It holds the most, and
  is the only description that can list states. ``docs/formats/flink.md`` has its form.
* The plan of the REST API (``/jars/:id/plan``, ``/jobs/:id/plan``): it holds the id of the first
  operator of each vertex. Ids of others are known where they follow from these.
* The execution plan (``EXPLAIN JSON_EXECUTION_PLAN``, ``getExecutionPlan()``): it holds names and
  parallelisms, and no ids.
"""

from pathlib import Path

import orjson

from snapshots.domain.inventory.upgrade.new_job import (
    AUTOMATIC,
    DeclaredState,
    NewJob,
    NewOperator,
    NewVertex,
)
from snapshots.domain.inventory.upgrade.own_list import KINDS
from snapshots.domain.model.defects import refuse
from snapshots.readers.engines.flink.new_job_fields import (
    number_field,
    object_at,
    text_field,
    wrong,
)
from snapshots.readers.engines.flink.new_job_plans import ID, PLAN, of_execution_plan, of_plan
from snapshots.readers.engines.flink.operator_ids import id_of_uid
from snapshots.readers.engines.flink.rest.fields import items, mapping, text

LONGEST = 4 * 2**20  # bytes of a description
MOST_OPERATORS = 20_000
MOST_STATES = 1_000  # of an operator
BACKENDS = ("hashmap", "rocksdb", "forst")

UIDS = "the list of uids"


def read_new_job(data: bytes, backend: str | None = None, *, without_uids: bool = False) -> NewJob:
    """Read the description of a job.

    Args:
        without_uids: somebody says that the job sets no uids and leaves chaining to Flink, so that
            a plan gives all ids.

    Raises: InputRefused with the field that is wrong.
    """
    if backend is not None and backend not in BACKENDS:
        raise wrong(f"The backend must be one of {', '.join(BACKENDS)}.", "backend")
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
        raise wrong("The description of a job must be a JSON list or a JSON object.", None)
    if failure := _failure(document):
        return NewJob(PLAN, (), backend, failure)
    if nodes := items(mapping(document, "plan"), "nodes"):
        return of_plan(nodes, backend, without_uids=without_uids)
    if nodes := items(document, "nodes"):
        is_rest = any(ID.fullmatch(text(node, "id") or "") for node in nodes)
        read = of_plan if is_rest else of_execution_plan
        return read(nodes, backend, without_uids=without_uids)
    raise wrong("The object is no plan: it has neither “plan” nor “nodes”.", "plan")


def read_new_job_file(
    path: Path, backend: str | None = None, *, without_uids: bool = False
) -> NewJob:
    """Read the description of a job from a file. Raises: InputRefused, OSError."""
    with path.open("rb") as file:
        return read_new_job(file.read(LONGEST + 1), backend, without_uids=without_uids)


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
        raise wrong("The list of uids is empty.", None)
    is_flat = not any(isinstance(item, dict) and "operators" in item for item in document)
    vertices = [_vertex(item, f"[{place}]", is_flat) for place, item in enumerate(document)]
    if sum(len(vertex.operators) for vertex in vertices) > MOST_OPERATORS:
        raise wrong(f"A job has at most {MOST_OPERATORS:,} operators here.", None)
    return NewJob(UIDS, tuple(vertices), backend)


def _vertex(item: object, where: str, is_flat: bool) -> NewVertex:
    fields = object_at(item, where)
    operators = [fields] if is_flat else fields.get("operators")
    if not isinstance(operators, list) or not operators:
        raise wrong("A vertex must have a list of operators.", f"{where}.operators")
    built = tuple(
        _operator(one, where if is_flat else f"{where}.operators[{place}]")
        for place, one in enumerate(operators)
    )
    return NewVertex(
        text_field(fields, "vertex", where) or built[0].name or built[0].uid or built[0].id or "",
        number_field(fields, ("parallelism",), where, least=1),
        number_field(fields, ("maxParallelism", "max_parallelism"), where, least=AUTOMATIC),
        built,
    )


def _operator(item: object, where: str) -> NewOperator:
    fields = object_at(item, where)
    id_, uid = text_field(fields, "operatorId", where), text_field(fields, "uid", where)
    if id_ is not None and not ID.fullmatch(id_):
        raise wrong("The id of an operator must have 32 hex digits.", f"{where}.operatorId")
    if id_ is None and uid is None:
        raise wrong("An operator must have a uid or an operatorId.", f"{where}.uid")
    states, timers = fields.get("states"), fields.get("timers")
    if states is not None and not (isinstance(states, list) and len(states) <= MOST_STATES):
        raise wrong(f"The states must be a list of at most {MOST_STATES:,}.", f"{where}.states")
    if timers is not None and not (isinstance(timers, list) and len(timers) <= MOST_STATES):
        raise wrong(f"The timers must be a list of at most {MOST_STATES:,}.", f"{where}.timers")
    if any(not isinstance(name, str) for name in timers or ()):
        raise wrong("A timer service must be named by a text.", f"{where}.timers")
    return NewOperator(
        id_ or id_of_uid(uid or ""),
        text_field(fields, "name", where),
        uid,
        None
        if states is None
        else tuple(_state(state, f"{where}.states[{place}]") for place, state in enumerate(states)),
        None if timers is None else tuple(timers),
    )


def _state(item: object, where: str) -> DeclaredState:
    fields = object_at(item, where)
    name, kind = text_field(fields, "name", where), text_field(fields, "kind", where)
    if name is None:
        raise wrong("A state must have a name.", f"{where}.name")
    if kind is not None and kind not in KINDS:
        raise wrong(f"The kind of a state must be one of {', '.join(KINDS)}.", f"{where}.kind")
    return DeclaredState(
        name,
        kind and KINDS[kind],
        text_field(fields, "type", where),
        text_field(fields, "key", where),
    )

"""Tells the plan of each pipeline of a SeaTunnel job: its starting points, vertices and state.

The header of a recording has the vertices, and the edges where they are known. The triggers of the
log name the starting points: the tasks to which a checkpoint's barrier is given first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.control.events import is_coordinator
from snapshots.domain.dataflow_logs.events import Plan, ProtocolEvent, whole
from snapshots.domain.dataflow_logs.kinds import CP_TRIGGER
from snapshots.domain.model.topology import ProcessId

WHY_NO_EDGES = (
    "The files do not say which action feeds which; the answer of /job-info would, beside them."
)
WHY_NO_STARTS = (
    "Nothing here names the tasks that get a trigger. SeaTunnel gives it to the enumerators of the "
    "sources."
)
WHY_NO_STATE = "No checkpoint here holds what it recorded."


@dataclass(frozen=True, slots=True)
class PlannedVertex:
    """A vertex, which SeaTunnel calls an action.

    Attributes:
        id: its name.
        kind: ``source``, ``operator`` or ``sink``. None if the header does not say.
        parallelism: how many subtasks it has.
        tasks: all processes that stand for it, an enumerator or a committer among them.
        inputs: the vertices that feed it, as far as the edges are known.
        with_state: the tasks whose last recorded state was not empty. None if that is not known.
    """

    id: str
    kind: str | None
    parallelism: int
    tasks: tuple[ProcessId, ...]
    inputs: tuple[str, ...] = ()
    with_state: tuple[ProcessId, ...] | None = None


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """One pipeline.

    Attributes:
        coordinator: the process that coordinates it. None if the recording has none for it.
        starts: the tasks that get the trigger of a checkpoint. None if nothing names them.
        vertices: its vertices, each behind those that feed it; in the header's order where no
            edges are known.
        why_no_edges: why edges are not known, as a sentence. None if they are.
    """

    coordinator: ProcessId | None
    starts: tuple[ProcessId, ...] | None
    vertices: tuple[PlannedVertex, ...]
    why_no_edges: str | None = None

    @property
    def tasks(self) -> tuple[ProcessId, ...]:
        """Return all tasks, in the order of the vertices."""
        return tuple(task for vertex in self.vertices for task in vertex.tasks)


def pipelines_of(
    plan: Plan,
    document: object,
    events: Iterable[ProtocolEvent],
    has_state: Mapping[ProcessId, bool],
) -> tuple[PipelinePlan, ...]:
    """Return the plan of each pipeline, in the order of their coordinators.

    Args:
        plan: what the header says of the run.
        document: the header's dataflow, as JSON; edges may be missing.
        events: those of the log, in order; of them only triggers are needed.
        has_state: whether the last state that each process recorded was not empty, without those
            of which that is not known.
    """
    parts = document if isinstance(document, Mapping) else {}
    named = {each["id"]: each for each in _objects(parts.get("vertices")) if _is_name(each)}
    ends = [(each.get("source"), each.get("target")) for each in _objects(parts.get("edges"))]
    tasks = _tasks_by_vertex(plan, named)
    scopes = {process.id: process.scope for process in plan.topology.processes}
    heads = [each.id for each in plan.topology.processes if is_coordinator(each.id)]
    groups: dict[str | None, list[str]] = {}
    for vertex, own in tasks.items():
        groups.setdefault(scopes[own[0]], []).append(vertex)
    triggers = [event for event in events if event.kind == CP_TRIGGER]
    return tuple(
        PipelinePlan(
            head := next((name for name in heads if scopes[name] == scope), None),
            _starts(triggers, head),
            tuple(
                _vertex(name, named.get(name, {}), tasks[name], ends, has_state)
                for name in _in_order(members, ends)
            ),
            None if ends or len(members) == 1 else WHY_NO_EDGES,
        )
        for scope, members in groups.items()
    )


def _objects(value: object) -> list[Mapping[str, object]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def _is_name(item: Mapping[str, object]) -> bool:
    return isinstance(item.get("id"), str)


def _tasks_by_vertex(plan: Plan, named: Mapping[object, object]) -> dict[str, list[ProcessId]]:
    """Return the processes of each vertex: ``orders.enumerator`` belongs to ``orders``."""
    found: dict[str, list[ProcessId]] = {}
    for task in plan.tasks:
        vertex = plan.vertex_of(task)
        base = vertex.rpartition(".")[0]
        found.setdefault(base if vertex not in named and base in named else vertex, []).append(task)
    return found


def _starts(
    triggers: Sequence[ProtocolEvent], head: ProcessId | None
) -> tuple[ProcessId, ...] | None:
    for event in triggers:
        names = event.names("to_trigger")
        if event.process == head and names is not None:
            return tuple(map(ProcessId, names))
    return None


def _vertex(
    name: str,
    document: Mapping[str, object],
    tasks: Sequence[ProcessId],
    ends: Sequence[tuple[object, object]],
    has_state: Mapping[ProcessId, bool],
) -> PlannedVertex:
    kind, width = document.get("kind"), whole(document.get("parallelism"))
    subtasks = [task for task in tasks if task.endswith("]")]
    known = [task for task in tasks if task in has_state]
    return PlannedVertex(
        name,
        kind if isinstance(kind, str) else None,
        len(subtasks) if width is None else width,
        tuple(tasks),
        tuple(str(source) for source, target in ends if target == name),
        tuple(task for task in known if has_state[task]) if known else None,
    )


def _in_order(members: Sequence[str], ends: Sequence[tuple[object, object]]) -> list[str]:
    """Order vertices behind those that feed them; what lies on a cycle comes last."""
    left, ordered = list(members), list[str]()
    while left:
        waiting = {target for source, target in ends if source in left}
        ready = [name for name in left if name not in waiting] or left
        ordered += ready
        left = [name for name in left if name not in ready]
    return ordered

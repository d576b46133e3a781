"""Which actions a task vertex runs, by which the times of acknowledgements are those of states.

No file says it. The engine numbers a pipeline's tasks in one order: enumerators, committers, then
the tasks that read (seen in PhysicalPlanGenerator of 2.3.x), and fuses all that follows a source
into its tasks. So it can be told, as an inference, where there is one source with one enumerator,
at most one committer, and one vertex more, as wide as every action. Else it is not told.
"""

from snapshots.readers.engines.seatunnel.model import (
    ActionState,
    Checkpoint,
    SubtaskStatistics,
    VertexStatistics,
)
from snapshots.readers.engines.seatunnel.names import SHUFFLE, SINK, SOURCE, action_name

INFERRED_BY = (
    "The engine numbers a pipeline's tasks in this order: enumerator, committer, those that read; "
    "it fuses all that follows a source into its tasks."
)


def acknowledging(
    checkpoint: Checkpoint,
) -> dict[tuple[str | int, int], SubtaskStatistics] | None:
    """By key of the action and index (-1 for its enumerator or committer); None: not told."""
    if not checkpoint.statistics:
        return {}
    actions = checkpoint.actions
    coordinated = [action for action in actions if action.coordinator is not None]
    coordinated.sort(key=lambda action: _role(action) != SOURCE)
    roles = [_role(action) for action in coordinated]
    vertices = sorted(checkpoint.statistics, key=lambda vertex: vertex.vertex or 0)
    if roles not in ([SOURCE], [SOURCE, SINK]) or len(vertices) != len(roles) + 1:
        return None
    *first, readers = vertices
    if any(len(vertex.subtasks) != 1 for vertex in first) or not _fits(actions, readers):
        return None
    found = {
        (action.key, -1): vertex.subtasks[0]
        for action, vertex in zip(coordinated, first, strict=True)
    }
    for action in actions:
        found |= {(action.key, place): item for place, item in enumerate(readers.subtasks)}
    return {place: item for place, item in found.items() if item is not None}


def _fits(actions: tuple[ActionState, ...], readers: VertexStatistics) -> bool:
    """Whether each action has a state of just those subtasks that acknowledged."""
    here = [item is not None for item in readers.subtasks]
    roles = [_role(action) for action in actions]
    return (
        roles.count(SOURCE) == 1
        and not {SHUFFLE, None} & set(roles)
        and all([state is not None for state in action.subtasks] == here for action in actions)
    )


def _role(action: ActionState) -> str | None:
    return action_name(action.key).role

"""Which actions a task vertex runs, so that its acknowledgements are those of their states.

No file says it. The engine numbers a pipeline's tasks in one order: enumerators, committers, then
the tasks that read (seen in PhysicalPlanGenerator of 2.3.x), and fuses all that follows a source
into its tasks. So it can be inferred where there is one source with one enumerator, at most one
committer, and one more vertex, as wide as every action. Elsewhere it is not known.
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


def acknowledging(checkpoint: Checkpoint) -> dict[tuple[str | int, int], SubtaskStatistics] | None:
    """Return the acknowledgements by key of the action and index; None where that is not known.

    The index of an enumerator or a committer is -1.
    """
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
    acks = {
        (action.key, -1): vertex.subtasks[0]
        for action, vertex in zip(coordinated, first, strict=True)
    }
    for action in actions:
        acks |= {(action.key, index): ack for index, ack in enumerate(readers.subtasks)}
    return {subtask: ack for subtask, ack in acks.items() if ack is not None}


def _fits(actions: tuple[ActionState, ...], readers: VertexStatistics) -> bool:
    """Tell whether each action has a state of exactly those subtasks that acknowledged."""
    acknowledged = [ack is not None for ack in readers.subtasks]
    roles = [_role(action) for action in actions]
    return (
        roles.count(SOURCE) == 1
        and not {SHUFFLE, None} & set(roles)
        and all([s is not None for s in action.subtasks] == acknowledged for action in actions)
    )


def _role(action: ActionState) -> str | None:
    return action_name(action.key).role

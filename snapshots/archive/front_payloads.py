"""Payloads of the barrier front: how far a checkpoint in progress had come at each poll.

Instants are epoch milliseconds by the clock of the engine. Null means that a value is not known.
"""

from typing import Any

from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.archive.polls import Polled
from snapshots.domain.front.model import Poll, PolledVertex
from snapshots.domain.front.rule import VertexState, front_of
from snapshots.payloads.declaring import described


@described
class FrontVertex(TypedDict):
    """A vertex of the job at a poll.

    Attributes:
        id: the engine's id of the vertex.
        name: the name of the vertex; its id if it has none.
        parallelism: how many subtasks take part; null if it is not known.
        acknowledged: how many subtasks have acknowledged; null if it is not known.
        pending: the numbers of the subtasks that have not; null if it is not known which.
        status: ``acknowledged``, ``started``, ``not reached`` or ``not known``.
        role: ``culprit``, ``held up`` or ``waits behind``; empty if it has acknowledged.
        reason: why this is so, in a sentence.
        busy: the share of time in which its busiest subtask worked; null if it is not known.
        back_pressured: the share of time in which a subtask could not send; null if not known.
    """

    id: str
    name: str
    parallelism: int | None
    acknowledged: int | None
    pending: list[int] | None
    status: str
    role: str
    reason: str
    busy: float | None
    back_pressured: float | None


@described
class FrontEdge(TypedDict):
    """An edge of the job at a poll.

    Attributes:
        source: the id of the vertex from which it comes.
        target: the id of the vertex to which it leads.
        ship: how records are distributed, in the engine's word.
        is_front: whether the front is there: barriers have not crossed it wholly.
    """

    source: str
    target: str
    ship: str
    is_front: bool


@described
class CheckpointPoll(TypedDict):
    """How far a checkpoint had come at a poll.

    Attributes:
        at: when it was polled, in epoch milliseconds.
        after: the milliseconds from the trigger to the poll; null if they are not known.
        acknowledged: how many subtasks have acknowledged; null if it is not known.
        subtasks: how many subtasks take part; null if it is not known.
        sentence: where the front is, in words.
        lacking: what the engine did not say, and why, in sentences.
        vertices: the vertices from the sources to the sinks.
        edges: the edges between them.
    """

    at: int
    after: int | None
    acknowledged: int | None
    subtasks: int | None
    sentence: str
    lacking: list[str]
    vertices: list[FrontVertex]
    edges: list[FrontEdge]


@described
class CheckpointPolls(TypedDict):
    """The polls of a checkpoint.

    Attributes:
        instants: when each poll that is kept was made, in epoch milliseconds, in order.
        made: how many polls were made; of very many not all are kept.
    """

    instants: list[int]
    made: int


def polls_of(polled: Polled) -> dict[str, Any]:
    return {"instants": list(polled.instants), "made": polled.made}


def poll_of(poll: Poll) -> dict[str, Any]:
    """Return how far a checkpoint had come at a poll, as a ``CheckpointPoll``."""
    front = front_of(poll)
    fronts = set(front.edges)
    return {
        "at": poll.at,
        "after": poll.after,
        "acknowledged": poll.acknowledged,
        "subtasks": poll.subtasks,
        "sentence": front.sentence,
        "lacking": list(poll.lacking),
        "vertices": [
            _vertex(vertex, state)
            for vertex, state in zip(poll.vertices, front.states, strict=True)
        ],
        "edges": [
            {
                "source": edge.source,
                "target": edge.target,
                "ship": edge.ship,
                "is_front": (edge.source, edge.target) in fronts,
            }
            for edge in poll.edges
        ],
    }


def _vertex(vertex: PolledVertex, state: VertexState) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "name": vertex.called,
        "parallelism": vertex.parallelism,
        "acknowledged": vertex.acknowledged,
        "pending": None if vertex.pending is None else list(vertex.pending),
        "status": state.status,
        "role": state.role,
        "reason": state.reason,
        "busy": vertex.load.busy,
        "back_pressured": vertex.load.back_pressured,
    }

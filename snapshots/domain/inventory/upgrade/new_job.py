"""The new version of a job, as far as its description tells it.

A job graph of Flink has vertices, and each vertex is a chain of operators. Flink finds the state of
an operator by the operator's id, which follows from its uid or, without one, from its place in the
graph. A description may leave out ids, parallelisms or states; None says that it does.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.domain.inventory.model import BROADCAST, LISTED, UNION

AUTOMATIC = -1  # as a maximum parallelism: the job does not set one
KEYED_KINDS = ("value", "list", "map", "reducing", "aggregating")
OPERATOR_KINDS = (LISTED, UNION, BROADCAST)


@dataclass(frozen=True, slots=True)
class DeclaredState:
    """A state that an operator of the new job registers.

    Attributes:
        kind: one of KEYED_KINDS or OPERATOR_KINDS; None where the description does not tell.
        type: the type of its values, without that of the key by which the stream is keyed.
        key: the type of that key.
    """

    name: str
    kind: str | None = None
    type: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class NewOperator:
    """An operator of the new job.

    Attributes:
        id: Flink's id of it, 32 hex digits; None where neither it nor a uid is told.
        states: None where the description does not list its states.
        timers: the names of its timer services, such as ``user-timers``; None where the
            description does not tell them.
    """

    id: str | None
    name: str | None = None
    uid: str | None = None
    states: tuple[DeclaredState, ...] | None = None
    timers: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class NewVertex:
    """A chain of operators of the new job.

    Attributes:
        max_parallelism: AUTOMATIC where the job leaves it to Flink; None where not told.
        operators: in the order of the chain.
    """

    name: str
    parallelism: int | None
    max_parallelism: int | None
    operators: tuple[NewOperator, ...]


@dataclass(frozen=True, slots=True)
class NewJob:
    """The new version of a job.

    Attributes:
        described_by: what told it, to be named in sentences, as "the list of uids".
        backend: ``hashmap``, ``rocksdb`` or ``forst``; None where nobody told.
        failure: what Flink said where it could not build the job graph.
        without_uids: whether somebody says that it sets no uids and leaves chaining to Flink, so
            that ids which a plan hides were computed.
    """

    described_by: str
    vertices: tuple[NewVertex, ...]
    backend: str | None = None
    failure: str | None = None
    without_uids: bool = False

    def operators(self) -> Iterator[tuple[NewVertex, NewOperator]]:
        """Yield every operator with its vertex."""
        for vertex in self.vertices:
            for operator in vertex.operators:
                yield vertex, operator

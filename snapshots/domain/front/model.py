"""What one poll of a running engine says of a checkpoint in progress.

Instants are epoch milliseconds by the clock of the engine. None means that the engine does not say.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

_MOST_OF_TIME = 0.5  # the share from which Flink, too, calls back pressure high


@dataclass(frozen=True, slots=True)
class Load:
    """How the subtasks of a vertex spent their time, as shares from 0 to 1.

    Each is the largest of all subtasks. None if the engine does not say.

    Attributes:
        busy: the share in which a subtask worked.
        back_pressured: the share in which a subtask could not send, because a receiver was slow.
    """

    busy: float | None = None
    back_pressured: float | None = None

    @property
    def is_busy(self) -> bool:
        """Tell whether a subtask is known to have worked for most of its time."""
        return self.busy is not None and self.busy > _MOST_OF_TIME

    @property
    def is_held_up(self) -> bool:
        """Tell whether a subtask could not send for most of its time, and none was busy."""
        is_pressed = self.back_pressured is not None and self.back_pressured > _MOST_OF_TIME
        return is_pressed and not self.is_busy


@dataclass(frozen=True, slots=True)
class PolledVertex:
    """One vertex of the job, and how far the checkpoint has come there.

    Attributes:
        parallelism: how many subtasks take part. None if it is not known.
        acknowledged: how many subtasks have acknowledged. None if it is not known.
        pending: the subtasks that have not acknowledged. None if it is not known which.
        begun: the subtasks that have received a barrier and have not acknowledged, as far as the
            engine says.
        untouched: the subtasks that had received no barrier when the engine last measured them, as
            far as it says.
        load: how busy it was.
    """

    id: str
    name: str = ""
    parallelism: int | None = None
    acknowledged: int | None = None
    pending: tuple[int, ...] | None = None
    begun: tuple[int, ...] = ()
    untouched: tuple[int, ...] = ()
    load: Load = field(default_factory=Load)

    @property
    def called(self) -> str:
        """Return the name as people read it."""
        return self.name or self.id

    @property
    def is_done(self) -> bool:
        """Tell whether all subtasks are known to have acknowledged."""
        if self.acknowledged is None or self.parallelism is None:
            return False
        return self.acknowledged >= self.parallelism

    @property
    def has_acknowledged(self) -> bool:
        """Tell whether a subtask is known to have acknowledged."""
        return bool(self.acknowledged)

    @property
    def is_untouched(self) -> bool:
        """Tell whether no subtask had received a barrier when the engine last measured them."""
        return self.parallelism is not None and 0 < self.parallelism <= len(self.untouched)


@dataclass(frozen=True, slots=True)
class PolledEdge:
    """An edge from one vertex to another, by their ids.

    Attributes:
        ship: how records are distributed, in the engine's word, such as ``HASH``.
        is_all_to_all: whether every subtask of the source sends to every one of the target. False
            if this is not known.
    """

    source: str
    target: str
    ship: str = ""
    is_all_to_all: bool = False


@dataclass(frozen=True, slots=True)
class Poll:
    """A checkpoint in progress at one instant.

    Attributes:
        at: the instant of the poll.
        is_unaligned: whether barriers may overtake records. None if it is not known.
        lacking: what the engine did not say, and why: one sentence each.
    """

    number: int
    at: int
    triggered_at: int | None = None
    is_unaligned: bool | None = None
    vertices: tuple[PolledVertex, ...] = ()
    edges: tuple[PolledEdge, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def after(self) -> int | None:
        """Return the milliseconds from the trigger to the poll. None if they are not known."""
        return None if self.triggered_at is None else max(0, self.at - self.triggered_at)

    @property
    def acknowledged(self) -> int | None:
        """Return how many subtasks have acknowledged. None if this is not known of a vertex."""
        return _sum(vertex.acknowledged for vertex in self.vertices)

    @property
    def subtasks(self) -> int | None:
        """Return how many subtasks take part. None if this is not known of a vertex."""
        return _sum(vertex.parallelism for vertex in self.vertices)


def _sum(counts: Iterable[int | None]) -> int | None:
    listed = list(counts)
    known = [count for count in listed if count is not None]
    return sum(known) if len(known) == len(listed) else None

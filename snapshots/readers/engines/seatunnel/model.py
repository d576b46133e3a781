"""What one checkpoint of SeaTunnel holds, whichever layout it was written in.

Times are epoch milliseconds as written. None: the file does not say.
"""

from dataclasses import dataclass, field

TYPES = (
    "CHECKPOINT_TYPE",
    "SCHEMA_CHANGE_BEFORE_POINT_TYPE",
    "SCHEMA_CHANGE_AFTER_POINT_TYPE",
    "SAVEPOINT_TYPE",
    "COMPLETED_POINT_TYPE",
)
FINAL_TYPES = frozenset({"SAVEPOINT_TYPE", "COMPLETED_POINT_TYPE"})
STATUSES = ("RUNNING", "SAVEPOINT_PREPARE_CLOSE", "AUTO_PREPARE_CLOSE")


@dataclass(frozen=True, slots=True)
class Payload:
    """One element of a state: bytes that the connector's own serializer wrote.

    encoding: ``java``, ``json`` or None where it is not known; content: what they hold (see
    java_values), or why nobody can tell.
    """

    size: int
    sha256: str
    encoding: str | None
    content: object
    offset: int


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """The elements of one subtask's state; None for an element that is null."""

    index: int
    elements: tuple[Payload | None, ...]

    @property
    def size(self) -> int:
        return sum(element.size for element in self.elements if element is not None)


@dataclass(frozen=True, slots=True)
class ActionState:
    """key: as written, or its number in the earliest versions. subtasks: by index, None: no ack."""

    key: str | int
    parallelism: int | None
    subtasks: tuple[SubtaskState | None, ...]
    coordinator: SubtaskState | None

    @property
    def size(self) -> int:
        states = (*self.subtasks, self.coordinator)
        return sum(state.size for state in states if state is not None)


@dataclass(frozen=True, slots=True)
class SubtaskStatistics:
    """elements: what the engine calls the state's size; it counts elements that are not null."""

    subtask: int | None
    acknowledged_at: int | None
    elements: int | None
    status: str | int | None


@dataclass(frozen=True, slots=True)
class VertexStatistics:
    """One task vertex. subtasks: None where no ack is noted. latest: newer files only."""

    vertex: int | None
    acknowledged: int | None
    subtasks: tuple[SubtaskStatistics | None, ...]
    completed: tuple[bool, ...]
    latest: SubtaskStatistics | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """layout: ``current``, ``numbered`` (2022: actions are numbers) or ``engine-wire-v1``.

    type: one of TYPES, another text as written, or its number where that is not known.
    unknown: (where, bytes) of fields that mean nothing here.
    """

    job: int | None
    pipeline: int | None
    id: int | None
    type: str | int | None
    triggered_at: int | None
    completed_at: int | None
    restored: bool | None
    actions: tuple[ActionState, ...]
    statistics: tuple[VertexStatistics, ...]
    layout: str
    unknown: tuple[tuple[str, int], ...] = field(default=())

    @property
    def size(self) -> int:
        """Bytes of all states."""
        return sum(action.size for action in self.actions)

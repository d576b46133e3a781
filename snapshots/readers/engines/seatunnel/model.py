"""The content of one checkpoint of SeaTunnel, for every layout of its file.

Times are epoch milliseconds. None stands for what the file does not say.
"""

from dataclasses import dataclass

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

    Attributes:
        size: Bytes.
        encoding: ``java``, ``json``, or None if it is unknown.
        content: the decoded value (for Java's objects see ``java.values``); Opaque if it is
            unknown.
        offset: the offset of the bytes in the file.
    """

    size: int
    sha256: str
    encoding: str | None
    content: object
    offset: int


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """The state of one subtask.

    Attributes:
        elements: none stands for an element that is null.
    """

    index: int
    elements: tuple[Payload | None, ...]

    @property
    def size(self) -> int:
        return sum(element.size for element in self.elements if element is not None)


@dataclass(frozen=True, slots=True)
class ActionState:
    """The state of one action.

    Attributes:
        key: the key as it is stored; a number in the earliest versions.
        subtasks: the states by index; None for a subtask that has not acknowledged.
    """

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
    """One subtask's part in a checkpoint.

    Attributes:
        elements: the number of elements that are not null. The engine calls it the size of the
            state.
    """

    subtask: int | None
    acknowledged_at: int | None
    elements: int | None
    status: str | int | None


@dataclass(frozen=True, slots=True)
class VertexStatistics:
    """One task vertex's part in a checkpoint.

    Attributes:
        subtasks: none for a subtask without a stored acknowledgement.
        latest: only newer files have it.
    """

    vertex: int | None
    acknowledged: int | None
    subtasks: tuple[SubtaskStatistics | None, ...]
    completed: tuple[bool, ...]
    latest: SubtaskStatistics | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of one pipeline.

    Attributes:
        type: one of TYPES, another text as stored, or the number of an unknown type.
        layout: ``current``, ``numbered`` (of 2022, where actions are numbers) or
            ``engine-wire-v1``.
        unknown: place and size in bytes of each unknown field.
        is_ended: whether the last field is there that this layout always has.
    """

    job: int
    pipeline: int | None
    id: int
    type: str | int | None
    triggered_at: int | None
    completed_at: int | None
    restored: bool | None
    actions: tuple[ActionState, ...]
    statistics: tuple[VertexStatistics, ...]
    layout: str
    unknown: tuple[tuple[str, int], ...] = ()
    is_ended: bool = True

    @property
    def size(self) -> int:
        """Return the size of all states in bytes."""
        return sum(action.size for action in self.actions)

"""The elements of SeaTunnel's states as entries. An element's key is its place in the state."""

from collections.abc import Iterator

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import COORDINATOR
from snapshots.readers.engines.seatunnel.adapter.jobs import Found
from snapshots.readers.engines.seatunnel.model import ActionState, Checkpoint, Payload, SubtaskState
from snapshots.readers.engines.seatunnel.names import SINK, SOURCE, action_name
from snapshots.readers.formats.opaque import Opaque

_NAMES = {
    SOURCE: ("splits", "enumerator state"),
    SINK: ("writer states", "commit information"),
}
_OTHER = ("subtask states", "coordinator state")
SUBTASK_KIND, COORDINATOR_KIND = "per subtask", "of the coordinator"


def operator_ids(checkpoint: Checkpoint) -> list[str]:
    """The keys of the actions; one that stands twice is numbered."""
    seen: dict[str, int] = {}
    ids = []
    for action in checkpoint.actions:
        key = str(action.key)
        seen[key] = number = seen.get(key, 0) + 1
        ids.append(key if number == 1 else f"{key} ({number})")
    return ids


def states_of(
    action: ActionState,
) -> Iterator[tuple[str, str, list[tuple[int, SubtaskState]]]]:
    """Name and kind of each state that the action has, and what it consists of, by subtask."""
    names = _NAMES.get(action_name(action.key).role, _OTHER)
    present = [(place, state) for place, state in enumerate(action.subtasks) if state is not None]
    if present:
        yield names[0], SUBTASK_KIND, present
    if action.coordinator is not None:
        yield names[1], COORDINATOR_KIND, [(COORDINATOR, action.coordinator)]


def entries_of(found: Found) -> Iterator[StateEntry]:
    """By checkpoint, then operator."""
    for pipeline in found.pipelines:
        for known in pipeline.checkpoints:
            if known.stored is not None:
                yield from _entries(known.number, known.stored.checkpoint)


def _entries(number: int, checkpoint: Checkpoint) -> Iterator[StateEntry]:
    for id, action in zip(operator_ids(checkpoint), checkpoint.actions, strict=True):
        for name, _, states in states_of(action):
            for subtask, state in states:
                for place, element in enumerate(state.elements):
                    yield _entry(number, id, subtask, name, place, element)


def _entry(
    checkpoint: int, operator: str, subtask: int, state: str, place: int, element: Payload | None
) -> StateEntry:
    identity = f"{subtask}/{place}".encode()
    if element is None:
        return StateEntry(
            checkpoint, operator, subtask, state, place, None, 0, identity=identity, digest=b""
        )
    return StateEntry(
        checkpoint,
        operator,
        subtask,
        state,
        place,
        _value(element.content),
        element.size,
        identity=identity,
        digest=bytes.fromhex(element.sha256),
    )


def _value(content: object) -> object:
    if isinstance(content, Opaque):
        return NotRead(content.size, content.head, content.reason)
    return content

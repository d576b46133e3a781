"""The elements of SeaTunnel's states as entries. An element's key is its place in the state."""

from collections.abc import Iterator

from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import COORDINATOR
from snapshots.readers.engines.seatunnel.adapter.checkpoints import Pipelines
from snapshots.readers.engines.seatunnel.model import ActionState, Checkpoint, SubtaskState
from snapshots.readers.engines.seatunnel.names import SINK, SOURCE, action_name
from snapshots.readers.formats.opaque import Opaque

_NAMES = {SOURCE: ("splits", "enumerator state"), SINK: ("writer states", "commit information")}
_OTHER = ("subtask states", "coordinator state")
SUBTASK_KIND, COORDINATOR_KIND = "per subtask", "of the coordinator"


def operator_ids(checkpoint: Checkpoint) -> list[str]:
    """Return the keys of the actions; a key that repeats is numbered."""
    counts: dict[str, int] = {}
    ids = []
    for action in checkpoint.actions:
        key = str(action.key)
        counts[key] = number = counts.get(key, 0) + 1
        ids.append(key if number == 1 else f"{key} ({number})")
    return ids


def states_of(action: ActionState) -> Iterator[tuple[str, str, list[tuple[int, SubtaskState]]]]:
    """Yield name and kind of each state of an action, and what it consists of, by subtask."""
    names = _NAMES.get(action_name(action.key).role or "", _OTHER)
    present = [(index, state) for index, state in enumerate(action.subtasks) if state is not None]
    if present:
        yield names[0], SUBTASK_KIND, present
    if action.coordinator is not None:
        yield names[1], COORDINATOR_KIND, [(COORDINATOR, action.coordinator)]


def entries_of(upload: Pipelines) -> Iterator[StateEntry]:
    """Yield the entries by checkpoint, then operator."""
    for _, checkpoint in upload.checkpoints():
        if (content := checkpoint.content) is None:
            continue
        for id, action in zip(operator_ids(content), content.actions, strict=True):
            for name, _, states in states_of(action):
                for subtask, state in states:
                    yield from _entries(checkpoint.number, id, subtask, name, state)


def _entries(
    checkpoint: int, operator: str, subtask: int, name: str, state: SubtaskState
) -> Iterator[StateEntry]:
    for place, element in enumerate(state.elements):
        yield StateEntry(
            checkpoint,
            operator,
            subtask,
            name,
            key=place,
            value=None if element is None else _value(element.content),
            bytes=0 if element is None else element.size,
            identity=f"{subtask}/{place}".encode(),
            digest=b"" if element is None else bytes.fromhex(element.sha256),
        )


def _value(content: object) -> object:
    if isinstance(content, Opaque):
        return NotRead(content.size, content.head, content.reason)
    return content

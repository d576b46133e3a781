"""What each file of an upload of Flink's is, and which checkpoints need it."""

from collections import defaultdict
from collections.abc import Iterator

from snapshots.domain.inventory.model import FileUse
from snapshots.readers.engines.flink import files
from snapshots.readers.engines.flink.adapter.checkpoints import FlinkCheckpoint
from snapshots.readers.engines.flink.handles import (
    Channels,
    EmptySegment,
    Handle,
    Incremental,
    Inline,
    KeyGroups,
    OperatorState,
    Stream,
    streams,
)
from snapshots.readers.engines.flink.upload import FlinkUpload

LOG, LISTING = "log of a process", "listing of a folder"
NAMING = "names of columns"
METADATA, ANSWER, OTHER = "_metadata", "answer of the REST API", "not needed"
REMAINS = "not known"  # in the folder of a checkpoint that cannot be read
KEYED, SHARED, OPERATOR = "keyed state", "keyed state, shared", "operator state"
IN_FLIGHT, COORDINATOR = "data in flight", "state of a coordinator"


def file_uses(upload: FlinkUpload, checkpoints: tuple[FlinkCheckpoint, ...]) -> tuple[FileUse, ...]:
    """List every file once, by path."""
    numbers = {one.stored.path: one.number for one in checkpoints if one.stored is not None}
    roles = _roles(upload, checkpoints)
    answers = dict.fromkeys(upload.answers, ANSWER)
    answers |= dict.fromkeys(upload.logs, LOG) | dict.fromkeys(upload.listings, LISTING)
    answers |= dict.fromkeys(upload.naming_files, NAMING)
    sizes = upload.files.sizes
    uses = []
    for path in sorted({*sizes, *upload.files.refused} - upload.files.listed):
        users = tuple(sorted(numbers[one] for one in upload.usage.used.get(path, ())))
        others = answers.get(path) or (REMAINS if users else OTHER)
        role = ", ".join(roles.get(path, ())) or others
        uses.append(FileUse(path, sizes.get(path, 0), role, users, upload.unread.get(path)))
    return tuple(uses)


def _roles(
    upload: FlinkUpload, checkpoints: tuple[FlinkCheckpoint, ...]
) -> dict[str, dict[str, None]]:
    """Return the roles of each file, in order."""
    roles: dict[str, dict[str, None]] = defaultdict(dict)
    for checkpoint in checkpoints:
        if (stored := checkpoint.stored) is None:
            continue
        roles[stored.path][METADATA] = None
        for role, _, stream in needed_streams(checkpoint):
            if not isinstance(stream, Inline | EmptySegment | KeyGroups):
                place = upload.files.locate(stream, stored.folder)
                path = place.path if isinstance(place, files.Place) else place.damaged
                if path is not None:
                    roles[path][role] = None
    return roles


def needed_streams(checkpoint: FlinkCheckpoint) -> Iterator[tuple[str, str, Stream]]:
    """Yield role, operator with subtask, and stream of all that a checkpoint needs."""
    for operator in checkpoint.operators:
        name = operator.name or operator.id
        if operator.coordinator is not None:
            for stream in streams(operator.coordinator):
                yield COORDINATOR, name, stream
        for subtask in operator.subtasks:
            for handle in subtask.handles():
                shared = handle.shared if isinstance(handle, Incremental) else ()
                ids = {id(file.stream) for file in shared}  # other checkpoints may name these, too
                for stream in streams(handle):
                    role = SHARED if id(stream) in ids else _role(handle)
                    yield role, f"{name}[{subtask.index}]", stream


def _role(handle: Handle) -> str:
    if isinstance(handle, OperatorState):
        return OPERATOR
    return IN_FLIGHT if isinstance(handle, Channels) else KEYED

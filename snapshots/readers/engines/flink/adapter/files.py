"""What each file of an upload of Flink's is, and which checkpoints need it."""

from collections import defaultdict
from collections.abc import Iterator

from snapshots.domain.inventory.model import FileUse
from snapshots.readers.engines.flink.adapter.places import Place
from snapshots.readers.engines.flink.files import Place as Found
from snapshots.readers.engines.flink.handles import (
    Channels,
    EmptySegment,
    Incremental,
    Inline,
    KeyGroups,
    OperatorState,
    Stream,
    streams,
)
from snapshots.readers.engines.flink.upload import FlinkUpload

METADATA, ANSWER, OTHER = "_metadata", "answer of the REST API", "not needed"
KEYED, SHARED, OPERATOR = "keyed state", "keyed state, shared", "operator state"
IN_FLIGHT, COORDINATOR = "data in flight", "state of a coordinator"


def file_uses(upload: FlinkUpload, places: tuple[Place, ...]) -> tuple[FileUse, ...]:
    """Every file once, by path."""
    numbers = {one.stored.path: one.number for one in places if one.stored is not None}
    roles = _roles(upload, places)
    answers = set(upload.answers)
    found = []
    for path in sorted({*upload.files.sizes, *upload.files.refused}):
        needed = tuple(sorted(numbers[one] for one in upload.usage.used.get(path, ())))
        role = ", ".join(roles.get(path, ())) or (ANSWER if path in answers else OTHER)
        size = upload.files.sizes.get(path, 0)
        found.append(FileUse(path, size, role, needed, upload.unread.get(path)))
    return tuple(found)


def _roles(upload: FlinkUpload, places: tuple[Place, ...]) -> dict[str, dict[str, None]]:
    roles: dict[str, dict[str, None]] = defaultdict(dict)
    for place in places:
        if place.stored is not None:
            roles[place.stored.path][METADATA] = None
        for role, stream in _streams(place) if place.has_files else ():
            if not isinstance(stream, Inline | EmptySegment | KeyGroups):
                found = upload.files.locate(stream, place.stored.folder)
                if isinstance(found, Found):
                    roles[found.path][role] = None
    return roles


def _streams(place: Place) -> Iterator[tuple[str, Stream]]:
    for operator in place.stored.metadata.operators:
        if operator.coordinator is not None:
            for stream in streams(operator.coordinator):
                yield COORDINATOR, stream
        for subtask in operator.subtasks:
            for handle in subtask.handles():
                shared = _shared(handle)
                for stream in streams(handle):
                    yield SHARED if id(stream) in shared else _role(handle), stream


def _role(handle: object) -> str:
    if isinstance(handle, OperatorState):
        return OPERATOR
    return IN_FLIGHT if isinstance(handle, Channels) else KEYED


def _shared(handle: object) -> set[int]:
    """The streams of an incremental handle that other checkpoints may name, too."""
    return {id(one.stream) for one in handle.shared} if isinstance(handle, Incremental) else set()

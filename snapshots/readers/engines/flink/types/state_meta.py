"""Read the descriptions of states in a checkpoint: names, kinds and serializers.

A description has no length. Behind a serializer that is not known here, the next role or the next
state is found again by its form: a text with its length, a kind, names of options and roles that
Flink has. Source: Flink, StateMetaInfoSnapshotReadersWriters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from snapshots.readers.engines.flink.types.serializers import (
    ENVELOPE_VERSION,
    UnknownSerializer,
    read_envelope,
)
from snapshots.readers.engines.flink.types.values import Serializer, Undecodable
from snapshots.readers.formats.cursor import Cursor, Malformed

BACKEND_TYPES = ("KEY_VALUE", "OPERATOR", "BROADCAST", "PRIORITY_QUEUE", "KEY_VALUE_V2")
_ROLES = ("KEY_SERIALIZER", "NAMESPACE_SERIALIZER", "VALUE_SERIALIZER", "USER_KEY_SERIALIZER")
_OPTIONS = ("KEYED_STATE_TYPE", "OPERATOR_STATE_DISTRIBUTION_MODE")
_COUNT_BYTES = 2
_FEWEST_BYTES = 12  # of a state's name, kind, and the counts of its options


@dataclass(frozen=True, slots=True)
class StateMeta:
    """The description of one state in a checkpoint.

    Attributes:
        backend_type: one of BACKEND_TYPES.
        options: values by Flink's names of options, such as ``KEYED_STATE_TYPE``.
        serializers: serializers by Flink's names of roles, such as ``VALUE_SERIALIZER``.
        open_end: whether a serializer that is not known here is the last one, so that the place
            where the description ends is not known.
    """

    name: str
    backend_type: str
    options: dict[str, str]
    serializers: dict[str, Serializer]
    open_end: bool = False


def read_meta_info(cursor: Cursor) -> StateMeta:
    """Read name, kind and serializers of one state. Raises: Malformed."""
    name = cursor.utf()
    at, backend_type = cursor.position, cursor.i32()
    if not 0 <= backend_type < len(BACKEND_TYPES):
        raise Malformed(f"{backend_type} is not a kind of state", at)
    options = [(cursor.utf(), cursor.utf()) for _ in range(cursor.count(bytes_each=4))]
    count = cursor.count(bytes_each=6)
    serializers: dict[str, Serializer] = {}
    open_end = False
    for left in range(count - 1, -1, -1):
        role = cursor.utf()
        try:
            serializers[role] = read_envelope(cursor)
        except UnknownSerializer as unknown:
            serializers[role] = unknown.so_far
            open_end = left == 0
            if left:
                cursor.position = _next_role(cursor, serializers)
    return StateMeta(name, BACKEND_TYPES[backend_type], dict(options), serializers, open_end)


def read_meta_infos(
    cursor: Cursor, count: int, end: int | None, *, before_count: bool = False
) -> Iterator[StateMeta]:
    """Yield the descriptions of ``count`` states. Raises: Malformed.

    Args:
        end: where all descriptions end; None if that is not known.
        before_count: whether another count of states follows the last one.
    """
    for number in range(count):
        meta = read_meta_info(cursor)
        is_last = number == count - 1
        yield meta
        if not meta.open_end:
            continue
        if not is_last:
            cursor.position = next_state(cursor)
        elif before_count:
            skip_to_count(cursor, end)
        elif end is not None and end >= cursor.position:
            cursor.position = end
        else:
            raise Undecodable("Where the description of the last state ends is not known", 0)


def skip_to_count(cursor: Cursor, end: int | None) -> None:
    """Go to the count of states that stands before the next state, or at the end of all.

    Raises: Undecodable.
    """
    try:
        position = next_state(cursor) - _COUNT_BYTES
    except Undecodable:
        if end is None:
            raise
        position = end - _COUNT_BYTES
    if position < cursor.position:
        raise Undecodable("A count of states was not found again", cursor.position)
    cursor.position = position


def _next_role(cursor: Cursor, known: dict[str, Serializer]) -> int:
    """Return where the next role of the same state begins. Raises: Undecodable."""
    data = bytes(cursor.data[cursor.position : cursor.end])
    version = ENVELOPE_VERSION.to_bytes(4, "big")
    places = [
        data.find(len(role).to_bytes(2, "big") + role.encode() + version)
        for role in _ROLES
        if role not in known
    ]
    if not (there := [place for place in places if place >= 0]):
        raise Undecodable("No further serializer of the state was found", cursor.position)
    return cursor.position + min(there)


def next_state(cursor: Cursor) -> int:
    """Return where the next description of a state begins. Raises: Undecodable."""
    data, end = bytes(cursor.data[: cursor.end]), cursor.end
    for at in range(cursor.position, end - _FEWEST_BYTES):
        kind = at + 2 + (data[at] << 8 | data[at + 1])
        if kind + 8 <= end and data[kind : kind + 3] == b"\0\0\0" and _is_state(data, at):
            return at
    raise Undecodable("The states behind it were not found again", cursor.position)


def _is_state(data: bytes, at: int) -> bool:
    """Tell whether name, kind, options and the first role of a state stand at an offset."""
    cursor = Cursor(data, at)
    try:
        cursor.utf()
        if not 0 <= cursor.i32() < len(BACKEND_TYPES):
            return False
        for _ in range(cursor.count(bytes_each=4)):
            if cursor.utf() not in _OPTIONS:
                return False
            cursor.utf()
        if not 1 <= cursor.count(bytes_each=6) <= len(_ROLES) or cursor.utf() not in _ROLES:
            return False
        return cursor.i32() == ENVELOPE_VERSION
    except Malformed:
        return False

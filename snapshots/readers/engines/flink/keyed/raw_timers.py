"""Read the timers that Flink itself keeps in raw keyed state, a list of them per key group.

Flink does so where timers live on the heap and the state does not, as with RocksDB and
``state.backend.rocksdb.timer-service.factory: heap``, and with asynchronous state. Source: Flink,
InternalTimeServiceManagerImpl, InternalTimerServiceSerializationProxy,
InternalTimersSnapshotReaderWriters.
"""

from collections.abc import Iterator

from snapshots.readers.engines.flink.handles import KeyGroups
from snapshots.readers.engines.flink.keyed.entries import TIMERS, Entry, Notes, unread
from snapshots.readers.engines.flink.keyed.key_group_parts import Part, key_group_parts
from snapshots.readers.engines.flink.keyed.keyed_meta import StateType
from snapshots.readers.engines.flink.keyed.keyed_state import KeyedState
from snapshots.readers.engines.flink.types.composites import TimerSerializer
from snapshots.readers.engines.flink.types.serializers import read_snapshot
from snapshots.readers.engines.flink.types.values import SIMPLE, Serializer
from snapshots.readers.formats.cursor import Cursor, Malformed

_MAGIC, _VERSION = bytes.fromhex("f1cd859f"), 2
_DOMAINS = ("event", "processing")  # in this order
_TIMES = SIMPLE["long"]


def read_raw_timers(handle: KeyGroups, data: bytes | memoryview) -> KeyedState | None:
    """Return the timers in raw keyed state; None if it has another form than Flink's."""
    data = memoryview(data)
    parts = key_group_parts(handle.first, handle.offsets, 0, len(data))
    stored = [part for part in parts if part.size]
    if not stored or any(data[part.offset : part.offset + 4] != _MAGIC for part in stored):
        return None
    state = KeyedState(range(handle.first, handle.first + handle.count), Notes())
    services: dict[str, StateType] = {}
    entries: list[Entry] = []
    for part in stored:
        entries += _key_group(part, data[part.offset : part.offset + part.size], services, state)
    state.states, state.entries = tuple(services.values()), iter(entries)
    state.key = next((service.key for service in state.states), None)
    return state


def _key_group(
    part: Part, data: memoryview, services: dict[str, StateType], state: KeyedState
) -> Iterator[Entry]:
    cursor = Cursor(data, len(_MAGIC))
    at = cursor.position
    try:
        version = cursor.i32()
        if version != _VERSION:
            raise Malformed(f"Timers of version {version} cannot be read", at)
        for _service in range(cursor.count(bytes_each=2)):
            name = cursor.utf()
            key, namespace = read_snapshot(cursor), read_snapshot(cursor)
            for domain in _DOMAINS:
                service = f"_timer_state/{domain}_{name}"
                services.setdefault(service, _service_type(service, key, namespace))
                for _timer in range(cursor.count(bytes_each=8)):
                    at = cursor.position
                    yield _entry(service, part.key_group, key, namespace, cursor)
                at = cursor.position
        if cursor.left:
            raise Malformed(f"{cursor.left} bytes follow the timers", at)
    except Malformed as malformed:
        state.notes.lose(f"Key group {part.key_group}, timers", malformed)
        yield unread(data[at:], f"{malformed.what}.", key_group=part.key_group, kind=TIMERS)


def _entry(
    service: str, key_group: int, key: Serializer, namespace: Serializer, cursor: Cursor
) -> Entry:
    begin = cursor.position
    own, place, time = key.decode(cursor), namespace.decode(cursor), _TIMES.decode(cursor)
    return Entry(service, TIMERS, key_group, place, own, time, cursor.position - begin)


def _service_type(name: str, key: Serializer, namespace: Serializer) -> StateType:
    timer = TimerSerializer(key, namespace)
    return StateType(name, TIMERS, key, namespace, timer, timer, timer)

"""Write `_metadata` by the format's page, for the types that no real file has."""

import struct

from snapshots.readers.engines.flink import handles as h
from snapshots.readers.engines.flink.metadata import MasterState, Operator, Subtask

# The properties at the end of a _metadata: a Java object with one field.
PROPERTIES = bytes.fromhex("aced0005") + b"p"


def utf(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def i32(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}i", *numbers)


def i64(*numbers: int) -> bytes:
    return struct.pack(f">{len(numbers)}q", *numbers)


def many(written: list[bytes]) -> bytes:
    return i32(len(written)) + b"".join(written)


def stream(one: h.Stream | None) -> bytes:
    match one:
        case None:
            return b"\x00"
        case h.Inline():
            return b"\x01" + utf(one.name) + i32(len(one.data)) + one.data
        case h.File():
            return b"\x02" + i64(one.size) + utf(one.path)
        case h.KeyGroups():
            return b"\x03" + _key_groups(one)
        case h.RelativeFile():
            return b"\x06" + utf(one.path) + i64(one.size)
        case h.Segment():
            scope = (h.EXCLUSIVE, h.SHARED).index(one.scope)
            numbers = i64(one.start, one.size) + i32(scope)
            return b"\x0f" + numbers + utf(one.path) + utf(one.logical_id)
        case h.EmptySegment():
            return b"\x10"
    raise AssertionError(one)


def _key_groups(one: h.KeyGroups) -> bytes:
    return i32(one.first, one.count) + i64(*one.offsets) + stream(one.stream)


def keyed(one: h.Keyed | None) -> bytes:
    match one:
        case None:
            return b"\x00"
        case h.KeyGroups():
            if one.handle_id is not None:
                return b"\x0c" + _key_groups(one) + utf(one.handle_id)
            return (b"\x07" if one.savepoint else b"\x03") + _key_groups(one)
        case h.Incremental():
            second = one.handle_id is not None
            written = i64(one.checkpoint_id) + utf(one.backend_id) + i32(one.first, one.count)
            if second:
                written += i64(-1 if one.stored_size is None else one.stored_size)
            written += stream(one.meta) + _files(one.shared) + _files(one.private)
            return (b"\x0b" + written + utf(one.handle_id)) if second else b"\x05" + written
        case h.Changelog():
            second = one.checkpoint_id is not None
            written = i32(one.first, one.count) + i64(one.uploaded_size)
            written += many([keyed(part) for part in one.materialised])
            written += many([keyed(part) for part in one.changes])
            written += i64(one.materialisation_id)
            written += i64(one.checkpoint_id) if second else b""
            return (b"\x0e" if second else b"\x08") + written + utf(one.handle_id)
        case h.ChangesInMemory():
            written = i32(one.first, one.count) + i64(one.start, one.end)
            changes = [i32(c.key_group, len(c.data)) + c.data for c in one.changes]
            return b"\x09" + written + many(changes) + utf(one.handle_id)
        case h.ChangesInFiles():
            written = i32(one.first, one.count)
            written += many([i64(part.offset) + stream(part.stream) for part in one.parts])
            written += i64(one.size, one.uploaded_size) + utf(one.handle_id)
            return (
                b"\x0a" + written if one.storage is None else b"\x0d" + written + utf(one.storage)
            )
    raise AssertionError(one)


def _files(files: tuple[h.BackendFile, ...]) -> bytes:
    return many([utf(file.name) + stream(file.stream) for file in files])


def operator_state(one: h.OperatorState) -> bytes:
    states = [
        utf(each.name)
        + bytes([h.MODES.index(each.mode)])
        + many([i64(offset) for offset in each.offsets])
        for each in one.states
    ]
    if one.merging is None:
        return b"\x04" + many(states) + stream(one.stream)
    empty = bytes([isinstance(one.stream, h.EmptySegment)])
    folders = utf(one.merging[0]) + utf(one.merging[1])
    return b"\x11" + many(states) + folders + empty + stream(one.stream)


def channels(one: h.Channels, version: int) -> bytes:
    kind = bytes([(1 if one.side == h.INPUT else 2) + 2 * one.merged]) if version >= 6 else b""
    if not one.merged:
        (part,) = one.parts
        offsets = many([i64(offset) for offset in part.offsets])
        where = i32(one.subtask, *part.place)
        return kind + where + offsets + i64(part.size) + stream(one.stream)
    parts = many(
        [
            i32(*part.place) + i64(part.size) + many([i64(offset) for offset in part.offsets])
            for part in one.parts
        ]
    )
    return kind + i32(one.subtask) + i64(one.size) + stream(one.stream) + i32(len(parts)) + parts


def subtask(one: Subtask, version: int) -> bytes:
    if one.finished:
        return i32(-one.index - 1)
    written = i32(one.index)
    if version == 2:
        written += i64(1234) + i32(0)
    for state in (one.managed_operator, one.raw_operator):
        written += i32(0) if state is None else i32(1) + operator_state(state)
    written += keyed(one.managed_keyed) + keyed(one.raw_keyed)
    if version >= 3:
        written += many([channels(each, version) for each in one.inputs])
        written += many([channels(each, version) for each in one.outputs])
    if version >= 7:
        written += b"\x00" if one.reference is None else b"\x01" + i64(one.reference)
    return written


def operator(one: Operator, version: int) -> bytes:
    written = utf(one.name or "") + utf(one.uid or "") if version >= 5 else b""
    written += bytes.fromhex(one.id) + i32(one.parallelism, one.max_parallelism)
    written += i32(1) if version == 2 else stream(one.coordinator)
    if one.finished:
        return written + i32(-1)
    return written + many([subtask(each, version) for each in one.subtasks])


def master_state(one: MasterState) -> bytes:
    body = i32(one.version) + utf(one.name) + i32(len(one.data)) + one.data
    return bytes.fromhex("c96b1696") + i32(len(body)) + body


def metadata(
    version: int,
    operators: list[Operator],
    *,
    checkpoint_id: int = 7,
    masters: tuple[MasterState, ...] = (),
    properties: bytes = PROPERTIES,
) -> bytes:
    written = bytes.fromhex("4960672d") + i32(version) + i64(checkpoint_id)
    written += many([master_state(one) for one in masters])
    written += many([operator(one, version) for one in operators])
    return written + (properties if version >= 4 else b"")

"""Read one file of SeaTunnel: an envelope with a completed checkpoint of one pipeline.

The wire types of its fields tell its layout. Source: docs/formats/seatunnel-files.md,
"7. Binary format" and "8. Older and newer formats".
"""

from collections.abc import Iterator

from snapshots.readers.engines.seatunnel.model import (
    STATUSES,
    TYPES,
    ActionState,
    Checkpoint,
    Payload,
    SubtaskState,
    SubtaskStatistics,
    VertexStatistics,
)
from snapshots.readers.engines.seatunnel.payloads import Decoder
from snapshots.readers.engines.seatunnel.protostuff import (
    BYTES,
    GROUP,
    VARINT,
    Field,
    flags,
    list_items,
    map_items,
    parse,
    signed,
)
from snapshots.readers.formats.cursor import Malformed

PIPELINE_STATE, COMPLETED_CHECKPOINT = "PipelineState", "CompletedCheckpoint"
_JOB, _PIPELINE, _ID, _TRIGGERED, _TYPE, _COMPLETED, _STATES, _STATISTICS, _RESTORED = range(1, 10)
_LAST_FIELDS = {"current": _RESTORED, "engine-wire-v1": _STATISTICS, "numbered": _STATES}


def read_checkpoint(data: bytes, file: str, decoder: Decoder) -> tuple[str, Checkpoint]:
    """Return the kind of a file, PIPELINE_STATE or COMPLETED_CHECKPOINT, and its checkpoint.

    Args:
        data: the content of the file.
        file: its path.
        decoder: the decoder of the whole upload.

    Raises: Malformed.
    """
    message = parse(data, room=decoder.fields)
    kinds = {field.number: field.wire for field in message}
    reader = _Reader(file, decoder)
    if kinds.get(1) != BYTES:
        return COMPLETED_CHECKPOINT, reader.checkpoint(message)
    envelope = reader.fields(message, 4, PIPELINE_STATE)
    if kinds.get(4) != BYTES:
        raise Malformed("This is neither a PipelineState nor a CompletedCheckpoint", 0)
    start = envelope[4].offset + _bytes_before(envelope[4])
    checkpoint = reader.checkpoint(
        parse(data, start, start + len(envelope[4].content), decoder.fields)
    )
    outer = (_text(envelope[1]), _number(envelope.get(2)), _number(envelope.get(3)))
    if outer != (str(checkpoint.job), checkpoint.pipeline, checkpoint.id):
        raise Malformed("The envelope names a checkpoint other than the one in it", start)
    return PIPELINE_STATE, checkpoint


def _bytes_before(field: Field) -> int:
    """Return how many bytes the tag and the length of a field of bytes take."""
    tag = field.number << 3 | field.wire
    return sum(max(1, -(-number.bit_length() // 7)) for number in (tag, len(field.content)))


class _Reader:
    """A reader of one checkpoint that collects its unknown fields."""

    def __init__(self, file: str, decoder: Decoder) -> None:
        self._file, self._decoder = file, decoder
        self._unknown: list[tuple[str, int]] = []

    def checkpoint(self, message: tuple[Field, ...]) -> Checkpoint:
        fields = self.fields(message, 9, "CompletedCheckpoint")
        type_field = fields.get(_TYPE)
        new = type_field is not None and type_field.wire == BYTES
        if _ID not in fields or _JOB not in fields:
            raise Malformed("This is not a checkpoint: it has no id or no job", 0)
        if new:  # engine-wire-v1 has these two exchanged
            fields[_ID], fields[_JOB] = fields[_JOB], fields[_ID]
        states = list(self._map(fields.get(_STATES), "taskStates"))
        numbered = any(key is not None and key.wire == VARINT for key, _ in states)
        layout = "engine-wire-v1" if new else "numbered" if numbered else "current"
        return Checkpoint(
            job=_integer(fields[_JOB]),
            pipeline=_number(fields.get(_PIPELINE)),
            id=_integer(fields[_ID]),
            type=_type(type_field),
            triggered_at=_number(fields.get(_TRIGGERED)),
            completed_at=_number(fields.get(_COMPLETED)),
            restored=_flag(fields.get(_RESTORED)),
            actions=tuple(self._action(key, value) for key, value in states),
            statistics=tuple(
                self._vertex(key, value)
                for key, value in self._map(fields.get(_STATISTICS), "taskStatistics")
            ),
            layout=layout,
            unknown=tuple(self._unknown),
            is_ended=_LAST_FIELDS[layout] in fields,
        )

    def fields(self, message: tuple[Field, ...], last: int, name: str) -> dict[int, Field]:
        """Return the fields of a message by number. Raises: Malformed if one is there twice.

        Args:
            message: the fields.
            last: the highest known number; fields beyond it are noted as unknown.
            name: the name of the message.
        """
        fields: dict[int, Field] = {}
        for field in message:
            if field.number in fields:
                raise Malformed(f"The field {field.number} of {name} is there twice", field.offset)
            if field.number > last:
                self._unknown.append((f"{name}, field {field.number}", _size(field)))
            fields[field.number] = field
        return fields

    def _map(
        self, field: Field | None, name: str
    ) -> Iterator[tuple[Field | None, tuple[Field, ...]]]:
        for key, value in map_items(_group(field, name)):
            yield key, _group(value, f"a value of {name}")

    def _items(self, field: Field | None, name: str) -> Iterator[Field | None]:
        """Yield the elements of a list, None for each that is null."""
        for item in list_items(_group(field, name)):
            if isinstance(item, Field):
                yield item
                continue
            self._decoder.nulls.take(item)
            yield from [None] * item

    def _action(self, key: Field | None, value: tuple[Field, ...]) -> ActionState:
        fields = self.fields(value, 4, "ActionState")
        coordinator = fields.get(3)
        return ActionState(
            key=self._key(key),
            parallelism=_number(fields.get(4)),
            subtasks=tuple(
                None if item is None else self._subtask(item)
                for item in self._items(fields.get(2), "subtaskStates")
            ),
            coordinator=None if coordinator is None else self._subtask(coordinator),
        )

    def _key(self, key: Field | None) -> str | int:
        """Return the key of an action: a name, which may be in a group, or a number."""
        if key is None:
            raise Malformed("An action has no key", 0)
        if key.wire == VARINT:
            return signed(key.integer)
        if key.wire == GROUP:
            name = self.fields(key.group, 1, "ActionStateKey").get(1)
            if name is None:
                raise Malformed("An action's key has no name", key.offset)
            key = name
        return _text(key)

    def _subtask(self, field: Field) -> SubtaskState:
        fields = self.fields(_group(field, "ActionSubtaskState"), 3, "ActionSubtaskState")
        elements: list[Payload | None] = []
        for item in self._items(fields.get(3), "state"):
            if item is None:
                elements.append(None)
                continue
            if item.wire != BYTES:
                raise Malformed("An element of a state is not a sequence of bytes", item.offset)
            offset = item.offset + _bytes_before(item)
            elements.append(self._decoder.payload(item.content, self._file, offset))
        index = _number(fields.get(2))
        if index is None:
            raise Malformed("A subtask's state has no index", field.offset)
        return SubtaskState(index, tuple(elements))

    def _vertex(self, key: Field | None, value: tuple[Field, ...]) -> VertexStatistics:
        fields = self.fields(value, 5, "TaskStatistics")
        vertex = _number(fields.get(1))
        return VertexStatistics(
            vertex=_number(key) if vertex is None else vertex,
            acknowledged=_number(fields.get(4)),
            subtasks=tuple(
                None if item is None else self._statistics(item)
                for item in self._items(fields.get(2), "subtaskStats")
            ),
            completed=flags(_group(fields[3], "subtaskCompleted")) if 3 in fields else (),
            latest=self._statistics(fields[5]) if 5 in fields else None,
        )

    def _statistics(self, field: Field) -> SubtaskStatistics:
        fields = self.fields(_group(field, "SubtaskStatistics"), 4, "SubtaskStatistics")
        return SubtaskStatistics(
            subtask=_number(fields.get(1)),
            acknowledged_at=_number(fields.get(2)),
            elements=_number(fields.get(3)),
            status=_constant(fields.get(4), STATUSES),
        )


def _group(field: Field | None, name: str) -> tuple[Field, ...]:
    if field is None:
        return ()
    if field.wire != GROUP:
        raise Malformed(f"{name} must be a group", field.offset)
    return field.group


def _integer(field: Field) -> int:
    if field.wire != VARINT:
        raise Malformed(f"The field {field.number} must be a number", field.offset)
    return signed(field.integer)


def _number(field: Field | None) -> int | None:
    return None if field is None else _integer(field)


def _flag(field: Field | None) -> bool | None:
    return None if field is None else _integer(field) != 0


def _text(field: Field) -> str:
    if field.wire != BYTES:
        raise Malformed(f"The field {field.number} must be a text", field.offset)
    try:
        return field.content.decode()
    except UnicodeDecodeError:
        raise Malformed("A text is not valid UTF-8", field.offset) from None


def _constant(field: Field | None, names: tuple[str, ...]) -> str | int | None:
    """Return the name of an enum's constant, or its ordinal if it has no known name."""
    ordinal = _number(field)
    return ordinal if ordinal is None or not 0 <= ordinal < len(names) else names[ordinal]


def _type(field: Field | None) -> str | int | None:
    return _text(field) if field is not None and field.wire == BYTES else _constant(field, TYPES)


def _size(field: Field) -> int:
    """Return about how many bytes the content of a field takes."""
    if field.wire == GROUP:
        return sum(map(_size, field.group))
    return len(field.content) if field.wire == BYTES else 1

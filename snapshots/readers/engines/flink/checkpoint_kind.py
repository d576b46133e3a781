"""Read the properties of a checkpoint: whether it is a savepoint, and in which format.

The properties are a Java object (CheckpointProperties, in `_metadata` from version 4 on). Only its
structure is read; no object is created.
"""

from dataclasses import dataclass

from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.java.stream import parse
from snapshots.readers.formats.opaque import Opaque

CHECKPOINT, SAVEPOINT = "checkpoint", "savepoint"
_KINDS = {"CheckpointType": CHECKPOINT, "SavepointType": SAVEPOINT}  # by Flink's class
_LONGEST = 2**20  # bytes; Flink's own are below 1,000


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties of a checkpoint.

    Attributes:
        kind: CHECKPOINT or SAVEPOINT.
        name: Flink's name for the kind, such as "Suspend Savepoint"; None if it is not text.
        format: "canonical" or "native"; None for a checkpoint.
        sharing: the strategy of sharing files; None for a savepoint.
        flags: the boolean fields, such as ``discardSubsumed``.
    """

    kind: str
    name: str | None
    format: str | None
    sharing: str | None
    flags: dict[str, bool]


def read_properties(data: bytes, file_size: int) -> Properties | Opaque:
    """Return the properties from the last bytes of a `_metadata`, Opaque if they are not valid.

    ``file_size`` is the size of the whole `_metadata` in bytes.
    """
    offset = file_size - len(data)
    if len(data) > _LONGEST:
        return Opaque.of(data, f"{len(data):,} bytes are too many for properties.", offset=offset)
    try:
        return _properties(parse(data))
    except Malformed as malformed:
        reason = f"The properties are not what Flink writes: {malformed.what}."
        return Opaque.of(data, reason, offset=offset + malformed.offset)


def _properties(contents: list[object]) -> Properties:
    if len(contents) != 1:
        raise Malformed(f"{len(contents)} objects are there instead of one", 0)
    fields = _fields(contents[0])
    checkpoint_type = fields.get("checkpointType")
    kind = _KINDS.get((_text(checkpoint_type, "class") or "").rpartition(".")[2])
    if kind is None:
        raise Malformed("No known type of checkpoint is in the properties", 0)
    type_fields = _fields(checkpoint_type)
    form = _text(type_fields.get("formatType"), "constant")
    return Properties(
        kind,
        _text(type_fields, "name"),
        form and form.lower(),
        _text(type_fields.get("sharingFilesStrategy"), "constant"),
        {key: value for key, value in fields.items() if isinstance(value, bool)},
    )


def _fields(value: object) -> dict[str, object]:
    fields = value.get("fields") if isinstance(value, dict) else None
    return fields if isinstance(fields, dict) else {}


def _text(value: object, key: str) -> str | None:
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else None

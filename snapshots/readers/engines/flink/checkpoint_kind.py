"""What Flink says about a checkpoint as a whole: checkpoint or savepoint, and in which format.

The properties are a Java object (CheckpointProperties, version >= 4 of `_metadata`); only its
structure is read, no object is ever made.
"""

from dataclasses import dataclass

from snapshots.readers.formats.cursor import Malformed
from snapshots.readers.formats.java.stream import parse
from snapshots.readers.formats.opaque import Opaque

CHECKPOINT, SAVEPOINT = "checkpoint", "savepoint"
_OF_CLASS = {"CheckpointType": CHECKPOINT, "SavepointType": SAVEPOINT}
_LONGEST = 2**20  # bytes; Flink's own are below 1,000


@dataclass(frozen=True, slots=True)
class Properties:
    """kind: CHECKPOINT or SAVEPOINT. name: Flink's, as "Checkpoint", "Suspend Savepoint".

    format: of a savepoint, "canonical" or "native". sharing: of a checkpoint, its strategy.
    flags: the boolean fields, as ``discardSubsumed``.
    """

    kind: str
    name: str | None
    format: str | None
    sharing: str | None
    flags: dict[str, bool]


def read_properties(data: bytes, file_size: int) -> Properties | Opaque:
    """The properties from the last bytes of a `_metadata`; Opaque where they are not understood.

    file_size: of the whole `_metadata`, in bytes.
    """
    offset = file_size - len(data)
    if len(data) > _LONGEST:
        return Opaque.of(data, f"{len(data):,} bytes are too many for properties.", offset=offset)
    try:
        return _of_contents(parse(data))
    except Malformed as malformed:
        reason = f"The properties are not what Flink writes: {malformed.what}."
        return Opaque.of(data, reason, offset=offset + malformed.offset)


def _of_contents(contents: list[object]) -> Properties:
    if len(contents) != 1:
        raise Malformed(f"{len(contents)} objects stand where one is expected", 0)
    fields = _fields(contents[0])
    checkpoint_type = fields.get("checkpointType")
    kind = _OF_CLASS.get(_last_name(checkpoint_type))
    if kind is None:
        raise Malformed("No known type of checkpoint is in the properties", 0)
    of_type = _fields(checkpoint_type)
    name = of_type.get("name")
    form = _constant(of_type.get("formatType"))
    return Properties(
        kind,
        name if isinstance(name, str) else None,
        form and form.lower(),
        _constant(of_type.get("sharingFilesStrategy")),
        {key: value for key, value in fields.items() if isinstance(value, bool)},
    )


def _fields(value: object) -> dict:
    fields = value.get("fields") if isinstance(value, dict) else None
    return fields if isinstance(fields, dict) else {}


def _last_name(value: object) -> str | None:
    name = value.get("class") if isinstance(value, dict) else None
    return name.rpartition(".")[2] if isinstance(name, str) else None


def _constant(value: object) -> str | None:
    constant = value.get("constant") if isinstance(value, dict) else None
    return constant if isinstance(constant, str) else None

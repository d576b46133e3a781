"""Entries of state, and data in flight: what there is too much of for one document."""

import builtins
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotRead:
    """Bytes whose meaning is not known. head: the first of them."""

    bytes: int
    head: builtins.bytes
    reason: str


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One key's value in one state.

    checkpoint: number in ``UploadInventory.checkpoints``; operator, subtask: as in
    OperatorInventory; state: its name. key_group, namespace: None where there is none. key, value,
    namespace: JSON-able, key and value NotRead where not known. bytes: of the entry as stored.
    identity: what tells that an entry of another checkpoint is of the same key; digest: what tells
    whether its value is the same, None where that cannot be told.
    """

    checkpoint: int
    operator: str
    subtask: int
    state: str
    key: object
    value: object
    bytes: int
    key_group: int | None = None
    namespace: object = None
    identity: builtins.bytes = b""
    digest: builtins.bytes | None = None


@dataclass(frozen=True, slots=True)
class StateTypes:
    """How states of a checkpoint are written, in the engine's own description: records in flight
    may be of these types, too."""

    checkpoint: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ChannelBytes:
    """The data in flight of one channel, whole or half; number: as in ChannelContents."""

    checkpoint: int
    number: int
    data: bytes

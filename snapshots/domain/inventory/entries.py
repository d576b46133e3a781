"""Entries of state, and data in flight, which are too much for one document."""

import builtins
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotRead:
    """Bytes whose meaning is not known. ``head`` holds the first of them."""

    bytes: int
    head: builtins.bytes
    reason: str


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One key's value in one state.

    Attributes:
        checkpoint: the number of the checkpoint in ``UploadInventory.checkpoints``.
        operator: the id of the operator, as in OperatorInventory.
        key: JSON, or NotRead if it cannot be decoded.
        value: JSON, or NotRead if it cannot be decoded.
        bytes: the size of the entry as stored.
        key_group: none if the state has no key groups.
        namespace: JSON, or None if the state has no namespaces.
        identity: equal in entries of other checkpoints that have the same key.
        digest: equal in entries that have the same value. None if that cannot be told.
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
    """How states of a checkpoint are written, in the engine's own description.

    Records in flight may be of these types, too.
    """

    checkpoint: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ChannelBytes:
    """The data in flight of one channel, whole or half. ``number`` is as in ChannelContents."""

    checkpoint: int
    number: int
    data: bytes

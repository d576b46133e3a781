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
    """One key's value in one state."""

    checkpoint: int
    """The number of the checkpoint in ``UploadInventory.checkpoints``."""
    operator: str
    """The id of the operator, as in OperatorInventory."""
    subtask: int
    state: str
    key: object
    """JSON, or NotRead if it cannot be decoded."""
    value: object
    """JSON, or NotRead if it cannot be decoded."""
    bytes: int
    """The size of the entry as stored."""
    key_group: int | None = None
    """None if the state has no key groups."""
    namespace: object = None
    """JSON, or None if the state has no namespaces."""
    identity: builtins.bytes = b""
    """Equal in entries of other checkpoints that have the same key."""
    digest: builtins.bytes | None = None
    """Equal in entries that have the same value. None if that cannot be told."""


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

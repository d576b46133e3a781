"""Incremental checkpoints: which files a task uploads, and which it takes over from earlier ones.

Source: Flink, incremental checkpoints of RocksDB with the shared state registry. Here a file holds
one key group. A group that has not changed since the last checkpoint known to be complete keeps its
file; only such a checkpoint may be built on.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Handle:
    """The reference of a checkpoint to a file.

    ``shared``: whether an earlier checkpoint, ``since_cid``, uploaded the file.
    """

    file: str
    bytes: int
    shared: bool
    since_cid: int


@dataclass(frozen=True, slots=True)
class Held:
    """The file of a key group, and the version of the group that it holds."""

    version: int
    handle: Handle


def uploaded(
    task: str,
    cid: int,
    versions: Mapping[int, int],
    sizes: Mapping[int, int],
    base: Mapping[int, Held],
) -> dict[int, Held]:
    """Return the files of a checkpoint by key group.

    Args:
        versions: how often each group has changed.
        sizes: the bytes of each group's state.
        base: the files of the checkpoint that this one builds on; empty for a full one.
    """
    files = {}
    for group, version in sorted(versions.items()):
        old = base.get(group)
        if old is not None and old.version == version:
            handle = Handle(old.handle.file, old.handle.bytes, True, old.handle.since_cid)
        else:
            handle = Handle(f"{task}/{cid}/{group}", sizes[group], False, cid)
        files[group] = Held(version, handle)
    return files

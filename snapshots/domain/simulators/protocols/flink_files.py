"""Incremental checkpoints: which files a task uploads, and which checkpoint still needs which.

Source: Flink, incremental checkpoints of RocksDB with the shared state registry. Here a file holds
one key group. A group that has not changed since the last checkpoint known to be complete keeps its
file; only such a checkpoint may be built on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.events import fields_of
from snapshots.domain.dataflow_logs.kinds import CP_ACK, CP_COMPLETE
from snapshots.domain.model.recording import Event, LoggedEvent


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


def needed_files(events: Iterable[Event | LoggedEvent]) -> dict[str, tuple[int, ...]]:
    """Return for every file the checkpoints that need it, of those retained at the end.

    The files are those that an acknowledgement names. A file that none needs may be deleted.
    """
    files_of: dict[int, set[str]] = {}
    retained: list[int] = []
    for event in sorted(events, key=lambda event: event.line):
        if event.kind == CP_ACK and event.snapshot is not None:
            files = {handle["file"] for handle in fields_of(event.extra)["handles"]}
            files_of.setdefault(int(event.snapshot), set()).update(files)
        elif event.kind == CP_COMPLETE:
            retained = fields_of(event.extra)["retained"]
    return {
        file: tuple(cid for cid in retained if file in files_of.get(cid, ()))
        for file in sorted(set().union(*files_of.values()))
    }

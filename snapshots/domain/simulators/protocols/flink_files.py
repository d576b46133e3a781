"""Incremental checkpoints: which files a task uploads, and which checkpoint still needs which.

Source: Flink, incremental checkpoints of RocksDB with the shared state registry. Here a file holds
one key group. A group that has not changed since the last checkpoint known to be complete keeps its
file; only what is known to be complete may be built on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from snapshots.domain.dataflow_logs.kinds import CP_ACK, CP_COMPLETE
from snapshots.domain.model.recording import Event, LoggedEvent
from snapshots.domain.model.values import parsed


@dataclass(frozen=True, slots=True)
class Handle:
    """The handle by which a checkpoint refers to a file.

    Attributes:
        shared: whether an earlier checkpoint, ``since_cid``, uploaded it.
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
    """The files of a checkpoint by key group. versions: how often each group has changed; base: the
    files of the checkpoint that it builds on, empty for a full one."""
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
    """Of every file that an acknowledgement names: which of the checkpoints that are retained at
    the end of these events need it. One that none needs may be deleted."""
    named: dict[int, set[str]] = {}
    retained: list[int] = []
    for event in sorted(events, key=lambda event: event.line):
        if event.kind == CP_ACK:
            handles = parsed(event.extra)["handles"]
            named.setdefault(int(event.snapshot), set()).update(item["file"] for item in handles)
        elif event.kind == CP_COMPLETE:
            retained = parsed(event.extra)["retained"]
    files = sorted({file for names in named.values() for file in names})
    return {file: tuple(cid for cid in retained if file in named.get(cid, ())) for file in files}

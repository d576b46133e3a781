"""Finish a stored recording, and write one in plain Python as the reference.

The reference writer and the Spark ingest write the same tables; a test compares them.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from snapshots.domain.dataflow_logs.checkpoints.files import Decision, FileReport
from snapshots.domain.dataflow_logs.checkpoints.report import CheckpointReport
from snapshots.domain.dataflow_logs.failovers.report import Failovers
from snapshots.domain.model.as_json import as_json
from snapshots.domain.model.defects import Defect
from snapshots.domain.model.recording import KINDS, RECORD_CHANNEL, RECORD_STATE, Event, Recording
from snapshots.store import header_fields, levels
from snapshots.store.index import write_index
from snapshots.store.layout import (
    CHANNEL_COLUMNS,
    CHANNELS,
    CHECKPOINT_FILES,
    CHECKPOINTS,
    DEFECTS,
    EVENT_COLUMNS,
    FAILOVERS,
    FOLLOWING,
    HEADER_FIELDS,
    HEADER_FIELDS_COLUMNS,
    MANIFEST,
    MARKER_COLUMNS,
    MESSAGE_COLUMNS,
    NONE,
    PROCESS_COLUMNS,
    PROCESSES,
    RECORD_COLUMNS,
    RECORDS,
    SNAPSHOT_CHANNEL_COLUMNS,
    SNAPSHOT_CHANNELS,
    SNAPSHOT_STATE_COLUMNS,
    SNAPSHOT_STATES,
    STRAY_COLUMNS,
    STRAYS,
)
from snapshots.store.manifest import Extent, Manifest, Part
from snapshots.store.parts import (
    replace_table,
    write_bytes,
    write_events,
    write_markers,
    write_messages,
    write_table,
)
from snapshots.store.restores import write_restores
from snapshots.store.summaries import write_summaries

_RECORDS = (RECORD_STATE, RECORD_CHANNEL)


def finish(
    folder: Path,
    manifest: Manifest,
    levels_above: int = levels.COUNTED_ON_THE_FLY,
    run: levels.Run = levels.in_threads,
) -> Manifest:
    """Write index, fences, levels and, last, the manifest of a folder that has all its tables.

    Args:
        manifest: lists the parts; its ``levels`` are filled in here.
        levels_above: a recording gets levels only if it has more events than this.
        run: runs the tasks that count the levels, wherever it likes.

    Returns the manifest as written.
    Raises: StoreDamaged if a part is not what the manifest says; OSError.
    """
    write_index(folder, manifest)
    complete = replace(manifest, levels=levels.write_levels(folder, manifest, levels_above, run))
    fields = header_fields.table_of(complete.header_extra)
    if fields is not None:
        write_table(folder / HEADER_FIELDS, fields, HEADER_FIELDS_COLUMNS)
    text = complete.to_json(fields_beside=fields is not None)
    write_bytes(folder / MANIFEST, text.encode())
    return complete


def write_defects(folder: Path, defects: Iterable[Defect], total: int | None = None) -> None:
    """Write ``defects.json``; ``total`` is the number of defects if not all are listed."""
    listed = [asdict(defect) for defect in defects]
    content = {"total": len(listed) if total is None else total, "defects": listed}
    write_bytes(folder / DEFECTS, json.dumps(content, ensure_ascii=False).encode())


def write_snapshots(
    folder: Path, summaries: list[Mapping[str, Any]], states: pa.Table, channels: pa.Table
) -> None:
    """Write what the snapshots job found; ``snapshots.json`` last, since it stands for all.

    Args:
        summaries: one JSON object per snapshot, with its id under ``snapshot``.
        states: rows of SNAPSHOT_STATE_COLUMNS in any order.
        channels: rows of SNAPSHOT_CHANNEL_COLUMNS in any order.
    """
    for name, rows, schema, by in (
        (SNAPSHOT_STATES, states, SNAPSHOT_STATE_COLUMNS, "process"),
        (SNAPSHOT_CHANNELS, channels, SNAPSHOT_CHANNEL_COLUMNS, "channel"),
    ):
        ordered = rows.sort_by([("snapshot", "ascending"), (by, "ascending")])
        replace_table(folder / name, ordered, schema)
    write_summaries(folder, summaries)


def write_checkpoints(
    folder: Path,
    checkpoints: Iterable[CheckpointReport],
    files: Iterable[FileReport],
    decisions: Iterable[Decision],
    failovers: Failovers,
) -> None:
    """Write what the checkpoints job found in the log of a dataflow."""
    contents = {
        CHECKPOINTS: list(map(as_json, checkpoints)),
        CHECKPOINT_FILES: {
            "files": list(map(as_json, files)),
            "decisions": list(map(as_json, decisions)),
        },
        FAILOVERS: as_json(failovers),
    }
    for name, content in contents.items():
        write_bytes(folder / name, json.dumps(content, ensure_ascii=False).encode())


def write_recording(
    recording: Recording,
    folder: Path,
    defects: Iterable[Defect] = (),
    source_format: str = "cutline",
) -> Manifest:
    """Write a recording into an empty folder, as the reference for what Spark writes."""
    return _Writer(recording, folder, source_format).write(defects)


class _Writer:
    """The reference writer of one recording, with the codes of its ids."""

    def __init__(self, recording: Recording, folder: Path, source_format: str) -> None:
        topology = recording.topology
        self.recording = recording
        self.folder = folder
        self.source_format = source_format
        self.processes = {process.id: code for code, process in enumerate(topology.processes)}
        self.channels = {channel.id: code for code, channel in enumerate(topology.channels)}
        self.events = list(chain.from_iterable(recording.events[p] for p in self.processes))
        by_step = sorted(self.events, key=lambda event: event.step)
        named = dict.fromkeys(event.snapshot for event in by_step if event.snapshot is not None)
        self.snapshots = {snapshot: code for code, snapshot in enumerate(named)}
        unknown = sorted({event.kind for event in self.events} - set(KINDS))
        self.kinds = {kind: code for code, kind in enumerate((*KINDS, *unknown))}

    def write(self, defects: Iterable[Defect]) -> Manifest:
        listed = list(defects)
        self._write_small()
        write_defects(self.folder, listed)
        parts = (
            *write_events(self.folder, _table(EVENT_COLUMNS, map(self._event, self.events))),
            *write_messages(self.folder, self._messages()),
            *write_markers(self.folder, self._markers()),
        )
        return finish(self.folder, self._manifest(parts, len(listed)))

    def _manifest(self, parts: tuple[Part, ...], defects: int) -> Manifest:
        recording = self.recording
        instants = [event.at for event in self.events]
        return Manifest(
            name=recording.name,
            time_unit=recording.time_unit,
            source_format=self.source_format,
            kinds=tuple(self.kinds),
            snapshots=tuple(self.snapshots),
            counts={
                "events": len(self.events),
                "messages": sum(map(len, recording.messages.values())),
                "markers": sum(map(len, recording.markers.values())),
                "processes": len(self.processes),
                "channels": len(self.channels),
                "snapshots": len(self.snapshots),
                "defects": defects,
            },
            extent=Extent(min(instants, default=0), max(instants, default=0), len(instants)),
            parts=parts,
            header_extra=recording.header_extra,
        )

    def _write_small(self) -> None:
        topology = self.recording.topology
        processes = [
            {"id": process.id, "state": process.state, "scope": process.scope}
            for process in topology.processes
        ]
        channels = [
            {
                "id": channel.id,
                "source": self.processes[channel.source],
                "target": self.processes[channel.target],
                "fifo": channel.fifo,
                "overtaking": channel.overtaking,
            }
            for channel in topology.channels
        ]
        records = [self._event(event) for event in self.events if event.kind in _RECORDS]
        records.sort(key=lambda row: (row["snapshot"], row["process"], row["index"]))
        strays = map(self._event, self.recording.strays)
        for name, rows, schema in (
            (PROCESSES, processes, PROCESS_COLUMNS),
            (CHANNELS, channels, CHANNEL_COLUMNS),
            (RECORDS, records, RECORD_COLUMNS),
            (STRAYS, strays, STRAY_COLUMNS),
        ):
            write_table(self.folder / name, _table(schema, rows), schema)
        restores = self.recording.restores.items()
        write_restores(self.folder, {self.processes[name]: own for name, own in restores})

    def _event(self, event: Event) -> dict[str, Any]:
        return asdict(event) | {
            "process": self.processes[event.process],
            "channel": NONE if event.channel is None else self.channels[event.channel],
            "snapshot": NONE if event.snapshot is None else self.snapshots[event.snapshot],
            "kind": self.kinds[event.kind],
        }

    def _messages(self) -> pa.Table:
        rows = [
            asdict(message) | {"channel": self.channels[channel]}
            for channel in self.channels
            for message in self.recording.messages.get(channel, ())
        ]
        return _table(_without(MESSAGE_COLUMNS, "received_reach", *FOLLOWING), rows)

    def _markers(self) -> pa.Table:
        rows = [
            asdict(marker)
            | {"channel": self.channels[channel], "snapshot": self.snapshots[marker.snapshot]}
            for channel in self.channels
            for marker in self.recording.markers.get(channel, ())
        ]
        return _table(_without(MARKER_COLUMNS, "received_reach"), rows)


def _without(schema: pa.Schema, *names: str) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def _table(schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return rows as a table, without the keys that are not columns."""
    return pa.Table.from_pylist(list(rows), schema)

"""Write the inventory of an engine's checkpoints beside the recording derived from them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from snapshots.domain.inventory.entries import ChannelBytes, NotRead, StateEntry, StateTypes
from snapshots.domain.inventory.model import (
    WHOLE,
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
    UploadInventory,
)
from snapshots.domain.inventory.restore_check import UploadCheck
from snapshots.domain.inventory.sums import Adding
from snapshots.domain.inventory.weights import Weights
from snapshots.domain.model.as_json import as_json, members_as_json
from snapshots.readers.engines.base import EngineUpload, ReportsJobs, TellsTypes
from snapshots.store.inventory.layout import (
    CHANNEL_BYTES,
    CHANNEL_COLUMNS,
    CHECK,
    CHECK_OF,
    CHECKPOINT,
    CONTENTS,
    ENTRIES,
    ENTRY_COLUMNS,
    REPORTS,
    TYPE_COLUMNS,
    TYPES,
    UPLOAD,
    VERSION,
    WEIGHTS,
)
from snapshots.store.parts import synced, write_bytes

MOST_LISTED = 10_000  # files of an upload that are absent, and that nobody needs
MOST_STORED = 1_000_000  # entries of an upload that can be shown; all are counted
LONGEST_VALUE = 64 * 1024  # bytes of a key's or value's JSON
PARTS = ("operators", "channels", "missing", "facts", "settings", "ranges")
"""The fields of a checkpoint that a list of checkpoints leaves out or only counts."""
_SHOWN_OF_LONG = 1024
_BATCH_ROWS = 20_000

StateKey = tuple[int, str, str | None]  # checkpoint, operator, state


@dataclass
class Tally:
    """The counts and sums of the entries of one state, and their place in the file.

    Attributes:
        adding: the sum of the values.
        reason: why a key or a value cannot be read; None if all can.
        weights: what ``Weights.summary`` says once all entries are read.
    """

    entries: int = 0
    bytes: int = 0
    adding: Adding = field(default_factory=Adding)
    weights: dict[str, Any] = field(default_factory=dict)
    stored: int = 0
    undecoded: int = 0
    reason: str | None = None
    first_batch: int = 0
    batches: int = 0


def write_inventory(
    folder: Path,
    upload: EngineUpload,
    most: int = MOST_STORED,
    watch: Callable[[Iterator[StateEntry]], Iterator[StateEntry]] = iter,
) -> UploadInventory:
    """Write the inventory of an upload into a recording's folder, with at most ``most`` entries.

    Returns the inventory with its counts. ``watch`` yields the entries again, and may report them.
    Raises: OSError; what ``upload`` and ``watch`` raise.
    """
    target = folder / CONTENTS
    target.mkdir()
    tallies = _write_entries(target / ENTRIES, watch(upload.entries()), most)
    _write_each(target / CHANNEL_BYTES, CHANNEL_COLUMNS, upload.channel_bytes())
    types = upload.state_types() if isinstance(upload, TellsTypes) else ()
    _write_each(target / TYPES, TYPE_COLUMNS, types)
    reports = upload.job_reports() if isinstance(upload, ReportsJobs) else ()
    write_bytes(target / REPORTS, orjson.dumps([as_json(report) for report in reports]))
    inventory = upload.inventory()
    checkpoints = tuple(
        _counted(number, checkpoint, tallies)
        for number, checkpoint in enumerate(inventory.checkpoints)
    )
    inventory = replace(inventory, checkpoints=checkpoints)
    for number, checkpoint in enumerate(checkpoints):
        body = {**as_json(checkpoint), "index": _index(number, tallies)}
        write_bytes(target / CHECKPOINT.format(number), orjson.dumps(body))
        weights = orjson.dumps(_weights(number, tallies))
        write_bytes(target / WEIGHTS.format(number), weights)
    write_bytes(target / UPLOAD, orjson.dumps(_listed(inventory)))
    _write_check(target, upload.restore_check())
    return inventory


def _write_check(target: Path, check: UploadCheck) -> None:
    """Write the answers, and of each checkpoint the files that a restore reads."""
    for one in check.checks:
        if one.number is not None:
            write_bytes(target / CHECK_OF.format(one.number), orjson.dumps(as_json(one)))
    body = as_json(check) | {
        "checks": [members_as_json(one, without=("files",)) for one in check.checks],
        "absent": [as_json(file) for file in check.absent[:MOST_LISTED]],
        "unneeded": [as_json(file) for file in check.unneeded[:MOST_LISTED]],
    }
    write_bytes(target / CHECK, orjson.dumps(body))


def _listed(upload: UploadInventory) -> dict[str, object]:
    """Return the upload as JSON, with only what a list shows of each checkpoint."""
    own = members_as_json(upload, without=("checkpoints",))
    checkpoints = [_summary(checkpoint) for checkpoint in upload.checkpoints]
    return {**own, "version": VERSION, "checkpoints": checkpoints}


def _summary(checkpoint: CheckpointInventory) -> dict[str, object]:
    """Return a checkpoint as JSON, with the numbers of its parts instead of the parts."""
    none = None if checkpoint.problem else 0  # nothing tells what else it has, or needs
    return {
        **members_as_json(checkpoint, without=PARTS),
        "operators": len(checkpoint.operators) or none,
        "channels": len(checkpoint.channels),
        "halves": sum(channel.part != WHOLE for channel in checkpoint.channels),
        "in_flight": checkpoint.in_flight,
        "missing": len(checkpoint.missing) or none,
    }


def _counted(
    number: int, checkpoint: CheckpointInventory, tallies: dict[StateKey, Tally]
) -> CheckpointInventory:
    operators = tuple(_operator(number, operator, tallies) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _operator(
    number: int, operator: OperatorInventory, tallies: dict[StateKey, Tally]
) -> OperatorInventory:
    """Return an operator with its counts, and with the states that only entries name."""
    states = {state.name: state for state in operator.states}
    for checkpoint, owner, name in tallies:
        if (checkpoint, owner) == (number, operator.id):
            states.setdefault(name, StateInventory(name, "unknown"))
    counted = tuple(
        _state(state, tallies.get((number, operator.id, name))) for name, state in states.items()
    )
    return replace(operator, states=counted)


def _state(state: StateInventory, tally: Tally | None) -> StateInventory:
    if tally is None:
        return replace(state, entries=state.entries or (0 if state.complete else None))
    return replace(
        state,
        entries=tally.entries,
        bytes=tally.bytes if state.bytes is None else state.bytes,
        stored=tally.stored,
        undecoded=tally.undecoded,
        reason=state.reason or tally.reason,
        sum=tally.adding.total if state.complete else None,
        sums=tally.adding.sums if state.complete else {},
    )


def _index(number: int, tallies: dict[StateKey, Tally]) -> dict[str, dict[str | None, list[int]]]:
    """Return the first batch and the number of batches by operator and state."""
    index: dict[str, dict[str | None, list[int]]] = {}
    for (checkpoint, operator, state), tally in tallies.items():
        if checkpoint == number:
            index.setdefault(operator, {})[state] = [tally.first_batch, tally.batches]
    return index


def _weights(number: int, tallies: dict[StateKey, Tally]) -> dict[str, dict[str, Any]]:
    """Return the weights of a checkpoint's entries by operator and state."""
    weights: dict[str, dict[str, Any]] = {}
    for (checkpoint, operator, state), tally in tallies.items():
        if checkpoint == number:
            weights.setdefault(operator, {})[state or ""] = tally.weights
    return weights


def _write_entries(path: Path, entries: Iterable[StateEntry], most: int) -> dict[StateKey, Tally]:
    tallies: dict[StateKey, Tally] = {}
    written = 0  # batches
    with synced(path) as sink, pa.ipc.new_file(sink, ENTRY_COLUMNS) as writer:
        for (number, operator), own in groupby(entries, lambda e: (e.checkpoint, e.operator)):
            kept: dict[str, list[StateEntry]] = {}
            weights: dict[str, Weights] = defaultdict(Weights)
            for entry in own:
                tally = tallies.setdefault((number, operator, entry.state), Tally())
                _count(tally, entry)
                weights[entry.state].add(entry)
                if most:
                    most -= 1
                    kept.setdefault(entry.state, []).append(entry)
                    weights[entry.state].add_key(entry, _key(entry))
            for state, weight in weights.items():
                tallies[number, operator, state].weights = weight.summary()
            for state, rows in kept.items():
                tally = tallies[number, operator, state]
                tally.stored, tally.first_batch = len(rows), written
                for batch in _batches(rows):
                    writer.write_batch(batch)
                    written += 1
                tally.batches = written - tally.first_batch
    return tallies


def _count(tally: Tally, entry: StateEntry) -> None:
    tally.entries += 1
    tally.bytes += entry.bytes
    tally.adding.add(entry.value)
    for part in (entry.key, entry.value):
        if isinstance(part, NotRead):
            tally.undecoded += 1
            tally.reason = tally.reason or part.reason
            break


def _batches(entries: list[StateEntry]) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(entries), _BATCH_ROWS):
        rows = [_row(entry) for entry in entries[begin : begin + _BATCH_ROWS]]
        yield pa.RecordBatch.from_pylist(rows, schema=ENTRY_COLUMNS)


def _row(entry: StateEntry) -> dict[str, object]:
    row: dict[str, object] = {
        "subtask": entry.subtask,
        "key_group": entry.key_group,
        "namespace": None if entry.namespace is None else _json(entry.namespace),
        "bytes": entry.bytes,
        "identity": entry.identity,
        "digest": entry.digest,
    }
    for name in ("value", "key"):
        part = getattr(entry, name)
        if isinstance(part, NotRead):
            row |= {name: None, "head": part.head, "reason": part.reason}
            continue
        text = _json(part)
        if len(text) > LONGEST_VALUE:
            reason = f"The {name} is {len(text):,} bytes as JSON; only its beginning is kept."
            row |= {name: None, "head": text[:_SHOWN_OF_LONG], "reason": reason}
        else:
            row[name] = text
    return row


def _key(entry: StateEntry) -> bytes | None:
    """Return the JSON of an entry's key; None if it cannot be decoded."""
    return None if isinstance(entry.key, NotRead) else _json(entry.key)


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def _write_each(path: Path, schema: pa.Schema, items: Iterable[ChannelBytes | StateTypes]) -> None:
    """Write each item as a batch of one row; its fields have the names of the columns."""
    with synced(path) as sink, pa.ipc.new_file(sink, schema) as writer:
        for item in items:
            row = {name: getattr(item, name) for name in schema.names}
            writer.write_batch(pa.RecordBatch.from_pylist([row], schema=schema))

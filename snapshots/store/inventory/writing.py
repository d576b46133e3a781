"""Writing what an engine's checkpoints hold beside the recording that is derived from them."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path

import orjson
import pyarrow as pa

from snapshots.domain.inventory.entries import ChannelBytes, NotRead, StateEntry, StateTypes
from snapshots.domain.inventory.model import (
    CheckpointInventory,
    OperatorInventory,
    StateInventory,
    UploadInventory,
)
from snapshots.domain.inventory.sums import Adding
from snapshots.readers.engines.base import EngineUpload, TellsTypes
from snapshots.store.inventory.layout import (
    CHANNEL_BYTES,
    CHANNEL_COLUMNS,
    CHECKPOINT,
    CONTENTS,
    ENTRIES,
    ENTRY_COLUMNS,
    TYPE_COLUMNS,
    TYPES,
    UPLOAD,
    VERSION,
)
from snapshots.store.parts import write_bytes

MOST_STORED = 1_000_000  # entries of an upload whose contents can be shown; all are counted
LONGEST_VALUE = 64 * 1024  # bytes of a key's or value's JSON
_SHOWN_OF_LONG = 1024
_BATCH_ROWS = 20_000

Place = tuple[int, str, str]  # checkpoint, operator, state


@dataclass
class Tally:
    """What was seen of one state. first_batch, batches: where its entries lie in the file."""

    entries: int = 0
    bytes: int = 0
    adding: Adding = field(default_factory=Adding)
    stored: int = 0
    undecoded: int = 0
    reason: str | None = None
    first_batch: int = 0
    batches: int = 0


def write_inventory(folder: Path, upload: EngineUpload, most: int = MOST_STORED) -> UploadInventory:
    """Write all of an upload into a store's folder. most: entries that are stored.

    Returns the contents with their counts. Raises: OSError, what ``upload`` raises.
    """
    into = folder / CONTENTS
    into.mkdir()
    tallies = _write_entries(into / ENTRIES, upload.entries(), most)
    _write_each(into / CHANNEL_BYTES, CHANNEL_COLUMNS, upload.channel_bytes())
    types = upload.state_types() if isinstance(upload, TellsTypes) else ()
    _write_each(into / TYPES, TYPE_COLUMNS, types)
    found = upload.inventory()
    checkpoints = tuple(
        _counted(number, checkpoint, tallies) for number, checkpoint in enumerate(found.checkpoints)
    )
    found = replace(found, checkpoints=checkpoints)
    for number, checkpoint in enumerate(checkpoints):
        index = _index(number, tallies)
        body = {**asdict(checkpoint), "index": index}
        write_bytes(into / CHECKPOINT.format(number), orjson.dumps(body))
    write_bytes(into / UPLOAD, orjson.dumps(_listed(found)))
    return found


def _listed(upload: UploadInventory) -> dict[str, object]:
    """Of each checkpoint what a list shows: everything but what it consists of."""
    own = asdict(replace(upload, checkpoints=()))
    own["version"] = VERSION
    own["checkpoints"] = [
        {
            **_summary(checkpoint),
            "operators": len(checkpoint.operators),
            "channels": len(checkpoint.channels),
            "in_flight": sum(channel.bytes for channel in checkpoint.channels),
            "missing": len(checkpoint.missing),
        }
        for checkpoint in upload.checkpoints
    ]
    return own


def _summary(checkpoint: CheckpointInventory) -> dict[str, object]:
    """Without facts and settings, which a list would have to show as none."""
    own = asdict(replace(checkpoint, operators=(), channels=(), missing=(), facts=(), settings={}))
    return {name: value for name, value in own.items() if name not in ("facts", "settings")}


def _counted(
    number: int, checkpoint: CheckpointInventory, tallies: dict[Place, Tally]
) -> CheckpointInventory:
    operators = tuple(_operator(number, operator, tallies) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _operator(
    number: int, operator: OperatorInventory, tallies: dict[Place, Tally]
) -> OperatorInventory:
    """With the states that only entries told of."""
    known = {state.name: state for state in operator.states}
    for checkpoint, owner, name in tallies:
        if (checkpoint, owner) == (number, operator.id) and name not in known:
            known[name] = StateInventory(name, "unknown")
    states = tuple(
        _state(state, tallies.get((number, operator.id, name))) for name, state in known.items()
    )
    return replace(operator, states=states)


def _state(state: StateInventory, tally: Tally | None) -> StateInventory:
    if tally is None:
        return replace(state, entries=state.entries or 0)
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


def _index(number: int, tallies: dict[Place, Tally]) -> dict[str, dict[str, list[int]]]:
    """By operator and state: the first batch and how many."""
    index: dict[str, dict[str, list[int]]] = {}
    for (checkpoint, operator, state), tally in tallies.items():
        if checkpoint == number:
            index.setdefault(operator, {})[state] = [tally.first_batch, tally.batches]
    return index


def _write_entries(path: Path, entries: Iterable[StateEntry], most: int) -> dict[Place, Tally]:
    tallies: dict[Place, Tally] = {}
    batch = left = 0
    left = most
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, ENTRY_COLUMNS) as writer:
            for (number, operator), own in groupby(entries, lambda e: (e.checkpoint, e.operator)):
                kept: dict[str, list[StateEntry]] = {}
                for entry in own:
                    tally = tallies.setdefault((number, operator, entry.state), Tally())
                    _count(tally, entry)
                    if left:
                        left -= 1
                        kept.setdefault(entry.state, []).append(entry)
                for state, rows in kept.items():
                    tally = tallies[number, operator, state]
                    tally.stored, tally.first_batch = len(rows), batch
                    for piece in _batches(rows):
                        writer.write_batch(piece)
                        batch += 1
                    tally.batches = batch - tally.first_batch
        sink.flush()
        os.fsync(sink.fileno())
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


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)


def _write_each(path: Path, schema: pa.Schema, items: Iterable[ChannelBytes | StateTypes]) -> None:
    """A batch for each, whose fields are called as the columns."""
    with path.open("wb") as sink:
        with pa.ipc.new_file(sink, schema) as writer:
            for item in items:
                row = {name: getattr(item, name) for name in schema.names}
                writer.write_batch(pa.RecordBatch.from_pylist([row], schema=schema))
        sink.flush()
        os.fsync(sink.fileno())

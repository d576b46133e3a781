"""Checks of whole batches: what a kind needs, and at which end of a channel it happens."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.assembling.assembly import NEEDED, SOURCE_KINDS, TARGET_KINDS, Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect
from snapshots.readers.logs.columns import NONE


def check_batch(batch: pa.RecordBatch, header: Header) -> list[Defect]:
    """``missing-field`` and ``wrong-end`` defects of a batch of columns.RAW."""
    return [*_missing(batch), *_wrong_ends(batch, header)]


def _is_kind(batch: pa.RecordBatch, kinds: object) -> np.ndarray:
    chosen = pc.is_in(batch["kind"], value_set=pa.array(sorted(kinds), pa.string()))
    return chosen.to_numpy(zero_copy_only=False)


def _missing(batch: pa.RecordBatch) -> list[Defect]:
    found: list[Defect] = []
    absent = {
        field: batch[field].is_null().to_numpy(zero_copy_only=False)
        for field in ("message", "messages", "snapshot")
    }
    absent["channel"] = batch["channel"].to_numpy() == NONE
    for field, without in absent.items():
        kinds = {kind for kind, needed in NEEDED.items() if field in needed}
        if without.any():
            rows = np.flatnonzero(without & _is_kind(batch, kinds))
            for row in rows.tolist():
                kind, line = batch["kind"][row].as_py(), batch["line"][row].as_py()
                found.append(say.missing_field(kind=kind, field=field, line=line))
    return found


def _wrong_ends(batch: pa.RecordBatch, header: Header) -> list[Defect]:
    if not header.topology.channels:
        return []
    channel = batch["channel"].to_numpy()
    process = batch["process"].to_numpy()
    found: list[Defect] = []
    for end, kinds, processes in zip(
        ("source", "target"), (SOURCE_KINDS, TARGET_KINDS), header.channel_ends, strict=True
    ):
        misplaced = (channel != NONE) & (processes[channel] != process)
        if misplaced.any():
            rows = np.flatnonzero(misplaced & _is_kind(batch, kinds))
            found += [_wrong_end(batch, row, end, header) for row in rows.tolist()]
    return found


def _wrong_end(batch: pa.RecordBatch, row: int, end: str, header: Header) -> Defect:
    channel = header.topology.channels[batch["channel"][row].as_py()]
    return say.wrong_end(
        kind=batch["kind"][row].as_py(),
        process=header.topology.processes[batch["process"][row].as_py()].id,
        channel=channel.id,
        end=end,
        expected=getattr(channel, end),
        line=batch["line"][row].as_py(),
    )

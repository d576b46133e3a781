"""Report defects of events.

An event may lack a field of its kind, hold a value that is not allowed, or happen at the wrong end
of its channel.
"""

import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from snapshots.domain.assembling.assembly import NEEDED, SOURCE_KINDS, TARGET_KINDS, Header
from snapshots.domain.model import defects as say
from snapshots.domain.model.defects import Defect, defect, meant, quoted
from snapshots.domain.model.recording import KINDS, RESTORE
from snapshots.readers.formats.fields import Problem, count_problem
from snapshots.readers.logs.columns import NONE

ALL_KINDS = frozenset(KINDS)


def absent_field(field: str, line: int) -> Defect:
    """Return the defect of an event without a field that every event needs."""
    sentence = f"The event has no field {quoted(field)}."
    return defect("missing-field", sentence, line=line, field=field)


def field_defect(field: str, problem: Problem, line: int) -> Defect:
    """Return the defect of a field whose value is not allowed."""
    code, reason = problem
    return defect(code, f"The field {quoted(field)} {reason}.", line=line, field=field)


def unknown_kind(kind: str, line: int, kinds: frozenset[str] = ALL_KINDS) -> Defect:
    """Return the defect of an event whose kind is none of those that the format knows."""
    return say.unknown_kind(kind=kind, meant=meant(kind, kinds), line=line)


def second_header(line: int) -> Defect:
    """Return the defect of a header among the events."""
    sentence = "A second header. Are two recordings in this file? Upload them one by one."
    return defect("header-twice", sentence, line=line, field="kind")


def check_batch(batch: pa.RecordBatch, header: Header) -> list[Defect]:
    """Return the defects of a batch of columns.RAW.

    They are ``missing-field`` and ``wrong-end``, and those of the ``epoch`` of a restore.
    """
    kind = batch["kind"].dictionary_encode()
    return [*_missing(batch, kind), *_wrong_ends(batch, kind, header), *_epochs(batch, kind)]


def _is_kind(kind: pa.DictionaryArray, kinds: Iterable[str]) -> np.ndarray:
    wanted = set(kinds)
    chosen = np.array([name in wanted for name in kind.dictionary.to_pylist()], bool)
    if not chosen.any():
        return np.zeros(len(kind), bool)
    return chosen[kind.indices.to_numpy()]


def _missing(batch: pa.RecordBatch, kind_of: pa.DictionaryArray) -> Iterator[Defect]:
    for field in ("message", "messages", "snapshot", "channel"):
        kinds = {kind for kind, needed in NEEDED.items() if field in needed}
        if not (is_needed := _is_kind(kind_of, kinds)).any():
            continue
        for row in np.flatnonzero(_is_absent(batch, field) & is_needed).tolist():
            kind, line = batch["kind"][row].as_py(), batch["line"][row].as_py()
            yield say.missing_field(kind=kind, field=field, line=line)


def _is_absent(batch: pa.RecordBatch, field: str) -> np.ndarray:
    absent: np.ndarray
    if field == "channel":
        absent = batch["channel"].to_numpy() == NONE
    else:
        absent = batch[field].is_null().to_numpy(zero_copy_only=False)
    return absent


def _wrong_ends(
    batch: pa.RecordBatch, kind_of: pa.DictionaryArray, header: Header
) -> Iterator[Defect]:
    if not header.topology.channels:
        return
    channel = batch["channel"].to_numpy()
    process = batch["process"].to_numpy()
    for end, kinds, processes in zip(
        ("source", "target"), (SOURCE_KINDS, TARGET_KINDS), header.channel_ends, strict=True
    ):
        misplaced = (channel != NONE) & (processes[channel] != process)
        if misplaced.any():
            for row in np.flatnonzero(misplaced & _is_kind(kind_of, kinds)).tolist():
                yield _wrong_end(batch, row, end, header)


def _epochs(batch: pa.RecordBatch, kind_of: pa.DictionaryArray) -> Iterator[Defect]:
    for row in np.flatnonzero(_is_kind(kind_of, [RESTORE])).tolist():
        extra = batch["extra"][row].as_py()
        epoch = None if extra is None else json.loads(extra).get("epoch")
        if epoch is not None and (problem := count_problem(epoch)) is not None:
            yield field_defect("epoch", problem, batch["line"][row].as_py())


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

"""Rows are staged by process, with what the next stages must know of them."""

import pyarrow as pa
import pytest

from snapshots.domain.model.recording import INTERNAL, RECEIVE, SEND
from snapshots.readers.logs.columns import raw_batch
from tasks.spark.ingest.parse import stage

KINDS = [SEND, "strange", INTERNAL, RECEIVE, SEND]


def rows(kinds: list[str]) -> pa.RecordBatch:
    nothing = (None,) * 7
    return raw_batch([(line, 0, kind, None, 5, 2, *nothing) for line, kind in enumerate(kinds, 1)])


def by_code(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    codes = pa.array([names.index(kind) for kind in batch["kind"].to_pylist()], pa.int32())
    kinds = pa.DictionaryArray.from_arrays(codes, pa.array(names))
    return batch.set_column(2, pa.field("kind", kinds.type, nullable=False), kinds)


@pytest.mark.parametrize("names", [None, ["never", RECEIVE, "strange", "not", INTERNAL, SEND]])
def test_kinds_are_those_of_the_rows_however_they_are_held(tmp_path, names):
    batches = [rows(KINDS), rows([RECEIVE])]
    if names is not None:
        batches[0] = by_code(batches[0], names)
    [staged] = stage(batches, tmp_path)
    assert sorted(staged.kinds) == sorted(set(KINDS))
    assert staged.counts == {0: 6}
    assert staged.ends == {2: 4}


@pytest.mark.parametrize(("most_rows", "chunks"), [(1, [5, 1]), (6, [6]), (100, [6])])
def test_a_chunk_ends_when_it_has_enough_rows(tmp_path, most_rows, chunks):
    staged = stage([rows(KINDS), rows([]), rows([RECEIVE])], tmp_path, most_rows)
    assert [chunk.rows for chunk in staged] == chunks

"""Parts of a packed matrix are those of the matrix."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.store import blocks, matrices
from snapshots.store.errors import StoreDamaged
from snapshots.store.matrices import PackedMatrix, write_packed
from snapshots.store.parts import write_batch
from tests.effort import examples


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_any_rows_and_neighbouring_columns_come_back(tmp_path_factory, data):
    height, width = data.draw(st.integers(0, 9)), data.draw(st.integers(1, 30))
    dtype = data.draw(st.sampled_from([np.uint8, np.uint16, np.int64]))
    matrix = np.arange(height * width).reshape(height, width).astype(dtype)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, height - 1)))) if height else [], int)
    first, end = sorted(data.draw(st.integers(0, width)) for _ in range(2))
    file = tmp_path_factory.mktemp("matrix") / "it.arrow"
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("_ROWS", 4), ("_COLUMNS", 7)):
            patch.setattr(matrices, name, size)
        patch.setattr(blocks, "_kept", blocks.KeptBlocks(100))
        write_packed(file, matrix)
        packed = PackedMatrix(file, matrix.shape)
        for _ in range(2):
            found = packed.part(rows, first, end)
            assert found.dtype == dtype
            assert found.tolist() == matrix[rows, first:end].tolist()


def test_a_matrix_of_another_shape_is_named(tmp_path):
    write_packed(tmp_path / "it.arrow", np.zeros((3, 4), np.uint8))
    with pytest.raises(StoreDamaged, match="Its shape is 3 4, not 4 3"):
        PackedMatrix(tmp_path / "it.arrow", (4, 3))


def test_a_block_that_cannot_be_unpacked_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "pack", lambda content: b"not packed")
    write_packed(tmp_path / "it.arrow", np.zeros((3, 4), np.uint8))
    with pytest.raises(StoreDamaged, match="A block cannot be read"):
        PackedMatrix(tmp_path / "it.arrow", (3, 4)).part(np.array([1]), 0, 2)


@pytest.mark.parametrize("dtype", ["", "of the future", "O", "<f8"])
def test_numbers_of_an_unknown_type_are_named(tmp_path, dtype):
    _write(tmp_path / "it.arrow", dtype, pa.array([b"x"], pa.large_binary()))
    with pytest.raises(StoreDamaged, match="unknown type"):
        PackedMatrix(tmp_path / "it.arrow", (3, 4))


def test_a_block_that_is_null_is_named(tmp_path):
    _write(tmp_path / "it.arrow", "|u1", pa.array([None], pa.large_binary()))
    with pytest.raises(StoreDamaged, match="a block is null"):
        PackedMatrix(tmp_path / "it.arrow", (3, 4)).part(np.array([1]), 0, 2)


def test_blocks_that_are_no_bytes_are_named(tmp_path):
    _write(tmp_path / "it.arrow", "|u1", pa.array([1]))
    with pytest.raises(StoreDamaged, match="no bytes"):
        PackedMatrix(tmp_path / "it.arrow", (3, 4))


def _write(file, dtype: str, content: pa.Array) -> None:
    facts = {"shape": "3 4", "dtype": dtype}
    schema = pa.schema([("block", content.type)], facts)
    write_batch(file, pa.record_batch([content], schema))

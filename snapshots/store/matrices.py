"""Write a matrix in compressed blocks, and read some rows and neighbouring columns of it.

The file is one Arrow record batch with a block in each row, block after block of the first rows,
then of the next. The metadata of its schema says the ``shape`` and the ``dtype`` of the matrix.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa

from snapshots.store.blocks import Blocks
from snapshots.store.decoding import far_or_mapped
from snapshots.store.errors import StoreDamaged, name_in_recording
from snapshots.store.objects.far import FarTexts, block_of
from snapshots.store.packing import pack, unpack
from snapshots.store.parts import write_batch

_ROWS, _COLUMNS = 256, 1024  # of a block


def write_packed(path: Path, matrix: np.ndarray) -> None:
    """Write a matrix of whole numbers and force it to the disk."""
    blocks = [
        pack(np.ascontiguousarray(matrix[row : row + _ROWS, column : column + _COLUMNS]).tobytes())
        for row, column in product(
            range(0, matrix.shape[0], _ROWS), range(0, matrix.shape[1], _COLUMNS)
        )
    ]
    facts = {"shape": "{} {}".format(*matrix.shape), "dtype": matrix.dtype.str}
    schema = pa.schema([("block", pa.large_binary())], facts)
    write_batch(path, pa.record_batch([pa.array(blocks, pa.large_binary())], schema))


class PackedMatrix:
    """A matrix that ``write_packed`` wrote. Safe for threads: only the kept blocks change."""

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        """Map the matrix in a file. Raises: StoreDamaged unless it has this shape."""
        self._where = name_in_recording(path)
        far, batch = far_or_mapped(path)
        facts = {key.decode(): text.decode() for key, text in (batch.schema.metadata or {}).items()}
        if facts.get("shape") != "{} {}".format(*shape) or "dtype" not in facts:
            raise self._damaged(f"Its shape is {facts.get('shape')}, not {shape[0]} {shape[1]}.")
        self._shape, self._dtype = shape, self._type(facts["dtype"])
        self._blocks = batch.column(0)
        if not pa.types.is_large_binary(self._blocks.type):
            raise self._damaged("Its blocks are no bytes.")
        self._far = None if far is None else FarTexts(far, self._blocks)
        self._kept = Blocks()

    def part(self, rows: np.ndarray, first: int, end: int) -> np.ndarray:
        """Return the columns first .. end - 1 of some sorted rows. Raises: StoreDamaged."""
        found = np.zeros((len(rows), end - first), self._dtype)
        owner = rows // _ROWS
        owners = np.unique(owner)
        if self._far is not None:
            along_all = np.arange(first // _COLUMNS, -(-end // _COLUMNS))
            self._far.fetch((owners[:, None] * self._across + along_all).reshape(-1))
        for up in owners.tolist():
            lanes = np.flatnonzero(owner == up)
            own = rows[lanes] - up * _ROWS
            for along in range(first // _COLUMNS, -(-end // _COLUMNS)):
                begin, limit = max(first, along * _COLUMNS), min(end, (along + 1) * _COLUMNS)
                block = self._block(up, along)
                inside = slice(begin - along * _COLUMNS, limit - along * _COLUMNS)
                found[lanes, begin - first : limit - first] = block[own, inside]
        return found

    def _type(self, name: str) -> np.dtype:
        try:
            found = np.dtype(name)
        except (TypeError, ValueError, SyntaxError):
            found = np.dtype(object)
        if found.kind not in "iu":
            raise self._damaged(f"Its numbers are of the unknown type {name}.")
        return found

    def _block(self, up: int, along: int) -> np.ndarray:
        return self._kept.block(up * self._across + along, self._unpacked)

    @property
    def _across(self) -> int:
        """Return how many blocks lie beside each other."""
        return -(-self._shape[1] // _COLUMNS)

    def _unpacked(self, number: int) -> np.ndarray:
        up, along = divmod(number, self._across)
        shape = (
            min(_ROWS, self._shape[0] - up * _ROWS),
            min(_COLUMNS, self._shape[1] - along * _COLUMNS),
        )
        try:
            content = unpack(block_of(self._far or self._blocks, number))
            return np.frombuffer(content, self._dtype).reshape(shape)
        except (ValueError, IndexError) as error:
            raise self._damaged(f"A block cannot be read ({error}).") from error

    def _damaged(self, what: str) -> StoreDamaged:
        return StoreDamaged(self._where, what, "Was it changed or cut short? Ingest the log again.")

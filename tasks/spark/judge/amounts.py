"""Add up message values: whole columns of integers at once, anything else one by one."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from snapshots.domain.model.topology import JsonText
from snapshots.domain.model.values import number, total
from tasks.spark.judge.channel_cuts import SnapshotFacts

_LARGEST = 2**40  # sums of fewer than 2**22 of these stay below 2**63


def sum_of(texts: pa.ChunkedArray) -> int | float | None:
    """Return the sum of the numbers that texts hold, None if one of them holds none."""
    whole = _integers(texts)
    return total(texts.to_pylist()) if whole is None else int(whole.sum())


def add_amounts(
    facts: list[SnapshotFacts], snapshots: np.ndarray, values: Sequence[str | None]
) -> None:
    """Add each value to the amount of its snapshot, or set the amount to None for a non-number.

    ``snapshots`` holds the snapshot code of each value.
    """
    whole = _integers(pa.array(values, pa.large_string()))
    if whole is not None:
        sums = np.zeros(len(facts), np.int64)
        np.add.at(sums, snapshots, whole)
        for item, snapshot_sum in zip(facts, sums.tolist(), strict=True):
            item.amount = added(item.amount, snapshot_sum)
        return
    for snapshot, value in zip(snapshots.tolist(), values, strict=True):
        amount = None if value is None else number(JsonText(value))
        facts[snapshot].amount = added(facts[snapshot].amount, amount)


def added(one: int | float | None, other: int | float | None) -> int | float | None:
    """Return the sum of two amounts, None if one of them is unknown."""
    return None if one is None or other is None else one + other


def _integers(texts: pa.Array | pa.ChunkedArray) -> np.ndarray | None:
    """Return the texts as int64 if all are integers of usual size, else None."""
    try:
        numbers = pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return None
    if numbers.null_count or len(numbers) >= 2**22:
        return None
    whole = numbers.to_numpy()
    return whole if (np.abs(whole) < _LARGEST).all() else None

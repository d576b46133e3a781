"""A search in the fences of any number of runs finds what a plain search in each run finds."""

import numpy as np
import pytest

from snapshots.store import fences
from snapshots.store.fences import Fences

DICE = np.random.default_rng(1)


@pytest.mark.parametrize("lengths", [(0, 3, 1), (511, 512, 513), (0, 5000, 1, 0, 1024, 2000)])
def test_the_first_value_not_below_a_target(lengths):
    values = np.concatenate([np.sort(DICE.integers(0, 9000, length)) for length in lengths])
    ends = np.cumsum(lengths)
    begins = ends - lengths
    lanes = np.repeat(np.arange(len(lengths)), 400)
    targets = DICE.integers(-1, 9001, len(lanes))
    found = Fences(values).first_not_below(begins[lanes], ends[lanes], targets)
    expected = [
        begins[lane] + np.searchsorted(values[begins[lane] : ends[lane]], target)
        for lane, target in zip(lanes.tolist(), targets.tolist(), strict=True)
    ]
    assert found.tolist() == expected


def test_a_search_in_a_long_run_reads_one_stretch_of_it():
    read = []

    class Watched(np.ndarray):
        def take(self, rows, **options):
            read.extend(np.asarray(rows).tolist())
            return np.asarray(self).take(rows, **options)

    values = np.arange(100_000).view(Watched)
    found = Fences(values).first_not_below(np.array([0]), np.array([100_000]), np.array([54_321]))
    assert found.tolist() == [54_321]
    assert max(read) - min(read) < 2 * fences._STRETCH

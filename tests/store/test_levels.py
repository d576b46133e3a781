"""Every level holds the same as counting its bins."""

import pytest

from snapshots.store import levels
from snapshots.store.bins import Bins, event_counts, most_messages
from snapshots.store.levels import span
from snapshots.store.manifest import Manifest
from snapshots.store.reader import StoredRecording
from snapshots.store.writer import finish, write_recording
from tests.builders import recorded, simulated


@pytest.fixture(scope="module", params=[1, 2, 3])
def leveled(request, tmp_path_factory) -> StoredRecording:
    """A recording with levels from about 256 bins down to 4."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_COARSEST", 4)
        patch.setattr(levels, "_EVENTS_A_BIN", 1)
        patch.setattr(levels, "_CHUNK", 700)
        folder = tmp_path_factory.mktemp("leveled")
        write_recording(recorded(simulated(seed=request.param)), folder)
        finish(folder, Manifest.read(folder), levels_above=0)
    return StoredRecording.open(folder)


@pytest.mark.parametrize("axis", ["time", "order"])
def test_every_level_holds_the_counts_of_its_bins(leveled, axis):
    tables, manifest = leveled.tables, leveled.manifest
    exponents = manifest.levels[axis]
    assert len(exponents) >= 5
    for exponent in exponents:
        bins = Bins.covering(*span(manifest.extent, axis), exponent)
        for what, counted, codes in (
            ("events", event_counts, tables.all_processes),
            ("depth", most_messages, tables.all_channels),
        ):
            stored = levels.level(tables, axis, bins, what, codes)
            assert stored.tolist() == counted(tables, axis, codes, bins).tolist()


@pytest.mark.parametrize("axis", ["time", "order"])
def test_levels_halve_from_the_finest_to_the_coarsest(leveled, axis):
    exponents = leveled.manifest.levels[axis]
    assert list(exponents) == list(range(exponents[0], exponents[-1] + 1))
    coarsest = Bins.covering(*span(leveled.manifest.extent, axis), exponents[-1])
    assert coarsest.count <= 4


def test_no_level_is_written_if_a_window_can_count(leveled):
    small = finish(leveled.folder, leveled.manifest)
    assert dict(small.levels) == {"time": (), "order": ()}


@pytest.mark.parametrize(
    ("from_", "to", "most", "expected"),
    [
        (0, 99, 100, Bins(0, 0, 100)),
        (0, 100, 100, Bins(1, 0, 51)),
        (7, 7, 100, Bins(0, 7, 1)),
        (-5, 4, 5, Bins(2, -2, 4)),
        (1_000_001, 1_000_999, 500, Bins(1, 500_000, 500)),
        (1_000_001, 1_001_000, 500, Bins(2, 250_000, 251)),
    ],
)
def test_bins_are_aligned_powers_of_two_that_cover_the_window(from_, to, most, expected):
    bins = Bins.at_most(from_, to, most)
    assert bins.count <= most
    assert bins == expected
    assert bins.from_ <= from_
    assert to < bins.end

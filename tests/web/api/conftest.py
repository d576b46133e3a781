"""Inventories of real cases that the tests of the API share."""

import pytest

from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.store.inventory.reading import StoredInventory
from snapshots.store.inventory.writing import write_inventory


@pytest.fixture(scope="module")
def stored(shared_data, tmp_path_factory):
    """Return a function that stores the inventory of a case once, and opens it."""
    kept: dict[str, StoredInventory] = {}

    def of(case: str) -> StoredInventory:
        if case not in kept:
            folder = tmp_path_factory.mktemp(case)
            write_inventory(folder, FlinkReader().read(shared_data / "flink" / case))
            kept[case] = StoredInventory(folder)
        return kept[case]

    return of

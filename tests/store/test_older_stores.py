"""A store of an older release, with plain columns, gives the same answers as a new one."""

import dataclasses

import numpy as np
import pytest

from snapshots.store.layout import MESSAGES
from snapshots.store.manifest import Manifest
from snapshots.store.reader import StoredRecording
from snapshots.store.searching.words import read_query
from snapshots.store.whole_log import read_log
from snapshots.store.windows import Limits, window
from snapshots.store.writer import finish, write_recording
from tests.builders import a_run, recorded, simulated
from tests.store.older import write_older


def _disorderly():
    run = a_run().send("p->q", "m 1", value=1).send("p->q", "m 2").send("p->q", "m 3", value=[2])
    return run.receive("p->q", "m 3").receive("p->q", "m 1")


@pytest.fixture(
    scope="module", params=[simulated(), simulated(seed=3), _disorderly()], ids=["1", "3", "late"]
)
def both(request, tmp_path_factory) -> tuple[StoredRecording, StoredRecording]:
    """The same recording in the new and in the older layout."""
    folder = tmp_path_factory.mktemp("both")
    new = folder / "new"
    new.mkdir()
    write_recording(recorded(request.param), new)
    finish(new, Manifest.read(new), levels_above=0)
    write_older(new, folder / "older")
    return StoredRecording.open(new), StoredRecording.open(folder / "older")


def plain(value):
    """Return an answer as something that compares by its content."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name != "tables"]
        return {name: plain(getattr(value, name)) for name in names}
    return value


def test_an_older_store_has_all_columns_and_a_new_one_only_those_that_say_something(both):
    new, older = (stored.tables.messages.table.parts for stored in both)
    assert {"message", "sent_at"} <= set(older[0].names)
    assert not {"message", "sent_at"} & set(new[0].names)
    assert both[0].tables.messages.table.name == MESSAGES


def test_both_hold_the_same_log(both):
    new, older = (read_log(stored, "it") for stored in both)
    assert new == older
    assert any(new.messages.values())


def test_both_have_the_same_cuts(both):
    chance = np.random.default_rng(1)
    lengths = both[0].tables.events.length
    for _ in range(30):
        positions = chance.integers(0, lengths + 1)
        new, older = (stored.cut(positions) for stored in both)
        assert new.all_contents() == older.all_contents()
        assert new.orphans() == older.orphans()
        assert new.states == older.states
        assert new.nearest.tolist() == older.nearest.tolist()
        assert new.total() == older.total()


@pytest.mark.parametrize("axis", ["time", "order"])
@pytest.mark.parametrize("limits", [Limits(), Limits(events=-1), Limits(events=-1, counted=-1)])
def test_both_have_the_same_windows(both, axis, limits):
    extent = both[0].manifest.extent
    last = extent.to if axis == "time" else extent.steps
    for from_, to in ((0, last), (last // 3, last // 2), (last, last)):
        new, older = (window(stored.tables, from_, to, 500, axis, limits) for stored in both)
        assert plain(new) == plain(older)


def test_both_find_the_same_events_and_show_them_alike(both):
    for query in ("1", "send", "m", "value:1", "state:9", "extra:x", "2ms..90ms"):
        found = []
        for stored in both:
            search = stored.search(read_query(query, "us"))
            search.advance(60)
            places = [search.place(step) for step in search.steps(0, 50)]
            processes = stored.topology.processes
            events = [stored.event(processes[code].id, index) for code, index in places]
            found.append((search.total, search.bins_of_time.tolist(), events))
        assert found[0] == found[1]

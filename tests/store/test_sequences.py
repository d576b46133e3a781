"""The events of all processes are read with one list of the names behind their codes."""

import pytest

from snapshots.domain.model.topology import Topology
from snapshots.files.recordings import open_recording
from snapshots.store.sequences import read_events
from tests.builders import a_run
from tests.web.given import a_ready_recording


@pytest.mark.django_db
@pytest.mark.usefixtures("data_dir")
def test_the_channels_are_read_once_and_not_for_each_process(ada):
    processes = {f"p{number}": 1 for number in range(50)}
    run = a_run(processes, {"c": ("p0", "p1")}).send("c", "m1").internal("p7", "tick")
    tables = open_recording(a_ready_recording(ada, run.log())).tables
    read = []

    class Channels(tuple):
        def __iter__(self):
            read.append(len(self))
            return super().__iter__()

    class Watched:
        def __getattr__(self, name):
            return getattr(tables, name)

        @property
        def topology(self):
            return Topology(tables.topology.processes, Channels(tables.topology.channels))

    runs = list(read_events(Watched(), 10))
    assert [events.total for events in runs] == [len(runs[i].keys) for i in range(50)]
    assert runs[0].keys[-1][:2] == ("send", "c")
    assert runs[7].keys[-1][1] is None
    assert len(read) <= 3, "the topology itself reads them once or twice"

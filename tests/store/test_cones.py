"""The cones of single events in the store equal the domain's vector clocks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.causality.vector_clocks import vector_clocks
from snapshots.store import cones
from tests.builders import recorded, runs
from tests.effort import examples
from tests.store.folders import stored


@settings(max_examples=examples(20), deadline=None)
@given(log=runs(max_processes=8), scattered=st.integers(0, 99), data=st.data())
def test_past_and_future_are_those_of_the_vector_clocks(log, scattered, data):
    recording = recorded(log)
    clocks = vector_clocks(recording)
    with stored(recording, scattered=scattered) as opened:
        lengths = opened.tables.events.length
        for process in np.flatnonzero(lengths):
            name = clocks.processes[process]
            for _ in range(3):
                index = data.draw(st.integers(0, int(lengths[process]) - 1))
                past = cones.past(opened.tables, int(process), index)
                assert past.tolist() == clocks.of(name, index).tolist()
                future = cones.future(opened.tables, int(process), index)
                assert future.tolist() == clocks.future(name, index).tolist()

"""The smallest part with a verdict: it still has the witness, and no event can be left out."""

import pytest

from snapshots.domain.model import shapes
from snapshots.domain.shrinking.witness import identity
from snapshots.domain.simulators.script import Log
from tests.builders import recorded, simulated
from tests.damage import DAMAGES, never_sending, unfinished
from tests.domain.shrinking.parts import findings, found_in, shrunk, without_each


def incomplete() -> Log:
    return simulated(protocol=never_sending("p1->p2", "s1"))


FAULTS = {
    **{name: lambda damage=damage: damage(simulated()).log for name, damage in DAMAGES.items()},
    "incomplete": incomplete,
    "a ring that broke off": lambda: unfinished(simulated(shapes.ring(6), events=600), 260),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_part_has_the_witness_and_no_event_can_be_left_out(name):
    recording = recorded(FAULTS[name]())
    whole = findings(recording, "s1")
    true = set(map(identity, whole))
    assert whole[0]["verdict"] != "consistent"
    for finding in whole[:4]:
        part = shrunk(recording, "s1", finding)
        print(len(part.part.events), finding["sentence"], part.verdict)
        events = list(part.part.events)
        here = found_in(part, events, part.part.header)
        assert identity(finding) in here
        assert here <= true
        assert part.is_minimal
        for event, rest, header in without_each(part):
            left = found_in(part, rest, header)
            assert identity(finding) not in left or not left <= true, event

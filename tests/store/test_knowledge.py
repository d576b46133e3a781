"""The store finds who knew the whole state when, as the domain does with the whole log."""

import pytest

from snapshots.domain.model import shapes
from snapshots.domain.simulators.protocols.flooding import knowledge as domain_knowledge
from snapshots.store import knowledge
from tests.builders import recorded, simulated
from tests.store.folders import stored

NETWORK = shapes.random_connected(7, 2.5, seed=3)
TWO = ((8_000, ("p1",)), (9_000, ("p2", "p5")))


def run(topology=NETWORK, *, snapshots=TWO, **options):
    options = {"seed": 5, "events": 600, "collect": True, **options}
    return recorded(simulated(topology, snapshots=snapshots, **options))


@pytest.mark.parametrize(
    "recording",
    [
        run(),
        run(collect=False),
        run(drain=False),
        run(shapes.ring(4), snapshots=TWO[:1], silent=frozenset({"p3"})),
    ],
)
def test_the_store_gives_the_same_knowledge_as_the_log(recording):
    with stored(recording) as opened:
        for snapshot in opened.manifest.snapshots:
            expected = domain_knowledge(recording, snapshot)
            assert knowledge.knowledge(opened.tables, snapshot).to_json() == expected.to_json()


def test_everyone_knows_all_where_pieces_are_collected():
    with stored(run()) as opened:
        known = knowledge.knowledge(opened.tables, "s1")
        assert all(known.whole(process) for process in known.learned)


def test_too_many_messages_are_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(knowledge, "_BUDGET", 10)
    with stored(run()) as opened, pytest.raises(knowledge.TooManyMessages, match="than 10"):
        knowledge.knowledge(opened.tables, "s1")

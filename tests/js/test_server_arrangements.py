"""The panel of the topology draws what the server has arranged (static/js/lib/operators.js)."""

import subprocess
from random import Random
from typing import Any

from snapshots.domain.model.topology import Channel, Process, Topology
from snapshots.payloads.topologies import arrangement_payload
from snapshots.web.json import dumps
from tests.conftest import skip_or_fail
from tests.stack import ROOT
from webapp import machine


def a_topology(operators: str, edges: str, *, scope: str | None = None, mark: str = "") -> Topology:
    """Return a topology of operators, "map*4", and of edges, "map-sum", from all to all."""
    subtasks = {}
    for text in operators.split():
        name, _, count = text.partition("*")
        subtasks[name] = [f"{name}{mark}[{i}]" for i in range(int(count or 1))]
    channels = [
        Channel(f"{source}->{target}", source, target, fifo=True)
        for edge in edges.split()
        for source in subtasks[edge.split("-")[0]]
        for target in subtasks[edge.split("-")[1]]
    ]
    ids = [*(name for names in subtasks.values() for name in names), scope or "coordinator"]
    return Topology(tuple(Process(name, scope=scope) for name in ids), tuple(channels))


def generated(seed: int) -> Topology:
    """Return up to seven operators, each with inputs among those before it."""
    random = Random(seed)
    names = [f"o{letter}" for letter in "abcdefg"[: random.randint(2, 7)]]
    edges = [
        f"{random.choice(names[:place])}-{name}"
        for place, name in enumerate(names)
        if place and random.random() < 0.85
    ]
    operators = " ".join(f"{name}*{random.randint(1, 9)}" for name in names)
    return a_topology(operators, " ".join(edges) or f"{names[0]}-{names[1]}")


def payload(topology: Topology) -> dict[str, Any]:
    return {
        "processes": [{"id": each.id, "scope": each.scope} for each in topology.processes],
        "channels": [
            {"id": each.id, "source": each.source, "target": each.target, "fifo": True}
            for each in topology.channels
        ],
        "arrangement": arrangement_payload(topology),
    }


def guessed() -> Topology:
    parts = [
        a_topology("source*2 map sink*2", "", scope=f"run {number}", mark=mark)
        for number, mark in ((1, ""), (2, " (run 2)"))
    ]
    return Topology(tuple(each for part in parts for each in part.processes), ())


def ring() -> Topology:
    pairs = (("p1", "p2"), ("p2", "p3"), ("p3", "p1"))
    channels = tuple(Channel(f"{a}->{b}", a, b, fifo=True) for a, b in pairs)
    return Topology(tuple(Process(name) for name in ("p1", "p2", "p3")), channels)


def test_the_topology_panel_draws_what_the_server_has_arranged():
    node = machine.find_node()
    if node is None:
        skip_or_fail("Node is missing: make test gets it or says how.")
    named = {
        "three": a_topology("source*2 map*3 sink", "source-map map-sink"),
        "many": a_topology("source*2 map*128 sink", "source-map map-sink"),
        "forty": a_topology("source*2 map*40 sink", "source-map map-sink"),
        "thousands": a_topology("source map*4000", "source-map"),
        "pair": a_topology("source sink", "source-sink"),
        "bypass": a_topology("a b c", "a-b b-c a-c"),
        "guessed": guessed(),
        "ring": ring(),
    }
    sent = dumps(
        {
            "named": {name: payload(each) for name, each in named.items()},
            "generated": [payload(generated(seed)) for seed in range(200)],
        }
    )
    command = [node, "tests/js/server-arrangements.js"]
    ran = subprocess.run(command, cwd=ROOT, input=sent, capture_output=True)
    assert ran.returncode == 0, ran.stdout.decode()[-4000:] + ran.stderr.decode()[-2000:]

"""Samples of two stable properties of section 1 of the paper, and of collecting (section 3.3).

Source: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985.
"""

from dataclasses import replace

from snapshots.domain.model import shapes
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.phased import Phases
from snapshots.domain.simulators.protocols.flooding import COLLECTS
from snapshots.domain.simulators.sample import Sample, snapshotted
from snapshots.domain.simulators.script import Log, Script
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.workloads import Bank


def phase_by_phase() -> Log:
    """Return a run in which phase 1 has ended from s3 on; in s2 one message alone prevents that."""
    return snapshotted(
        "phase by phase",
        shapes.ring(3),
        Phases(),
        times=range(6_000, 60_000, 6_000),
        seed=5,
        mean_delay=4_000,
        mean_pause=1_500,
    )


def everyone_learns_it() -> Log:
    """Return a run in which the pieces of s1 are passed on until all know the whole state."""
    simulation = Simulation(
        shapes.ring(4),
        Bank(),
        seed=3,
        events=60,
        snapshots=(SnapshotStart(8_000, (ProcessId("p1"),)),),
        mean_delay=3_000,
        mean_pause=4_000,
        collect=True,
    )
    header = replace(simulation.header("everyone learns it"), extra={COLLECTS: True})
    return Log(header, tuple(simulate(simulation)))


def a_reference_under_way() -> Log:
    """Return a log in which a1 is garbage from s3 on; s1, by the clock, calls it so too early."""
    script = Script(
        "a reference under way",
        {"A": _heap("a1", "a2", refers_to=("a1", "a2")), "B": _heap()},
        ["A->B", "B->A"],
    )
    without_a1 = _heap("a1", "a2", refers_to=("a2",))
    return (
        script.internal("A", "reads a1", at=400)
        .send("A->B", "m1", {"refers_to": ["a1"]}, at=1200)
        .internal("A", "drops a1", state=without_a1, at=1900)
        .record("A", "s1", at=2500)
        .record_channel("B->A", "s1", at=2500)
        .record("B", "s1", at=2500)
        .record_channel("A->B", "s1", at=2500)
        .record("B", "s2", at=3200)
        .send_marker("B->A", "s2", at=3200)
        .receive_marker("B->A", "s2", at=4000)
        .record("A", "s2", at=4000)
        .record_channel("B->A", "s2", at=4000)
        .send_marker("A->B", "s2", at=4000)
        .receive("A->B", "m1", state=_heap(refers_to=("a1",)), at=4700)
        .receive_marker("A->B", "s2", at=5500)
        .record_channel("A->B", "s2", "m1", at=5500)
        .internal("B", "reads a1", at=6300)
        .internal("B", "drops a1", state=_heap(), at=7300)
        .record("A", "s3", at=8000)
        .send_marker("A->B", "s3", at=8000)
        .receive_marker("A->B", "s3", at=8800)
        .record("B", "s3", at=8800)
        .record_channel("A->B", "s3", at=8800)
        .send_marker("B->A", "s3", at=8800)
        .receive_marker("B->A", "s3", at=9700)
        .record_channel("B->A", "s3", at=9700)
        .internal("A", "reads a2", at=10400)
        .log()
    )


def _heap(*objects: str, refers_to: tuple[str, ...] = ()) -> dict[str, list[str]]:
    return {"objects": list(objects), "refers_to": list(refers_to)}


STABLE_SAMPLES = (
    Sample(
        "collecting",
        "Everyone learns it",
        "Four banks on a ring record a snapshot; then each passes on what it recorded, and what it "
        "hears for the first time (section 3.3 of the paper). p1 is the first to know all four "
        "pieces, p4 the last. The pieces travel as messages, and no balance changes by them.",
        everyone_learns_it,
    ),
    Sample(
        "phases",
        "Phase by phase",
        "Three processes on a ring compute in four phases; each waits until the one before it has "
        "ended the phase, too. In snapshot s2 all who work are in phase 2, and yet phase 1 has not "
        "ended: p2 waits for a message of it. From s3 on it has ended, and with s4 phase 2.",
        phase_by_phase,
    ),
    Sample(
        "garbage",
        "Garbage, or only on its way",
        "A sends B a reference to its object a1 and drops its own. Snapshot s1, taken by the "
        "clock, misses the message and calls a1 garbage: whoever believed it would free what B is "
        "about to read. In s2 the channel holds the reference; in s3 B has dropped it, and a1 is "
        "garbage for ever.",
        a_reference_under_way,
    ),
)

"""The sample gallery: small runs that show what a snapshot is, and what goes wrong without rules.

Source of the paper's examples: Chandy and Lamport, "Distributed Snapshots", ACM TOCS 3(1), 1985.
"""

from dataclasses import replace

from snapshots.domain.model import shapes
from snapshots.domain.model.topology import ProcessId
from snapshots.domain.model.values import canonical
from snapshots.domain.simulators.basic import simulate
from snapshots.domain.simulators.sample import Sample, snapshotted
from snapshots.domain.simulators.script import Log, Script
from snapshots.domain.simulators.simulation import Simulation, SnapshotStart
from snapshots.domain.simulators.stable_samples import STABLE_SAMPLES
from snapshots.domain.simulators.workloads import (
    Bank,
    CopiesToken,
    Diffusing,
    LosesToken,
    Resources,
    Workload,
)

PAPER_CHANNELS = {"c": ("p", "q"), "c'": ("q", "p")}


def two_banks() -> Log:
    """Return a log whose snapshot has A 9000, B 3000, and 1000 and 2000 on the way to A."""
    return (
        Script("two banks", {"A": 10000, "B": 5000}, ["A->B", "B->A"])
        .internal("A", "opens", at=400)
        .internal("B", "opens", at=700)
        .send("A->B", "m1", 1000, state=9000, at=1500)
        .record("A", "s1", at=2900)
        .send_marker("A->B", "s1", at=2900)
        .send("B->A", "m2", 1000, state=4000, at=3300)
        .receive("A->B", "m1", state=5000, at=3800)
        .receive("B->A", "m2", state=10000, at=4100)
        .send("B->A", "m3", 2000, state=3000, at=4400)
        .receive_marker("A->B", "s1", at=5200)
        .record("B", "s1", at=5200)
        .record_channel("A->B", "s1", at=5200)
        .send_marker("B->A", "s1", at=5200)
        .receive("B->A", "m3", state=12000, at=6600)
        .receive_marker("B->A", "s1", at=7400)
        .record_channel("B->A", "s1", "m2", "m3", at=7400)
        .send("A->B", "m4", 500, state=11500, at=8300)
        .receive("A->B", "m4", state=3500, at=9900)
        .internal("B", "closes", at=10600)
        .internal("A", "closes", at=11000)
        .log()
    )


def one_token() -> Log:
    """Return example 2.1 with markers: p 0, q 0, and the one token in c'."""
    return (
        _token_system("one token")
        .send("c", "t1", 1, state=0, at=1000)
        .record("p", "s1", at=1600)
        .send_marker("c", "s1", at=1600)
        .receive("c", "t1", state=1, at=3000)
        .send("c'", "t2", 1, state=0, at=4200)
        .receive_marker("c", "s1", at=5000)
        .record("q", "s1", at=5000)
        .record_channel("c", "s1", at=5000)
        .send_marker("c'", "s1", at=5000)
        .receive("c'", "t2", state=1, at=6200)
        .receive_marker("c'", "s1", at=7000)
        .record_channel("c'", "s1", "t2", at=7000)
        .send("c", "t3", 1, state=0, at=8100)
        .receive("c", "t3", state=1, at=9700)
        .log()
    )


def two_tokens() -> Log:
    """Return the run of section 3.1 where p and c are each recorded with the token."""
    return (
        _token_system("two tokens")
        .record("p", "s1", at=800)
        .record_channel("c'", "s1", at=900)
        .send("c", "t1", 1, state=0, at=1500)
        .record("q", "s1", at=2200)
        .record_channel("c", "s1", "t1", at=2200)
        .receive("c", "t1", state=1, at=3100)
        .send("c'", "t2", 1, state=0, at=4300)
        .receive("c'", "t2", state=1, at=5800)
        .log()
    )


def no_token() -> Log:
    """Return the run of section 3.1 where neither p nor c is recorded with the token."""
    return (
        _token_system("no token")
        .record("q", "s1", at=800)
        .record_channel("c", "s1", at=800)
        .send("c", "t1", 1, state=0, at=1500)
        .record("p", "s1", at=2200)
        .record_channel("c'", "s1", at=2200)
        .receive("c", "t1", state=1, at=3100)
        .send("c'", "t2", 1, state=0, at=4300)
        .receive("c'", "t2", state=1, at=5800)
        .log()
    )


def by_the_clock() -> Log:
    """Return a log with two snapshots by wall clock, both wrong, and one by markers.

    In s1 the clocks differ: A 10000, B 6000. In s2 they agree, and m2 is in a channel that nobody
    looks at: A 9000, B 5500. In s3 A has 9300, B has 5400, and 300 are on the way to A.
    """
    script = Script("by the clock", {"A": 10000, "B": 5000}, ["A->B", "B->A"])
    _recorded_by_clock(script, "A", "B->A", "s1", at=2000, clock="12:00")
    script.send("A->B", "m1", 1000, state=9000, at=2600)
    script.receive("A->B", "m1", state=6000, at=4200)
    _recorded_by_clock(script, "B", "A->B", "s1", at=5000, clock="12:00")
    script.internal("B", "sets its clock by A's", at=6200)
    script.send("B->A", "m2", 500, state=5500, at=8000)
    _recorded_by_clock(script, "A", "B->A", "s2", at=9000, clock="7 ms past 12:00")
    _recorded_by_clock(script, "B", "A->B", "s2", at=9000, clock="7 ms past 12:00")
    return (
        script.receive("B->A", "m2", state=9500, at=10100)
        .send("A->B", "m3", 200, state=9300, at=11500)
        .record("A", "s3", at=12000)
        .send_marker("A->B", "s3", at=12000)
        .send("B->A", "m4", 300, state=5200, at=12600)
        .receive("A->B", "m3", state=5400, at=13000)
        .receive_marker("A->B", "s3", at=13600)
        .record("B", "s3", at=13600)
        .record_channel("A->B", "s3", at=13600)
        .send_marker("B->A", "s3", at=13600)
        .receive("B->A", "m4", state=9600, at=14200)
        .receive_marker("B->A", "s3", at=15200)
        .record_channel("B->A", "s3", "m4", at=15200)
        .log()
    )


def _recorded_by_clock(
    script: Script, process: str, channel: str, snapshot: str, *, at: int, clock: str
) -> None:
    """Let a process record its state, and its incoming channel as empty, as its clock says."""
    script.internal(process, f"its clock shows {clock}", at=at)
    script.record(process, snapshot, at=at)
    script.record_channel(channel, snapshot, at=at)


def a_state_that_never_occurred() -> Log:
    """Return example 2.2 as in section 4.1: p A, q D, c empty, M' in c'."""
    return (
        Script("a state that never occurred", {"p": "A", "q": "C"}, PAPER_CHANNELS)
        .record("p", "s1", at=500)
        .send_marker("c", "s1", at=500)
        .send("c", "M", state="B", at=1200)
        .send("c'", "M'", state="D", at=2000)
        .receive("c'", "M'", state="A", at=3200)
        .receive_marker("c", "s1", at=4000)
        .record("q", "s1", at=4000)
        .record_channel("c", "s1", at=4000)
        .send_marker("c'", "s1", at=4000)
        .receive_marker("c'", "s1", at=5600)
        .record_channel("c'", "s1", "M'", at=5600)
        .receive("c", "M", state="C", at=6900)
        .log()
    )


def fifty_processes() -> Log:
    """Return about 4,000 events with three groups of snapshots; those of a group are concurrent."""
    simulation = Simulation(
        shapes.random_connected(50, 3.4, seed=7),
        Bank(),
        seed=1985,
        events=4_000,
        snapshots=(
            _start(20_000, "p7"),
            _start(20_500, "p31", "p40"),
            _start(45_000, "p12"),
            _start(45_000, "p25"),
            _start(46_000, "p3", "p18", "p50"),
        ),
        interferes=True,
    )
    return Log(simulation.header("fifty processes"), tuple(simulate(simulation)))


def _start(at: int, *initiators: str) -> SnapshotStart:
    return SnapshotStart(at, tuple(map(ProcessId, initiators)))


def a_computation_that_ends() -> Log:
    """Return a run that has terminated from s4 on; in s3 one message alone prevents that."""
    return snapshotted(
        "a computation that ends",
        shapes.complete(4),
        Diffusing(),
        times=range(10_000, 70_000, 10_000),
        seed=202,
        mean_delay=2500,
        mean_pause=1500,
    )


def four_philosophers() -> Log:
    """Return a run that is deadlocked from s4 on, where one of the requests is under way."""
    names = [ProcessId(name) for name in ("Hume", "Kant", "Mill", "Zeno")]
    right_of = dict(zip(names, [*names[1:], names[0]], strict=True))
    round_table = shapes.of_links(
        right_of, [link for a, b in right_of.items() for link in ((a, b), (b, a))]
    )
    asking = tuple(
        replace(process, state=canonical({"asks": [right_of[process.id]]}))
        for process in round_table.processes
    )
    return snapshotted(
        "four philosophers",
        replace(round_table, processes=asking),
        Resources(),
        times=range(10_000, 70_000, 10_000),
        seed=14,
        mean_delay=2500,
    )


def a_lost_token() -> Log:
    """Return a run in which the token is lost from s4 on."""
    return _faulty_ring("a lost token", LosesToken())


def a_copied_token() -> Log:
    """Return a run in which the token is duplicated from s4 on."""
    return _faulty_ring("a copied token", CopiesToken())


def _faulty_ring(name: str, workload: Workload) -> Log:
    return snapshotted(
        name,
        shapes.ring(3),
        workload,
        times=range(15_000, 105_000, 15_000),
        seed=9,
        events=150,
        mean_delay=3000,
    )


def _token_system(name: str) -> Script:
    return Script(name, {"p": 1, "q": 0}, PAPER_CHANNELS)


SAMPLES = (
    Sample(
        "two-banks",
        "Two banks",
        "Bank A holds 10,000 and bank B 5,000. A sends 1,000 and begins a snapshot; B sends 1,000 "
        "and then 2,000 before A's marker reaches it. The snapshot finds 9,000 at A, 3,000 at B "
        "and 3,000 on the way to A: not a coin too many, although nobody stopped the banks.",
        two_banks,
    ),
    Sample(
        "one-token",
        "One token",
        "Example 2.1 of the Chandy-Lamport paper: two processes pass a single token back and "
        "forth. The markers arrive while the token is on its way from q to p, so the snapshot "
        "finds it in that channel, once.",
        one_token,
    ),
    Sample(
        "two-tokens",
        "Two tokens where there is one",
        "Section 3.1 of the paper: recording without rules. p is recorded while it holds the "
        "token, the channel to q a moment later, when the token is in it. Each record is right by "
        "itself; together they hold two tokens.",
        two_tokens,
    ),
    Sample(
        "no-token",
        "No token where there is one",
        "The other mistake of section 3.1: the channel is recorded before p sends the token, p "
        "after it. Each record is right by itself; together they hold no token at all.",
        no_token,
    ),
    Sample(
        "wall-clock",
        "Snapshots by the clock",
        "Two banks record when their clocks show twelve. A's clock is ahead, so 1,000 that A sends "
        "after its record are in B's: 16,000 instead of 15,000. With clocks that agree, 500 on "
        "their way are missed; with markers every coin is there.",
        by_the_clock,
    ),
    Sample(
        "never-occurred",
        "A state that never occurred",
        "Examples 2.2 and 4.1 of the paper: the snapshot records p in A, q in D and M' in the "
        "channel to p. At no instant was the system in that state, and yet the snapshot is right: "
        "it could have been, in another order of the same events.",
        a_state_that_never_occurred,
    ),
    Sample(
        "fifty-processes",
        "Fifty processes",
        "Fifty banks on a random network send money to their neighbours while five snapshots run, "
        "some of them at the same time and two of them with several initiators. Dozens of "
        "transfers are on their way in each, and every one adds up.",
        fifty_processes,
    ),
    Sample(
        "terminates",
        "A computation that ends",
        "Four processes share out a pile of work; whoever has none left sleeps until a message "
        "brings some, so a process that looks finished may not be. In snapshot s3 all four sleep, "
        "and one message is still on its way with work: not the end. From s4 on nobody is active "
        "and nothing is in flight, so nothing can ever happen again.",
        a_computation_that_ends,
    ),
    Sample(
        "deadlock",
        "Four philosophers, four forks",
        "Each philosopher holds one fork, now and then asks the neighbour on the right for theirs, "
        "and gives nothing away while waiting. In snapshot s3 three wait in a row, and the "
        "fourth can still let go; in s4 each waits for the next, all around the table, one of the "
        "requests still on its way. No one can break that circle: every later snapshot has it.",
        four_philosophers,
    ),
    Sample(
        "token-lost",
        "A token gets lost",
        "Three processes pass one token around, which is the right to do something alone; then "
        "p1 drops it. No process notices, because the token could always be somewhere else. A "
        "snapshot looks everywhere at once: s1 to s3 find it in a process or in a channel, s4 and "
        "all later ones find it nowhere.",
        a_lost_token,
    ),
    Sample(
        "token-copied",
        "A token is copied",
        "The same ring, but p1 copies the token instead of passing it on, as a message sent twice "
        "would. From then on two processes can believe that they alone may act. Snapshots s1 to s3 "
        "count one token, s4 and all later ones two.",
        a_copied_token,
    ),
    *STABLE_SAMPLES,
)
"""The samples in the order of the gallery."""

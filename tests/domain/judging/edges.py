"""Runs at the edges of what a judge must tell apart; the reference and Spark judge them alike."""

from dataclasses import replace

from snapshots.domain.simulators.script import Log
from tests.builders import a_run, side_by_side

LARGE = 2**62 + 1  # no float has this value
NO_ORDER = {"fifo": False}


def a_wrong_list_of_the_same_length() -> Log:
    """Two messages are in flight, and two are recorded: one of them, and one received before."""
    run = a_run().send("p->q", "m1", 1).receive("p->q", "m1")
    run = run.send("p->q", "m2", 2).send("p->q", "m3", 3).record("p", "s1").record("q", "s1")
    return run.record_channel("p->q", "s1", "m2", "m1").record_channel("q->p", "s1").log()


def orphans_without_order() -> Log:
    """On a channel without order, m3 is received inside and sent outside; m1 is in flight.

    One message is received and one is sent, so that their numbers alone show no orphan.
    """
    run = a_run(**NO_ORDER).send("p->q", "m1", 1).record("p", "s1").send("p->q", "m2", 2)
    run = run.send("p->q", "m3", 3).receive("p->q", "m3").record("q", "s1")
    return run.receive("p->q", "m2").log()


def overtaken_at_the_cut() -> Log:
    """On a channel without order m2 arrives inside, and m1, sent before it, arrives outside."""
    run = a_run(**NO_ORDER).send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1")
    run = run.receive("p->q", "m2").record("q", "s1").record_channel("p->q", "s1", "m1")
    return run.send("p->q", "m3", 3).receive("p->q", "m3").receive("p->q", "m1").log()


def sums_beyond_63_bits() -> Log:
    """The states and the message come to more than 2**63."""
    run = a_run({"p": LARGE, "q": LARGE}).send("p->q", "m1", LARGE, state=0)
    run = run.send("p->q", "m2", LARGE, state=0).send("p->q", "m3", LARGE, state=0)
    run = run.record("p", "s1", state=0).record("q", "s1", state=LARGE)
    return run.record_channel("p->q", "s1", "m1", "m2", "m3").record_channel("q->p", "s1").log()


def where_markers_may_overtake(*, fifo: bool = True) -> Log:
    """The marker overtakes m1, as it may; m3 overtakes m2, as no message may on a FIFO channel."""
    run = (
        a_run(fifo=fifo)
        .send("p->q", "m1", 1)
        .record("p", "s1")
        .send_marker("p->q", "s1")
        .receive_marker("p->q", "s1")
        .record("q", "s1")
        .record_channel("p->q", "s1", "m1")
        .send_marker("q->p", "s1")
        .receive_marker("q->p", "s1")
        .receive("p->q", "m1")
        .send("p->q", "m2", 2)
        .send("p->q", "m3", 3)
        .record("p", "s2")
        .receive("p->q", "m3")
        .record("q", "s2")
        .record_channel("p->q", "s2", "m2")
    )
    return _letting_markers_overtake(run.log())


def a_message_overtakes_a_marker() -> Log:
    """Markers may overtake messages here, but m1 overtakes the marker that was sent before it."""
    run = a_run().record("q", "s1").record("p", "s1").send_marker("p->q", "s1")
    run = run.send("p->q", "m1", 1).receive("p->q", "m1").receive_marker("p->q", "s1")
    run = run.send_marker("q->p", "s1").receive_marker("q->p", "s1")
    return _letting_markers_overtake(run.record_channel("p->q", "s1").log())


def messages_overtaken_twice() -> Log:
    """Markers may overtake here, but not m2 and m3, which both overtake m1."""
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).send("p->q", "m3", 3)
    run = run.record("p", "s1").record("q", "s1").receive("p->q", "m2").receive("p->q", "m3")
    return _letting_markers_overtake(run.log())


def two_of_three_scopes() -> Log:
    """A snapshot of two scopes, in one of which somebody is missing; the third has no part."""
    one = a_run().record("p", "s1").record("q", "s1").log()
    other = a_run().record("p", "s1").log()
    third = a_run().send("p->q", "m", 1).log()
    return _as_one_snapshot(side_by_side(one, other, third))


def one_of_two_scopes() -> Log:
    """A snapshot of one scope, whose sum is known; nobody recorded in the other one."""
    one = a_run().send("p->q", "m1", 4, state=6).record("p", "s1").record("q", "s1").log()
    return side_by_side(one, a_run().send("p->q", "m2", 1).log())


def several_markers() -> Log:
    """p sends two markers and a message between them; only the first marker closes the channel.

    m1 comes after the first marker and before q records, which breaks the receiving rule. Measured
    by the last marker, p would break the sending rule and q would keep its own.
    """
    run = a_run().record("p", "s1").send_marker("p->q", "s1").send("p->q", "m1", 1)
    run = run.send_marker("p->q", "s1").receive_marker("p->q", "s1").receive("p->q", "m1")
    run = run.receive_marker("p->q", "s1").record("q", "s1").send_marker("q->p", "s1")
    return run.receive_marker("q->p", "s1").log()


def a_second_marker_in_time() -> Log:
    """p sends m1 between its marker and its recording; a second marker follows the recording.

    q records between the two. Measured by the second marker, nothing is wrong, and q begins, too.
    """
    run = a_run().send_marker("p->q", "s1").send("p->q", "m1", 1).record("p", "s1")
    run = run.send_marker("p->q", "s1").receive_marker("p->q", "s1").record("q", "s1")
    run = run.send_marker("q->p", "s1").receive_marker("q->p", "s1").receive("p->q", "m1")
    return run.receive_marker("p->q", "s1").record_channel("p->q", "s1", "m1").log()


def a_second_marker() -> Log:
    """p sends two markers, and the second never arrives, though m1, sent after it, does."""
    run = a_run().record("p", "s1").send_marker("p->q", "s1").receive_marker("p->q", "s1")
    run = run.record("q", "s1").send_marker("q->p", "s1").receive_marker("q->p", "s1")
    return run.send_marker("p->q", "s1").send("p->q", "m1", 1).receive("p->q", "m1").log()


def markers_on_two_channels() -> Log:
    """r records after the marker of p and before that of q, so that it did not begin."""
    run = a_run({"p": 1, "q": 2, "r": 3}, ("p->q", "p->r", "q->r")).record("p", "s1")
    run = run.send_marker("p->q", "s1").send_marker("p->r", "s1").receive_marker("p->r", "s1")
    run = run.record("r", "s1").receive_marker("p->q", "s1").record("q", "s1")
    return run.send_marker("q->r", "s1").receive_marker("q->r", "s1").log()


def markers_that_nobody_sent() -> Log:
    """q records between two markers that the log never sends, so that it did not begin."""
    run = a_run().record("p", "s1").receive_marker("p->q", "s1").record("q", "s1")
    return run.receive_marker("p->q", "s1").log()


def second_records() -> Log:
    """p and q record again, later and otherwise: what they recorded first is right."""
    run = a_run().send("p->q", "m1", 1, state=9).record("p", "s1").record("q", "s1")
    run = run.record_channel("p->q", "s1", "m1").record_channel("q->p", "s1")
    run = run.send("p->q", "m2", 2, state=7).receive("p->q", "m1", state=6)
    run = run.record("p", "s1", state=1).record("q", "s1", state=1)
    return run.record_channel("p->q", "s1").record_channel("q->p", "s1", "m2").log()


def recordings_at_one_instant() -> Log:
    """Return a run without markers. Its first line is of q, but the header names p first."""
    return a_run().record("q", "s1", at=100).record("p", "s1", at=100).log()


def markers_in_another_scope() -> Log:
    """Nobody of the second scope recorded, but a marker was sent there, so that it takes part."""
    one = a_run().record("p", "s1").record("q", "s1").log()
    other = a_run().send("p->q", "m", 1).send_marker("p->q", "s1").log()
    third = a_run().log()
    return _as_one_snapshot(side_by_side(one, other, third))


def ties() -> Log:
    """m1 and m2 never arrive, and the marker overtook both: the first sent is named."""
    run = a_run().send("p->q", "m1", 1).send("p->q", "m2", 2).record("p", "s1")
    run = run.send_marker("p->q", "s1").receive_marker("p->q", "s1").record("q", "s1")
    return run.send_marker("q->p", "s1").receive_marker("q->p", "s1").log()


def _letting_markers_overtake(log: Log) -> Log:
    """Let markers overtake messages on all channels."""
    topology = log.header.topology
    channels = tuple(replace(channel, overtaking=True) for channel in topology.channels)
    return Log(replace(log.header, topology=replace(topology, channels=channels)), log.events)


def _as_one_snapshot(log: Log) -> Log:
    """Give the snapshots of all scopes one name."""
    events = (replace(item, snapshot=item.snapshot and "s1") for item in log.events)
    return Log(log.header, tuple(events))


EDGES = (
    a_wrong_list_of_the_same_length,
    orphans_without_order,
    overtaken_at_the_cut,
    sums_beyond_63_bits,
    where_markers_may_overtake,
    a_message_overtakes_a_marker,
    messages_overtaken_twice,
    two_of_three_scopes,
    one_of_two_scopes,
    several_markers,
    a_second_marker_in_time,
    a_second_marker,
    markers_on_two_channels,
    markers_that_nobody_sent,
    second_records,
    recordings_at_one_instant,
    markers_in_another_scope,
    ties,
)

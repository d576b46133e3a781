"""Channels on which markers may overtake messages, as unaligned barriers do."""

from dataclasses import replace

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.simulators.script import Log
from tests.builders import a_run


def overtaking(script):
    header, events = script.log()
    channels = tuple(replace(channel, overtaking=True) for channel in header.topology.channels)
    return Log(replace(header, topology=replace(header.topology, channels=channels)), events)


def marker_first():
    """Return a log in which m1 is sent before the marker, comes after it, and is recorded."""
    return (
        a_run(channels=["p->q"])
        .send("p->q", "m1")
        .record("p", "s1")
        .send_marker("p->q", "s1")
        .receive_marker("p->q", "s1")
        .record("q", "s1")
        .record_channel("p->q", "s1", "m1")
        .receive("p->q", "m1")
    )


def message_first():
    """Return a log in which m1 is sent after the marker and comes before it."""
    return (
        a_run(channels=["p->q"])
        .record("p", "s1")
        .send_marker("p->q", "s1")
        .send("p->q", "m1")
        .receive("p->q", "m1")
        .receive_marker("p->q", "s1")
        .record("q", "s1")
        .record_channel("p->q", "s1")
    )


def findings(log):
    assembly = assemble(*log)
    (report,) = judge(assembly.recording)
    return [defect.code for defect in assembly.defects], list(report.counts)


def test_a_marker_that_overtakes_is_a_fault_where_it_may_not():
    assert findings(marker_first().log()) == (["fifo-violation"], ["fifo-violation"])


def test_a_marker_that_overtakes_is_no_fault_where_it_may():
    assert findings(overtaking(marker_first())) == ([], ["consistent"])


def test_a_message_may_never_overtake_a_marker():
    expected = (["fifo-violation"], ["orphan", "fifo-violation"])
    assert findings(message_first().log()) == expected
    assert findings(overtaking(message_first())) == expected


def test_messages_keep_their_order_where_markers_may_overtake():
    run = a_run(channels=["p->q"]).send("p->q", "m1").send("p->q", "m2")
    run.receive("p->q", "m2").receive("p->q", "m1")
    (defect,) = assemble(*overtaking(run)).defects
    assert defect.code == "fifo-violation"

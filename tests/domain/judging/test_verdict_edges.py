"""Mistakes that no other test noticed when they were planted into the judge."""

import pytest

from snapshots.domain.causality.causal_closure import nearest_consistent_cut
from snapshots.domain.judging.cuts import Cut
from snapshots.domain.judging.report import SnapshotReport
from snapshots.domain.judging.verdicts import judge
from snapshots.store.cut import StoredCut
from tests.builders import a_run, recorded
from tests.domain.judging import edges
from tests.domain.judging.edges import LARGE
from tests.store.folders import stored


def judged(log) -> list[SnapshotReport]:
    return list(judge(recorded(log)))


def named(report: SnapshotReport) -> list[tuple]:
    return [(item.verdict, item.message, item.process) for item in report.findings]


def test_a_wrong_list_of_the_same_length_is_found():
    (report,) = judged(edges.a_wrong_list_of_the_same_length())
    assert named(report) == [("lost", "m3", None), ("duplicated", "m1", None)]


def test_an_orphan_is_found_on_a_channel_without_order_that_holds_a_message_too():
    (report,) = judged(edges.orphans_without_order())
    assert named(report) == [("orphan", "m3", None)]
    assert report.in_flight["p->q"] == (0,)


def test_a_message_overtaken_at_the_cut_is_in_flight_alone_on_a_channel_without_order():
    (report,) = judged(edges.overtaken_at_the_cut())
    assert (report.verdict, report.in_flight["p->q"]) == ("consistent", (0,))


def test_a_stored_cut_counts_the_orphans_of_a_channel_without_order():
    recording = recorded(edges.orphans_without_order())
    (report,) = judge(recording)
    with stored(recording) as opened:
        positions = opened.positions_at(step=0)
        positions[:] = [report.positions[process.id] for process in recording.topology.processes]
        cut = StoredCut(opened.tables, positions)
        assert cut.orphan_counts.tolist() == [1, 0]
        assert cut.depths.tolist() == [1, 0]
        assert not cut.consistent


def test_sums_beyond_63_bits_are_exact():
    recording = recorded(edges.sums_beyond_63_bits())
    (report,) = judge(recording)
    assert (report.totals.start, report.totals.channels) == (2 * LARGE, 3 * LARGE)
    assert (report.totals.total, report.totals.conserved) == (4 * LARGE, False)
    with stored(recording) as opened:
        assert StoredCut(opened.tables, opened.positions_at(step=3)).total() == 4 * LARGE


@pytest.mark.parametrize(("fifo", "verdict"), [(True, "fifo-violation"), (False, "consistent")])
def test_only_markers_may_overtake_on_a_fifo_channel_that_lets_them(fifo, verdict):
    first, second = judged(edges.where_markers_may_overtake(fifo=fifo))
    assert (first.verdict, second.verdict) == ("consistent", verdict)


def test_a_message_may_not_overtake_a_marker_even_where_markers_may_overtake():
    (report,) = judged(edges.a_message_overtakes_a_marker())
    (broken,) = report.findings
    assert (broken.verdict, broken.message, broken.other.message) == ("fifo-violation", None, "m1")


def test_each_message_that_overtakes_is_named_where_markers_may_overtake():
    (report,) = judged(edges.messages_overtaken_twice())
    pairs = [(item.message, item.other.message) for item in report.findings]
    assert pairs == [("m1", "m2"), ("m1", "m3")]


def test_a_snapshot_of_two_of_three_scopes_lacks_only_who_belongs_to_them():
    (report,) = judged(edges.two_of_three_scopes())
    assert report.processes == ("1 p", "1 q", "2 p", "2 q")
    assert named(report) == [("incomplete", None, "2 q")]


def test_a_sum_is_that_of_the_scopes_of_the_snapshot():
    (report,) = judged(edges.one_of_two_scopes())
    totals = report.totals
    assert (totals.start, totals.processes, totals.channels) == (15, 11, 4)


def test_of_several_markers_on_a_channel_the_first_counts():
    (report,) = judged(edges.several_markers())
    (broken,) = (item for item in report.findings if item.verdict == "marker-rule")
    assert (broken.message, broken.rule) == ("m1", "paper, section 3.2, marker-receiving rule")


def test_a_second_marker_in_time_repairs_nothing():
    (report,) = judged(edges.a_second_marker_in_time())
    (broken,) = report.findings
    assert (broken.message, broken.rule) == ("m1", "paper, section 3.2, marker-sending rule")
    assert report.initiators == ("p",)


def test_a_second_marker_is_looked_for_and_keeps_its_place():
    (report,) = judged(edges.a_second_marker())
    broken, missing = report.findings
    assert (broken.verdict, broken.message, broken.other.message) == ("fifo-violation", None, "m1")
    assert (missing.verdict, missing.channel) == ("incomplete", "p->q")


@pytest.mark.parametrize("edge", [edges.markers_on_two_channels, edges.markers_that_nobody_sent])
def test_who_recorded_after_its_first_marker_did_not_begin(edge):
    (report,) = judged(edge())
    assert report.initiators == ("p",)


def test_what_a_process_recorded_first_counts():
    (report,) = judged(edges.second_records())
    assert report.verdict == "consistent"
    assert report.recorded_states == {"p": "9", "q": "5"}
    assert report.recorded_channels == {"p->q": ("m1",), "q->p": ()}


def test_of_two_recordings_at_one_instant_the_first_line_is_the_initiators():
    (report,) = judged(edges.recordings_at_one_instant())
    assert report.initiators == ("q",)


def test_a_scope_that_only_sent_a_marker_takes_part():
    (report,) = judged(edges.markers_in_another_scope())
    assert report.processes == ("1 p", "1 q", "2 p", "2 q")
    open_channels = [item.channel for item in report.findings if item.sent]
    assert open_channels == ["2 p->q"]


def test_of_two_messages_that_never_arrive_the_first_sent_was_overtaken():
    (report,) = judged(edges.ties())
    assert named(report) == [("fifo-violation", "m1", None)]


def test_of_two_consistent_cuts_that_are_equally_near_the_one_inside_is_taken():
    """q goes back before the receive, or p goes on behind the send: each moves one event."""
    recording = recorded(a_run().send("p->q", "m1", 1).receive("p->q", "m1"))
    assert nearest_consistent_cut(recording, Cut({"p": 0, "q": 1})) == Cut({"p": 0, "q": 0})
    with stored(recording) as opened:
        positions = opened.positions_at(step=0)
        positions[:] = [0, 1]
        assert StoredCut(opened.tables, positions).nearest.tolist() == [0, 0]

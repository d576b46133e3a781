"""Logs that go on after a restore, matched and judged by the reference."""

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.assembling.restores import MOST_RESTORES
from snapshots.domain.causality.vector_clocks import vector_clocks
from snapshots.domain.judging.cuts import Cut, contents, cut_at, is_consistent
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import InputRefused
from snapshots.domain.proving.claims import log_says, message_says
from snapshots.domain.replaying.reordering import reorder
from snapshots.domain.replaying.reordering_report import NotReorderable
from snapshots.store import cones
from snapshots.store.listing import all_messages
from snapshots.store.reader import StoredRecording
from snapshots.store.whole_log import read_log
from snapshots.store.writer import write_recording
from tests.builders import a_run
from tests.domain.judging import restored

ODD = {
    restored.a_message_from_before_the_restore: ["received-after-restore"],
    restored.restored_apart: ["restored-apart", "restored-apart"],
    restored.recorded_across_a_restore: ["restored-apart"],
    restored.a_marker_from_before_the_restore: ["received-after-restore", "restored-apart"],
    restored.ids_used_again: ["sent-twice"],
    restored.came_again_twice: ["received-twice"],
    restored.only_one_goes_back: ["restored-apart", "restored-apart"],
    restored.only_one_goes_back_and_no_snapshot_follows: ["restored-apart"],
    restored.late_in_an_epoch_that_is_undone: ["received-after-restore"],
    restored.received_in_both_epochs: ["received-after-restore"],
    restored.late_with_an_id_used_again: ["received-after-restore", "sent-twice"],
    restored.a_held_id_used_again: ["sent-twice"],
    restored.a_held_id_under_way_again: ["sent-twice"],
    restored.sent_twice_and_held_once: ["sent-twice"],
    restored.epochs_that_fall: ["fifo-violation", "restored-apart", "restored-apart"],
}


def assembled(make):
    return assemble(*make())


def reports(make):
    return {report.snapshot: report for report in judge(assembled(make).recording)}


@pytest.mark.parametrize("make", restored.RESTORED, ids=lambda make: make.__name__)
def test_only_logs_that_break_a_rule_have_defects(make):
    assert [item.code for item in assembled(make).defects] == ODD.get(make, [])


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (restored.after_a_restore, ["s1", "s2"]),
        (restored.in_flight_after_a_restore, ["s1", "s2"]),
        (restored.never_received_before, ["s1", "s2"]),
        (restored.back_to_an_earlier_snapshot, ["s1", "s2", "s3"]),
        (restored.back_to_the_start, ["s1"]),
        (restored.killed_while_all_go_back, ["s1", "s2"]),
        (restored.a_marker_taken_back, ["s1", "s3"]),
        (restored.ids_used_again, ["s1"]),
        (restored.a_slow_sender, ["s1", "s2"]),
        (restored.begun_before_the_other_is_back, ["s1", "s2"]),
        (restored.late_in_an_epoch_that_is_undone, ["s1", "s2"]),
        (restored.a_held_id_used_again, ["s1", "s2"]),
        (restored.a_held_id_under_way_again, ["s1", "s2"]),
        (restored.held_by_a_later_restore, ["s0", "s1", "s2", "s3"]),
        (restored.sent_twice_and_held_once, ["s1", "s2"]),
        (restored.held_and_overtaken_by_nothing, ["s1", "s2"]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_snapshots_before_and_after_a_restore_are_consistent_and_keep_the_money(make, names):
    found = reports(make)
    assert [found[name].verdict for name in names] == ["consistent"] * len(names)
    assert [found[name].totals.total for name in names] == [15] * len(names)


def test_a_message_from_before_the_restore_is_named_with_both_its_ends():
    report = reports(restored.a_message_from_before_the_restore)["s2"]
    [finding] = report.findings
    assert (finding.verdict, finding.message, report.totals.total) == ("orphan", "m2", 17)
    assert (finding.sent.process, finding.sent.index) == ("p", 5)
    assert (finding.received.process, finding.received.index) == ("q", 9)
    assert report.answers[0].answer == "does-not-hold"


def test_a_marker_that_a_restore_took_back_never_arrived():
    report = reports(restored.a_marker_taken_back)["s2"]
    assert report.verdict == "incomplete"
    assert [finding.received for finding in report.findings] == [None, None]
    assert (report.markers_sent, report.markers_received) == (1, 0)


def test_what_is_under_way_at_a_restore_is_in_its_channel_until_then():
    recording = assembled(restored.after_a_restore).recording
    (restore,) = (event for event in recording.events["q"] if event.kind == "restore")

    def under_way(position):
        found = contents(recording, Cut({"p": len(recording.events["p"]), "q": position}))
        return [message.id for message in found["p->q"]]

    assert "m2" in under_way(restore.index)
    assert "m2" not in under_way(restore.index + 1)


def test_a_restore_waits_for_nothing_that_it_takes_back():
    """The clock of p is ahead; q goes back before p sends, by the clocks."""
    header, events = restored.after_a_restore()
    events = tuple(
        event if event.process == "q" else type(event)(**{**fields(event), "at": event.at + 9_000})
        for event in events
    )
    found = assemble(header, events).recording.events["q"]
    (restore,) = (event for event in found if event.kind == "restore")
    assert restore.logged_at is None or restore.at <= found[restore.index - 1].at


@pytest.mark.parametrize(
    ("make", "name", "words"),
    [
        (restored.restored_apart, "s2", 'p went back to snapshot "s1" and q to the start'),
        (restored.recorded_across_a_restore, "s2", "p recorded s2 before the restore of epoch 1"),
        (restored.recorded_before_all_came_again, "s2", "that took until its event 10"),
        (restored.never_came_again, "s2", "m1 is missing"),
        (restored.came_again_twice, "s2", "or was it received twice?"),
        (restored.back_to_an_unknown_snapshot, "s2", '"nope", which nobody recorded before'),
        (restored.back_to_an_incomplete_snapshot, "s2", '"s9", which it had not recorded'),
        (restored.back_to_an_inconsistent_snapshot, "s2", '"o", whose own verdict is orphan'),
        (restored.back_to_another_state, "s2", "recorded 7, but right after it the log has the"),
        (restored.only_one_goes_back, "x", "q recorded x before the restore of epoch 1"),
        (restored.epochs_that_fall, "s", "went back in epoch 3 after epoch 5"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_snapshot_behind_a_restore_that_is_not_whole_is_not_known_with_the_reason(
    make, name, words
):
    report = reports(make)[name]
    assert report.verdict == "unknown"
    assert words in report.findings[0].sentence


@pytest.mark.parametrize(
    ("make", "message"),
    [(restored.received_in_both_epochs, "m3"), (restored.late_with_an_id_used_again, "m2")],
)
def test_a_message_whose_send_was_undone_is_an_orphan_when_it_arrives_again(make, message):
    [finding] = reports(make)["s2"].findings
    assert (finding.verdict, finding.message) == ("orphan", message)


@pytest.mark.parametrize("make", restored.RESTORED, ids=lambda make: make.__name__)
def test_every_step_is_a_consistent_cut_and_nobody_learns_from_what_was_taken_back(make, tmp_path):
    recording = assembled(make).recording
    stored = StoredRecording(tmp_path, write_recording(recording, tmp_path))
    steps = sum(map(len, recording.events.values()))
    for step in range(steps + 1):
        cut = cut_at(recording, step=step)
        found = stored.cut(stored.positions_at(step=step))
        assert is_consistent(recording, cut)
        assert found.consistent
        assert found.depths.tolist() == [len(held) for held in contents(recording, cut).values()]
    clocks = vector_clocks(recording)
    for code, (process, events) in enumerate(recording.events.items()):
        for event in events:
            past = cones.past(stored.tables, code, event.index)
            assert list(clocks.of(process, event.index)) == past.tolist()


def test_what_was_taken_back_is_not_shown_as_received(tmp_path):
    recording = assembled(restored.after_a_restore).recording
    stored = StoredRecording(tmp_path, write_recording(recording, tmp_path))
    rows = {row["message"]: row for row in all_messages(stored.tables)}
    assert (rows["m2"]["arrived"], rows["m2"]["received_index"]) == (False, None)
    assert message_says(recording, "p->q", "m2")["ways"][0]["arrived"] is False
    assert log_says(recording)["arrived"] == sum(row["arrived"] for row in rows.values())
    assert read_log(stored, recording.name).restores == recording.restores


def test_theorem_1_is_not_asked_of_a_snapshot_that_a_restore_interrupts():
    recording = assembled(restored.begun_before_the_other_is_back).recording
    report = reports(restored.begun_before_the_other_is_back)["s2"]
    with pytest.raises(NotReorderable, match="q went back to a snapshot at its event 6"):
        reorder(recording, report)
    late = reports(restored.a_message_from_before_the_restore)["s2"]
    recording = assembled(restored.a_message_from_before_the_restore).recording
    assert reorder(recording, late).holds is False


def test_a_process_goes_back_at_most_so_often():
    run = a_run()
    for epoch in range(MOST_RESTORES + 1):
        run = run.restore("p", epoch)
    with pytest.raises(InputRefused) as refused:
        assemble(*run.log())
    assert "goes back more than 10,000 times" in refused.value.defects[0].sentence


def fields(event):
    return {name: getattr(event, name) for name in event.__dataclass_fields__}

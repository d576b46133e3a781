"""A log is put in order, and its receives are matched to its sends."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import Header, assemble
from snapshots.domain.model.defects import InputRefused, missing_field
from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Channel, Process, Topology
from tests.effort import examples

HEADER = Header(
    "run",
    "us",
    Topology(
        (Process("A", "10"), Process("B"), Process("idle")),
        (Channel("ab", "A", "B"), Channel("ba", "B", "A"), Channel("loose", "A", "B", fifo=False)),
    ),
)


def log(*entries):
    """Return entries ``(process, kind, fields)`` as logged events in lines 2, 3, 4 …"""
    return [
        LoggedEvent(line=line, process=process, kind=kind, **fields)
        for line, (process, kind, fields) in enumerate(entries, 2)
    ]


def send(message, **fields):
    return "A", "send", {"channel": "ab", "message": message} | fields


def receive(message, **fields):
    return "B", "receive", {"channel": "ab", "message": message} | fields


def assembled(*entries):
    return assemble(HEADER, log(*entries))


def codes(assembly):
    return [item.code for item in assembly.defects]


def flights(assembly, channel="ab"):
    """Return (id, sent index, received index) of each message in the order of sending."""
    return [
        (message.id, message.sent_index, message.received_index)
        for message in assembly.recording.messages[channel]
    ]


def refusal(*entries):
    with pytest.raises(InputRefused) as caught:
        assembled(*entries)
    return caught.value.defects[0]


def test_every_process_and_channel_of_the_header_is_there():
    recording = assembled().recording
    assert recording.events == {"A": (), "B": (), "idle": ()}
    assert recording.messages == {"ab": (), "ba": (), "loose": ()}
    assert recording.markers == {"ab": (), "ba": (), "loose": ()}
    assert (recording.name, recording.time_unit, recording.strays) == ("run", "us", ())


def test_events_stand_in_the_order_of_their_index():
    recording = assembled(send("b", index=1), send("a", index=0), send("c", index=2)).recording
    assert [(event.message, event.index, event.line) for event in recording.events["A"]] == [
        ("a", 0, 3),
        ("b", 1, 2),
        ("c", 2, 4),
    ]


def test_without_an_index_events_stand_in_the_order_of_the_file():
    events = log(send("b"), send("a"))
    recording = assemble(HEADER, reversed(events)).recording
    assert [event.message for event in recording.events["A"]] == ["b", "a"]
    assert [event.index for event in recording.events["A"]] == [0, 1]


def test_an_index_used_twice_is_refused_with_both_lines():
    defect = refusal(send("a", index=0), receive("a"), send("b", index=0))
    assert (defect.code, defect.line, defect.field, defect.process) == (
        "index-twice",
        4,
        "index",
        "A",
    )
    assert "line 2" in defect.sentence


def test_a_gap_in_the_index_is_closed_and_reported():
    assembly = assembled(send("a", index=1), send("b", index=2), send("c", index=7))
    assert [event.index for event in assembly.recording.events["A"]] == [0, 1, 2]
    [defect] = assembly.defects
    assert (defect.code, defect.count, defect.line) == ("index-gap", 5, 2)
    assert "no event has index 0" in defect.sentence


def test_an_index_on_only_some_events_is_ignored_and_reported():
    assembly = assembled(send("a", index=5), send("b"), send("c", index=0))
    assert [event.message for event in assembly.recording.events["A"]] == ["a", "b", "c"]
    [defect] = assembly.defects
    assert (defect.code, defect.count, defect.line) == ("index-gap", 1, 3)


def test_a_process_without_indexes_does_not_disturb_one_with_them():
    assembly = assembled(send("b", index=1), receive("a"), send("a", index=0))
    assert codes(assembly) == []
    assert flights(assembly) == [("a", 0, 0), ("b", 1, None)]


def test_a_message_has_its_events_and_its_value():
    recording = assembled(send("a", at=3, value="7"), receive("a", at=8)).recording
    [message] = recording.messages["ab"]
    assert (message.channel, message.ordinal, message.id, message.value) == ("ab", 0, "a", "7")
    assert (message.sent_index, message.sent_at) == (0, 3)
    assert (message.received_index, message.received_at) == (0, 8)


def test_a_message_never_received_is_in_flight():
    recording = assembled(send("a")).recording
    [message] = recording.messages["ab"]
    assert (message.received_index, message.received_at) == (None, None)


def test_ordinals_count_sends_even_where_a_later_one_is_received_first():
    loose = {"channel": "loose"}
    assembly = assembled(
        send("a", **loose), send("b", **loose), receive("b", **loose), receive("a", **loose)
    )
    assert flights(assembly, "loose") == [("a", 0, 1), ("b", 1, 0)]
    assert codes(assembly) == []


def test_markers_are_matched_by_snapshot_and_counted_apart_from_messages():
    marker = {"channel": "ab"}
    recording = assembled(
        send("a"),
        ("A", "marker_send", marker | {"snapshot": "1"}),
        ("A", "marker_send", marker | {"snapshot": "2"}),
        receive("a"),
        ("B", "marker_receive", marker | {"snapshot": "1"}),
    ).recording
    assert [
        (item.ordinal, item.snapshot, item.sent_index, item.received_index)
        for item in recording.markers["ab"]
    ] == [(0, "1", 1, 1), (1, "2", 2, None)]
    assert [message.ordinal for message in recording.messages["ab"]] == [0]


def test_the_kth_send_of_an_id_meets_its_kth_receive():
    assembly = assembled(send("a"), send("b"), send("a"), receive("a"), receive("b"), receive("a"))
    assert flights(assembly) == [("a", 0, 0), ("b", 1, 1), ("a", 2, 2)]
    [defect] = assembly.defects
    assert (defect.code, defect.count, defect.line) == ("sent-twice", 1, 4)


def test_one_id_on_two_channels_is_two_messages():
    loose = {"channel": "loose"}
    assembly = assembled(send("a"), send("a", **loose), receive("a", **loose))
    assert flights(assembly) == [("a", 0, None)]
    assert flights(assembly, "loose") == [("a", 1, 0)]
    assert codes(assembly) == []


def test_a_receive_without_a_send_is_a_stray():
    assembly = assembled(receive("ghost"), send("a"), receive("a"))
    assert [event.message for event in assembly.recording.strays] == ["ghost"]
    assert flights(assembly) == [("a", 0, 1)]
    [defect] = assembly.defects
    assert (defect.code, defect.line, defect.process) == ("stray-receive", 2, "B")


def test_a_second_receive_of_a_message_is_a_stray_of_its_own_kind():
    assembly = assembled(send("a"), receive("a"), receive("a"))
    assert [event.line for event in assembly.recording.strays] == [4]
    [defect] = assembly.defects
    assert (defect.code, defect.line) == ("received-twice", 4)


def test_markers_can_stray_too():
    marker = {"channel": "ab", "snapshot": "1"}
    assembly = assembled(
        ("B", "marker_receive", marker | {"snapshot": "0"}),
        ("A", "marker_send", marker),
        ("B", "marker_receive", marker),
        ("B", "marker_receive", marker),
    )
    assert [(item.code, item.line) for item in assembly.defects] == [
        ("stray-receive", 2),
        ("received-twice", 5),
    ]
    assert [event.line for event in assembly.recording.strays] == [2, 5]


def test_overtaking_on_a_fifo_channel_is_reported_once_with_its_count():
    assembly = assembled(send("a"), send("b"), send("c"), receive("c"), receive("b"), receive("a"))
    [defect] = assembly.defects
    assert (defect.code, defect.count, defect.line) == ("fifo-violation", 2, 2)
    assert '"c" overtook "a"' in defect.sentence


def test_a_message_is_overtaken_by_any_later_one_and_not_only_by_the_next():
    assembly = assembled(send("a"), send("b"), send("c"), receive("c"), receive("a"), receive("b"))
    [defect] = assembly.defects
    assert (defect.code, defect.count) == ("fifo-violation", 2)


def test_a_marker_that_overtakes_and_a_message_left_behind_are_reported():
    marker = {"channel": "ab", "snapshot": "1"}
    assembly = assembled(send("a"), ("A", "marker_send", marker), ("B", "marker_receive", marker))
    [defect] = assembly.defects
    assert 'the marker of snapshot "1" overtook "a"' in defect.sentence


def test_a_record_made_twice_is_reported():
    record = {"snapshot": "1"}
    channel = {"snapshot": "1", "channel": "ab", "messages": ()}
    assembly = assembled(
        ("A", "record_state", record),
        ("A", "record_state", record | {"snapshot": "2"}),
        ("A", "record_state", record),
        ("B", "record_channel", channel),
        ("B", "record_channel", channel),
    )
    assert [(item.code, item.line) for item in assembly.defects] == [
        ("recorded-twice", 4),
        ("recorded-twice", 6),
    ]


def test_a_recorded_message_that_was_never_sent_is_reported():
    record = {"snapshot": "1", "channel": "ab", "messages": ("a", "ghost")}
    assembly = assembled(send("a"), ("B", "record_channel", record))
    [defect] = assembly.defects
    assert (defect.code, defect.line, defect.field) == ("unknown-message", 3, "messages")
    assert '"ghost"' in defect.sentence


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (("C", "internal", {}), "unknown-process"),
        (("A", "send", {"channel": "ac", "message": "a"}), "unknown-channel"),
        (("A", "send", {"channel": "ba", "message": "a"}), "wrong-end"),
        (("A", "receive", {"channel": "ab", "message": "a"}), "wrong-end"),
        (("A", "marker_receive", {"channel": "ab", "snapshot": "1"}), "wrong-end"),
        (("A", "record_channel", {"channel": "ab", "snapshot": "1", "messages": ()}), "wrong-end"),
        (("A", "send", {"channel": "ab"}), "missing-field"),
        (("A", "record_state", {}), "missing-field"),
    ],
)
def test_an_event_without_meaning_refuses_the_log(entry, code):
    defect = refusal(send("a"), entry)
    assert (defect.code, defect.line) == (code, 3)


@settings(max_examples=examples(50), deadline=None)
@given(st.data())
def test_with_index_and_time_the_order_of_the_file_does_not_matter(data):
    entries, sent, counts = [], [], {"A": 0, "B": 0}
    for at in range(data.draw(st.integers(0, 12))):
        if sent and data.draw(st.booleans()):
            entry = receive(sent.pop(0), at=at)
        else:
            sent.append(str(at))
            entry = send(str(at), at=at)
        process, kind, fields = entry
        entries.append((process, kind, fields | {"index": counts[process]}))
        counts[process] += 1
    events = log(*entries)
    shuffled = data.draw(st.permutations(events))
    assert assemble(HEADER, shuffled) == assemble(HEADER, events)


def test_a_missing_field_is_named_with_the_kind_of_its_event():
    complaint = missing_field(kind="send", field="channel", line=7)
    assert str(complaint) == 'Line 7: An event of kind "send" needs the field "channel".'
    assert (complaint.code, complaint.field) == ("missing-field", "channel")

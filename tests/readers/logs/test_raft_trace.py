"""Traces of etcd's raft library: messages without ids, other lines between, damage."""

import contextlib
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs import pairing
from tests.readers.inputs import checked, read, source, text
from tests.readers.mutated import mutated

REAL = os.environ.get("RAFT_TRACE", "")
"""Where tla/example.ndjson of etcd-io/raft lies; without it nothing is compared with it."""
VOTE = {"type": "MsgVote", "term": 1, "from": "1", "to": "2", "entries": 0, "index": 0}


def a_line(name, nid, at=0.0, msg=None, **event):
    known = {
        "name": name,
        "nid": nid,
        "state": {"term": 1, "vote": "0", "commit": 0},
        "role": "StateFollower",
        "log": 3,
        "conf": [["1", "2"], []],
    }
    event = known | ({"msg": msg} if msg else {}) | event
    return {
        "level": "debug",
        "ts": 1712329729.5 + at,
        "msg": "trace",
        "tag": "trace",
        "event": event,
    }


def send(msg=VOTE, at=0.0, **fields):
    return a_line("SendRequestVoteRequest", fields.pop("nid", msg["from"]), at, msg, **fields)


def receive(msg=VOTE, at=0.0, **fields):
    return a_line("ReceiveRequestVoteRequest", fields.pop("nid", msg["to"]), at, msg, **fields)


def read_lines(tmp_path, *lines):
    return read(source(tmp_path, text(*lines), "trace.ndjson"))


def test_a_vote_from_send_to_receive(tmp_path):
    lines = [a_line("BecomeCandidate", "1"), send(at=0.001), receive(at=0.0025)]
    header, events, defects = read_lines(tmp_path, *lines)
    assert [p.id for p in header.topology.processes] == ["1", "2"]
    [channel] = header.topology.channels
    assert (channel.id, channel.source, channel.target, channel.fifo) == ("1->2", "1", "2", False)
    told = [(e.process, e.kind, e.label, e.at, e.channel, e.message) for e in events]
    assert told == [
        ("1", "internal", "BecomeCandidate", 0, None, None),
        ("1", "send", "SendRequestVoteRequest", 1000, "1->2", "1"),
        ("2", "receive", "ReceiveRequestVoteRequest", 2500, "1->2", "1"),
    ]
    assert json.loads(events[0].state) == {
        "term": 1, "vote": "0", "commit": 0, "role": "StateFollower", "log": 3,
        "conf": [["1", "2"], []],
    }  # fmt: skip
    assert json.loads(events[1].value) == {
        part: item for part, item in VOTE.items() if part not in ("from", "to")
    }
    assert json.loads(events[1].extra)["level"] == "debug"
    assert header.extra["raft"]["began_at_us"] == 1712329729_500000
    assert not defects


def test_equal_messages_are_paired_in_order_and_the_rest_stays_in_flight(tmp_path):
    later = VOTE | {"term": 2}
    header, events, defects = read_lines(
        tmp_path, send(), send(later), send(), receive(later), receive()
    )
    assert [event.message for event in events] == ["1", "2", "3", "2", "1"]
    notes = " ".join(header.extra["notes"])
    assert "1 send has no receive in the log: it stays in flight." in notes
    assert "1 message sent while one of the same content was under way" in notes
    recording = assemble(header, events).recording
    flying = [m.id for m in recording.messages["1->2"] if m.received_index is None]
    assert (flying, defects) == (["3"], ())


def test_the_same_content_on_another_channel_is_another_message(tmp_path):
    back = VOTE | {"from": "2", "to": "1"}
    header, events, _ = read_lines(tmp_path, send(), send(back), receive(back))
    assert [(event.channel, event.message) for event in events] == [
        ("1->2", "1"), ("2->1", "1"), ("2->1", "1"),
    ]  # fmt: skip
    assert "1 send has no receive" in " ".join(header.extra["notes"])


def test_a_node_sends_to_itself(tmp_path):
    own = VOTE | {"to": "1"}
    header, events, _ = read_lines(tmp_path, send(own), receive(own))
    assert [event.channel for event in events] == ["1->1", "1->1"]
    found = assemble(header, events)
    assert (found.defects, found.recording.messages["1->1"][0].received_index) == ((), 1)


def test_a_receive_without_a_send_is_a_stray(tmp_path):
    header, events, _ = read_lines(tmp_path, receive(), send())
    assert [event.message for event in events] == ["not sent, 1", "1"]
    assert [defect.code for defect in assemble(header, events).defects] == ["stray-receive"]
    assert "1 receive without a send" in " ".join(header.extra["notes"])


def test_a_node_that_logged_nothing_is_named(tmp_path):
    header, _, _ = read_lines(tmp_path, send())
    assert [process.id for process in header.topology.processes] == ["1", "2"]
    assert "1 of 2 processes have no event" in " ".join(header.extra["notes"])


def test_nodes_stand_by_number(tmp_path):
    header, _, _ = read_lines(tmp_path, *(a_line("Ready", nid) for nid in ("10", "9", "b", "2")))
    assert [process.id for process in header.topology.processes] == ["2", "9", "10", "b"]


def test_lines_that_are_not_events_are_counted_with_their_numbers(tmp_path):
    lines = [
        a_line("Ready", "1"),
        {"level": "info", "msg": "started"},
        b"panic: goroutine 1",
        a_line("Ready", None),
        send(nid="3"),
        receive(nid="3"),
        a_line("SendSnapshot", "1"),
        send(VOTE | {"to": 7}),
        a_line("Ready", "2") | {"tag": "other"},
        b"   ",
    ]
    header, events, [defect] = read_lines(tmp_path, *lines)
    about = header.extra["raft"]
    assert (about["events"], about["left_out"], about["misfits"], len(events)) == (1, 2, 6, 1)
    assert [line for line, _ in about["misfit_lines"]] == [3, 4, 5, 6, 7, 8]
    assert "another node" in about["misfit_lines"][2][1]
    assert (defect.code, defect.line, defect.count) == ("skipped-text", 3, 6)
    assert "6 lines of the log are not events" in defect.sentence


@pytest.mark.parametrize(
    ("ts", "at"),
    [
        (1712329729.5, 0),
        (1712329730, 500_000),
        ("2024-04-05T15:08:50Z", 500_000),
        ("2024-04-05T17:08:50.000001+0200", 500_001),
        ("2024-04-05T15:08:50", None),
        ("soon", None),
        (1e13, None),
        (True, None),
        (None, None),
    ],
)
def test_times(tmp_path, ts, at):
    _, events, _ = read_lines(tmp_path, a_line("Ready", "1"), a_line("Ready", "2") | {"ts": ts})
    assert [event.at for event in events] == [0, at]


def test_a_trace_is_recognised_by_its_first_line(tmp_path):
    path = source(tmp_path, text(a_line("InitState", "1")))
    head = checked(path, Limits())
    assert (head.format, head.complete) == ("raft-trace", True)
    assert "by the event on its first line" in head.reason
    other = source(tmp_path, text({"event": "x", "tag": "trace"}), "other")
    with pytest.raises(InputRefused, match="neither a header nor an event"):
        checked(other, Limits())


def test_a_log_without_any_event_is_refused(tmp_path):
    path = source(tmp_path, text({"level": "info"}, {"level": "info"}))
    with pytest.raises(InputRefused, match="All 2 lines of the log are left out"):
        read(path, format="raft-trace")
    path = source(tmp_path, text({"level": "info"}, {"event": 7}))
    with pytest.raises(InputRefused, match="Line 2 has an event that is not an object"):
        read(path, format="raft-trace")


def test_more_than_can_be_paired_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pairing, "MOST_WAITING", 3)
    lines = [send(VOTE | {"term": term}) for term in range(4)]
    with pytest.raises(InputRefused, match="sent and not received"):
        read_lines(tmp_path, *lines)
    read_lines(tmp_path, *lines[:3], receive(VOTE | {"term": 0}), *lines[3:])


def test_more_processes_or_channels_than_the_limits_are_refused(tmp_path):
    lines = [send(VOTE | {"to": str(node)}) for node in range(2, 9)]
    path = source(tmp_path, text(*lines))
    with pytest.raises(InputRefused, match="more than 4 processes"):
        read(path, Limits(processes=4))
    with pytest.raises(InputRefused, match="more than 4 channels"):
        read(path, Limits(channels=4))


def test_damaged_traces_are_read_or_refused(tmp_path):
    whole = text(*(part for term in range(9) for part in (
        a_line("Ready", "1", term), send(VOTE | {"term": term}), receive(VOTE | {"term": term}, 1)
    )))  # fmt: skip
    kept = 0
    for data in mutated([whole]):
        with contextlib.suppress(InputRefused):
            header, events, _ = read(source(tmp_path, data), format="raft-trace")
            assemble(header, events)
            kept += len(events)
    assert kept > 1000


if REAL:

    def test_the_example_of_the_library():
        """Counted from the file itself with `grep -c`; every receive has its send before it."""
        header, events, defects = read(Path(REAL), Limits())
        kinds = Counter(event.kind for event in events)
        assert kinds == {"internal": 1440, "send": 1787, "receive": 1661}
        assert (len(header.topology.processes), len(header.topology.channels)) == (10, 18)
        found = assemble(header, events)
        messages = [item for sent in found.recording.messages.values() for item in sent]
        assert sum(message.received_index is None for message in messages) == 126
        assert (defects, found.defects, found.recording.strays) == ((), (), ())
        names = Counter(event.label for event in events)
        assert (names["BecomeLeader"], names["Commit"], names["ApplyConfChange"]) == (1, 227, 134)


def test_a_trace_without_times_counts_steps(tmp_path):
    lines = [a_line("InitState", "1"), send(), receive()]
    timed, _, _ = read_lines(tmp_path, *lines)
    assert timed.time_unit == "us"
    for line in lines:
        del line["ts"]
    header, events, _ = read_lines(tmp_path, *lines)
    assert header.time_unit == "step"
    assert {event.at for event in events} == {None}

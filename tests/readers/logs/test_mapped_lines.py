"""Any JSON lines, read by a mapping; and what cannot be mapped, told with its line."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers import recognition
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.mapped.lines import format_of, microseconds
from snapshots.readers.logs.mapped.mapping import MappingRefused, parse
from snapshots.readers.logs.mapped.preview import fields_of, preview
from tests.effort import examples
from tests.readers.inputs import checked, read, source, text
from tests.readers.logs.test_raft_trace import REAL
from tests.readers.mutated import mutated

MAPPING = {
    "process": "host",
    "kind": {
        "path": "event.type",
        "rules": [
            {"value": "tx", "kind": "send"},
            {"value": "rx*", "kind": "receive"},
            {"value": "debug", "kind": "skip"},
            {"value": "snap", "kind": "record_state"},
        ],
    },
    "peer": {"send": "event.to", "receive": "event.from"},
    "message": "event.id",
    "at": {"path": "ts", "unit": "ms"},
    "state": {"balance": "balance"},
    "value": "event.amount",
    "label": "note",
    "snapshot": "event.snapshot",
}
SEND = {
    "host": "A", "ts": 1000, "event": {"type": "tx", "to": "B", "id": 7, "amount": 5},
    "balance": 95, "more": [1],
}  # fmt: skip
RECEIVE = {
    "host": "B", "ts": 1020, "event": {"type": "rx-late", "from": "A", "id": 7, "amount": 5},
    "balance": 105, "note": "got it",
}  # fmt: skip
SNAP = {"host": "A", "ts": 1010, "event": {"type": "snap", "snapshot": "s1"}, "balance": 95}


def read_by(mapping, folder, *lines):
    return read(source(folder, text(*lines)), Limits(), format_of(parse(mapping)))


def test_a_log_is_read_as_its_mapping_says(tmp_path):
    header, events, defects = read_by(MAPPING, tmp_path, SEND, SNAP, RECEIVE)
    assert [p.id for p in header.topology.processes] == ["A", "B"]
    assert [(c.id, c.fifo) for c in header.topology.channels] == [("A->B", False)]
    told = [(e.line, e.process, e.kind, e.at, e.channel, e.message, e.value) for e in events]
    assert told == [
        (1, "A", "send", 0, "A->B", "7", "5"),
        (2, "A", "record_state", 10_000, None, None, None),
        (3, "B", "receive", 20_000, "A->B", "7", "5"),
    ]
    assert [event.state for event in events] == [
        '{"balance":95}', '{"balance":95}', '{"balance":105}',
    ]  # fmt: skip
    assert (events[1].snapshot, events[2].label, events[0].label) == ("s1", "got it", "tx")
    assert json.loads(events[0].extra)["more"] == [1]
    assert not defects
    assert assemble(header, events).defects == ()
    assert header.extra["mapped"]["mapping"] == MAPPING


def test_times_count_from_the_earliest_wherever_it_stands(tmp_path):
    mapping = {"process": "p", "at": {"path": "t", "unit": "us"}}
    lines = [{"p": "A", "t": 50}, {"p": "B", "t": 20}, {"p": "A", "t": 70}]
    header, events, _ = read_by(mapping, tmp_path, *lines)
    assert [event.at for event in events] == [30, 0, 50]
    assert header.extra["mapped"]["began_at_us"] == 20


def test_lines_that_do_not_fit_are_counted_with_their_numbers(tmp_path):
    lines = [
        SEND,
        SEND | {"event": {"type": "debug"}},
        SEND | {"host": None},
        {"ts": 1, "event": {"type": "tx", "to": "B", "id": 1}},
        SEND | {"event": {"type": "tx", "id": 1}},
        SEND | {"event": {"type": "tx", "to": "B"}},
        SEND | {"event": {"type": "snap"}},
        b"no JSON",
        [1],
        SEND | {"balance": 1e300},
    ]
    header, events, [defect] = read_by(MAPPING, tmp_path, *lines)
    about = header.extra["mapped"]
    assert (len(events), about["left_out"], about["misfits"]) == (1, 1, 8)
    reasons = dict(about["misfit_lines"])
    assert list(reasons) == [3, 4, 5, 6, 7, 8, 9, 10]
    assert reasons[3] == 'has no process: "host" must be a string, not null'
    assert reasons[4] == 'has no process: there is no "host"'
    assert reasons[5] == 'has no peer: there is no "event.to"'
    assert "no id of its message" in reasons[6]
    assert "does not name its snapshot" in reasons[7]
    assert "not JSON" in reasons[8]
    assert "has a state that holds a number" in reasons[10]
    assert (defect.code, defect.line, defect.count) == ("skipped-text", 3, 8)


def test_channels_by_name_have_the_ends_that_use_them(tmp_path):
    mapping = {
        "process": "host", "kind": "kind", "channel": "queue", "message": "id", "fifo": True,
    }  # fmt: skip
    mapping["kind"] = {"path": "kind", "rules": [
        {"value": "put", "kind": "send"}, {"value": "got", "kind": "receive"}
    ]}  # fmt: skip

    def line(host, kind, queue):
        return {"host": host, "kind": kind, "queue": queue, "id": 1}

    header, events, [defect] = read_by(
        mapping, tmp_path,
        line("A", "put", "orders"), line("B", "got", "orders"), line("B", "put", "lost"),
        line("A", "put", "shared"), line("B", "put", "shared"), line("C", "got", "shared"),
    )  # fmt: skip
    [channel] = header.topology.channels
    assert (channel.id, channel.source, channel.target, channel.fifo) == ("orders", "A", "B", True)
    assert [event.line for event in events] == [1, 2]
    reasons = dict(header.extra["mapped"]["misfit_lines"])
    assert "on which nobody receives" in reasons[3]
    assert "on which several send" in reasons[4]
    assert defect.count == header.extra["mapped"]["misfits"] == 4


def test_a_channel_with_a_name_and_peers_is_one_for_each_pair(tmp_path):
    mapping = {"process": "p", "kind": "k", "peer": "q", "channel": "topic", "message": "m"}
    sends = [{"p": "A", "k": "send", "q": q, "topic": "t", "m": 1} for q in "BC"]
    _header, events, _ = read_by(mapping, tmp_path, *sends)
    assert [event.channel for event in events] == ["t: A->B", "t: A->C"]


def test_messages_without_ids_are_paired_by_their_content(tmp_path):
    mapping = {"process": "p", "kind": "k", "peer": "q", "value": "v"}
    send = {"p": "A", "k": "send", "q": "B"}
    receive = {"p": "B", "k": "receive", "q": "A"}
    header, events, _ = read_by(
        mapping, tmp_path, send | {"v": 1}, send | {"v": 2}, receive | {"v": 2}
    )
    assert [event.message for event in events] == ["1", "2", "2"]
    assert any("stays in flight" in note for note in header.extra["notes"])


def test_kinds_without_rules_are_those_of_the_native_format(tmp_path):
    mapping = {"process": "p", "kind": "k", "peer": "q", "message": "m"}
    _, events, _ = read_by(
        mapping, tmp_path,
        {"p": 1, "k": "crash"}, {"p": 1, "k": "boot"}, {"p": 1, "k": 7}, {"p": 1},
        {"p": 1, "k": "send", "q": 2, "m": "x"},
    )  # fmt: skip
    assert [(event.process, event.kind, event.label) for event in events] == [
        ("1", "crash", None), ("1", "internal", "boot"), ("1", "internal", "7"),
        ("1", "internal", None), ("1", "send", None),
    ]  # fmt: skip


def test_without_a_kind_every_line_is_an_internal_event(tmp_path):
    _, events, _ = read_by({"process": "a.0.b", "state": "."}, tmp_path,
                           {"a": [{"b": "x"}], ".": 3}, {"a.0.b": "y"})  # fmt: skip
    assert [(e.process, e.kind, e.state) for e in events] == [
        ("x", "internal", "3"), ("y", "internal", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "unit", "found"),
    [
        (1712329729.5, "s", 1712329729500000),
        (1712329729, "s", 1712329729000000),
        (1712329729500, "ms", 1712329729500000),
        ("1712329729500", "ms", 1712329729500000),
        (1712329729500000001, "ns", 1712329729500000),
        ("1.5", "s", 1_500_000),
        (-2, "us", -2),
        ("1970-01-01T00:00:01Z", "date", 1_000_000),
        ("1970-01-01 00:00:01.5", "date", 1_500_000),
        ("1970-01-01T01:00:01+01:00", "date", 1_000_000),
        ("9999-12-31T23:59:59-23:59", "date", 253402387139000000),
        ("nan", "s", None),
        (2**90, "s", None),
        (True, "s", None),
        ("soon", "date", None),
        (7, "date", None),
        (None, "s", None),
    ],
)
def test_times(value, unit, found):
    assert microseconds(value, unit) == found


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "mapping"),
        ({}, "process"),
        ({"process": 7}, "process"),
        ({"process": "x" * 300}, "process"),
        ({"process": "a\x00"}, "process"),
        ({"process": "a", "colour": "b"}, "colour"),
        ({"process": "a", "kind": {"path": "k"}}, "kind.rules"),
        ({"process": "a", "kind": {"path": "k", "rules": [{"value": ""}]}}, "kind.rules[0].value"),
        (
            {"process": "a", "kind": {"path": "k", "rules": [{"value": "x", "kind": "fly"}]}},
            "kind.rules[0].kind",
        ),
        ({"process": "a", "kind": {"path": "k", "rules": [], "otherwise": []}}, "kind.otherwise"),
        ({"process": "a", "kind": {"path": "k", "rules": [], "otherwise": "send"}}, "peer"),
        (
            {"process": "a", "peer": {"send": "x"},
             "kind": {"path": "k", "rules": [{"value": "r", "kind": "receive"}]}},
            "peer",
        ),
        (
            {"process": "a", "kind": {"path": "k", "rules": [], "otherwise": "record_state"}},
            "snapshot",
        ),
        ({"process": "a", "at": {"path": "t", "unit": "weeks"}}, "at.unit"),
        ({"process": "a", "at": 7}, "at"),
        ({"process": "a", "state": []}, "state"),
        ({"process": "a", "state": {"x": 7}}, "state.x"),
        ({"process": "a", "peer": {"to": "x"}}, "peer.to"),
        ({"process": "a", "fifo": "yes"}, "fifo"),
    ],
)  # fmt: skip
def test_a_wrong_mapping_is_refused_with_its_field(document, field):
    with pytest.raises(MappingRefused) as refused:
        parse(document)
    assert refused.value.field == field


def test_the_name_of_the_reader_holds_its_mapping(tmp_path):
    path = source(tmp_path, text(SEND, RECEIVE))
    name = format_of(parse(MAPPING))
    head = checked(path, Limits(), format=name)
    assert (head.format, head.complete) == (name, True)
    assert recognition.reader_named(name).mapping == parse(MAPPING)


def test_a_log_without_a_fitting_line_is_refused(tmp_path):
    with pytest.raises(InputRefused, match='Line 1 has no process: there is no "host"'):
        read_by(MAPPING, tmp_path, {"event": {"type": "tx"}})
    with pytest.raises(InputRefused, match="empty"):
        read_by(MAPPING, tmp_path)


# --- preview ------------------------------------------------------------------------------------


def test_a_preview_shows_the_first_events_as_they_are_read(tmp_path):
    path = source(tmp_path, text(SEND, b"{", SNAP, RECEIVE, *[SEND] * 200))
    found = preview(path, parse(MAPPING), Limits())
    assert len(found.events) == 100
    assert (found.lines, found.misfits.count, found.misfits.places[0][0]) == (101, 1, 2)
    _, events, _ = read(path, Limits(), format_of(parse(MAPPING)))
    assert [(item.line, item.event.kind, item.at, item.message) for item in found.events] == [
        (event.line, event.kind, event.at, event.message) for event in events[:100]
    ]


def test_a_preview_of_a_damaged_log_says_how_far_it_came(tmp_path):
    path = source(tmp_path, text(SEND) + b"x" * 3000)
    found = preview(path, parse(MAPPING), Limits(line_bytes=1000))
    assert (len(found.events), "longer than" in found.ended) == (1, True)
    path = source(tmp_path, b"\xff\xfe nothing\n" * 20_000)
    found = preview(path, parse(MAPPING), Limits())
    assert (found.lines, found.misfits.count, len(found.misfits.places)) == (10_000, 10_000, 100)


def test_the_fields_of_a_log_are_listed_with_examples(tmp_path):
    found = fields_of(source(tmp_path, text(b"?", SEND, RECEIVE)), Limits())
    assert found["event.type"] == '"tx"'
    assert found["event.from"] == '"A"'
    assert found["more"] == "[1]"


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["host", "ts", "event", "balance", "note"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["type", "to", "id"]), inner, max_size=3)
                ),
                max_leaves=8,
            ),
        ),
        max_size=8,
    )
)
def test_every_line_is_an_event_left_out_or_counted(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("lines")
    mapping = {"process": "host", "at": "ts", "state": "event", "label": "note"}
    with contextlib.suppress(InputRefused):
        header, events, _ = read_by(mapping, folder, *lines)
        about = header.extra["mapped"]
        assert len(events) + about["left_out"] + about["misfits"] == len(lines)
        assemble(header, events)


def test_damaged_logs_are_read_or_refused(tmp_path):
    name = format_of(parse(MAPPING))
    kept = 0
    for data in mutated([text(*[SEND, SNAP, RECEIVE] * 4)]):
        with contextlib.suppress(InputRefused):
            header, events, _ = read(source(tmp_path, data), Limits(), name)
            assemble(header, events)
            kept += len(events)
    assert kept > 1000


if REAL:

    def test_a_mapping_reads_rafts_traces_as_their_own_reader_does():
        """All but the text of the states: the reader gathers them from several fields."""
        mapping = {
            "process": "event.nid",
            "kind": {"path": "event.name", "rules": [
                {"value": "Send*", "kind": "send"}, {"value": "Receive*", "kind": "receive"}]},
            "peer": {"send": "event.msg.to", "receive": "event.msg.from"},
            "value": "event.msg",
            "at": "ts",
            "state": "event.state",
        }  # fmt: skip
        by_mapping = read(Path(REAL), Limits(), format_of(parse(mapping)))[1]
        by_reader = read(Path(REAL), Limits())[1]
        assert [(e.process, e.kind, e.at, e.channel, e.message) for e in by_mapping] == [
            (e.process, e.kind, e.at, e.channel, e.message) for e in by_reader
        ]


@pytest.mark.parametrize(
    ("unit", "ts", "instants"),
    [
        ("date", ["2024-05-01T12:00:00.25+02:00"], ["2024-05-01T10:00:00.250000Z"]),
        ("date", ["1969-12-31T23:59:59Z"], ["1969-12-31T23:59:59.000000Z"]),
        ("s", [1_714_557_600.5], ["2024-05-01T10:00:00.500000Z"]),
        ("ms", [1_714_557_600_500], ["2024-05-01T10:00:00.500000Z"]),
        ("ms", [12_400, "soon"], [None, None]),
        ("s", [2**39], [None]),
    ],
)
def test_a_preview_keeps_the_time_where_it_is_an_instant(tmp_path, unit, ts, instants):
    mapping = parse({"process": "host", "at": {"path": "ts", "unit": unit}})
    lines = [{"host": "a", "ts": at} for at in ts]
    found = preview(source(tmp_path, text(*lines)), mapping, Limits())
    assert [event.instant for event in found.events] == instants

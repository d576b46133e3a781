"""The native format read and written."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.domain.model.recording import LoggedEvent
from snapshots.domain.model.topology import Channel, Process
from snapshots.domain.model.values import canonical
from snapshots.readers.formats.fields import json_text
from snapshots.readers.formats.lines import chunks
from snapshots.readers.logs.columns import RAW, logged_events
from snapshots.readers.logs.native import NativeReader, parse_lines, write_lines
from tests.effort import examples
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, read, source, text


def test_a_header_gives_processes_channels_and_the_time_unit(tmp_path):
    header, events, defects = read(source(tmp_path, text(HEADER)))
    assert header.name == "two banks"
    assert header.time_unit == "us"
    assert header.topology.processes == (
        Process("A", '{"balance":10000}'),
        Process("B", '{"balance":5000}'),
    )
    assert header.topology.channels == (
        Channel("A->B", "A", "B"),
        Channel("B->A", "B", "A", fifo=False),
    )
    assert (events, defects) == ([], ())


def test_an_event_keeps_every_field(tmp_path):
    _, events, _ = read(source(tmp_path, text(HEADER, SEND | {"label": "pay"})))
    assert events == [
        LoggedEvent(
            line=2,
            process="A",
            kind="send",
            index=0,
            at=5,
            channel="A->B",
            message="m1",
            value="1000",
            state='{"balance":9000}',
            label="pay",
        )
    ]


def test_a_recorded_channel_keeps_its_messages_in_order(tmp_path):
    record = {
        "process": "B",
        "kind": "record_channel",
        "snapshot": 1,
        "channel": "A->B",
        "messages": ["z", 7, "a"],
    }
    _, [event], _ = read(source(tmp_path, text(HEADER, record)))
    assert event.messages == ("z", "7", "a")
    assert event.snapshot == "1"


def test_a_recorded_channel_can_be_empty_and_is_not_the_same_as_unknown(tmp_path):
    record = {"process": "B", "kind": "record_channel", "snapshot": 1, "channel": "A->B"}
    _, [event], _ = read(source(tmp_path, text(HEADER, record | {"messages": []})))
    assert event.messages == ()


def test_the_integer_7_and_the_string_7_are_one_id(tmp_path):
    _, events, _ = read(
        source(tmp_path, text(HEADER, SEND | {"message": 7}, RECEIVE | {"message": "7"}))
    )
    assert [event.message for event in events] == ["7", "7"]


def test_null_is_the_same_as_a_field_left_out(tmp_path):
    event = {"process": "A", "kind": "internal"}
    nulls = dict.fromkeys(("index", "at", "channel", "message", "state", "value", "label"))
    _, events, _ = read(source(tmp_path, text(HEADER, event, event | nulls)))
    assert events == [
        LoggedEvent(line=2, process="A", kind="internal"),
        LoggedEvent(line=3, process="A", kind="internal"),
    ]


def test_fields_without_a_meaning_are_kept_as_they_are(tmp_path):
    _, [event], defects = read(
        source(tmp_path, text(HEADER, SEND | {"thread": [1, {"b": 2, "a": 1}]}))
    )
    assert json.loads(event.extra) == {"thread": [1, {"b": 2, "a": 1}]}
    assert defects == ()


def test_header_fields_without_a_meaning_are_kept_as_they_are(tmp_path):
    fields = HEADER | {
        "run": 7,
        "processes": [{"id": "A", "host": "h1"}, {"id": "B"}],
        "channels": [{"id": "A->B", "source": "A", "target": "B", "port": 80}],
    }
    header, _, _ = read(source(tmp_path, text(fields)))
    assert header.extra == {
        "run": 7,
        "processes": {"A": {"host": "h1"}},
        "channels": {"A->B": {"port": 80}},
    }


def test_an_event_of_an_unknown_kind_is_kept_whole_and_reported_once_per_kind(tmp_path):
    strange = {"process": "A", "kind": "barrier_in", "at": 3, "channel": "nowhere", "state": 1}
    _, events, defects = read(source(tmp_path, text(HEADER, strange, strange, SEND)))
    assert [event.kind for event in events] == ["barrier_in", "barrier_in", "send"]
    assert json.loads(events[0].extra) == {"channel": "nowhere", "state": 1}
    assert events[0].at == 3
    [defect] = defects
    assert (defect.code, defect.line, defect.count) == ("unknown-kind", 2, 2)
    assert "barrier_in" in defect.sentence


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("recieve", 'Did you mean "receive"?'),
        ("Send", 'Did you mean "send"?'),
        ("marker_recieve", 'Did you mean "marker_receive"?'),
        ("barrier_in", ""),
        ("snooze", ""),
        ("receive" * 100, ""),
    ],
)
def test_a_misspelled_kind_is_asked_about(tmp_path, kind, question):
    _, _, defects = read(source(tmp_path, text(HEADER, {"process": "A", "kind": kind})))
    [defect] = defects
    assert defect.sentence.partition("without a meaning.")[2].strip() == question


@pytest.mark.parametrize(
    "name",
    ["two words", "a/b", '"quoted"', "'", "<script>alert(1)</script>", "😀", "é", "a\\b", "%2F"],
)
def test_any_name_is_a_name(tmp_path, name):
    header = HEADER | {
        "processes": [{"id": name}, {"id": "B"}],
        "channels": [{"id": f"{name}→", "source": name, "target": "B"}],
    }
    send = SEND | {"process": name, "channel": f"{name}→", "message": name}
    record = {"process": name, "kind": "record_state", "snapshot": name}
    _, events, defects = read(source(tmp_path, text(header, send, record)))
    assert (events[0].process, events[0].channel, events[0].message) == (name, f"{name}→", name)
    assert events[1].snapshot == name
    assert defects == ()


def test_ten_thousand_processes_are_read(tmp_path):
    processes = [{"id": f"p{number}"} for number in range(10_000)]
    header, [event], _ = read(
        source(
            tmp_path,
            text(
                HEADER | {"processes": processes, "channels": []},
                {"process": "p9999", "kind": "internal"},
            ),
        ),
        SMALL.__class__(),
    )
    assert len(header.topology.processes) == 10_000
    assert event.process == "p9999"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xef\xbb\xbf" + text(HEADER, SEND), 2),
        (text(HEADER, SEND).replace(b"\n", b"\r\n"), 2),
        (text(HEADER, SEND).rstrip(b"\n"), 2),
        (text(b"", HEADER, b"", b"  \t", SEND, b""), 5),
    ],
    ids=["byte order mark", "CRLF", "no newline at the end", "blank lines"],
)
def test_white_space_around_lines_means_nothing(tmp_path, data, line):
    _, [event], defects = read(source(tmp_path, data))
    assert (event.line, event.message, defects) == (line, "m1", ())


def test_small_chunks_give_the_same_events_with_the_same_lines(tmp_path):
    lines = [SEND | {"index": n, "message": n, "label": "x" * (n % 50)} for n in range(200)]
    path = source(tmp_path, text(HEADER, *lines))
    header, whole, _ = read(path)
    body = text(*lines)
    pieces = []
    for chunk in chunks(path, SMALL, size=333):
        data, first_line = chunk.data, chunk.first_line
        assert path.read_bytes()[chunk.offset : chunk.offset + len(data)] == data
        if first_line == 1:
            data, first_line = data.partition(b"\n")[2], 2
        batch, defects = parse_lines(data, first_line, header)
        assert defects == []
        pieces.append(batch)
    assert len(pieces) > 10
    assert list(logged_events(pieces, header)) == whole
    assert len(body.splitlines()) == len(whole)


def test_a_chunk_of_nothing_is_a_batch_of_no_rows(tmp_path):
    header, _, _ = read(source(tmp_path, text(HEADER)))
    batch, defects = parse_lines(b"\n\n", 2, header)
    assert (batch.num_rows, batch.schema, defects) == (0, RAW, [])


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(-1e15, 1e15)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text('aé"\\\n', max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(100), deadline=None)
@given(json_values)
def test_the_short_way_to_canonical_text_ends_where_the_long_one_does(value):
    assert json_text(value) == canonical(value)


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8
)
texts = st.none() | json_values.filter(lambda value: value is not None).map(canonical)


@st.composite
def recordings(draw):
    processes = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    channels = draw(st.lists(names, max_size=4, unique=True))
    fields = HEADER | {
        "name": draw(names),
        "processes": [{"id": name} for name in processes],
        "channels": [
            {
                "id": name,
                "source": draw(st.sampled_from(processes)),
                "target": draw(st.sampled_from(processes)),
                "fifo": draw(st.booleans()),
                "overtaking": draw(st.booleans()),
            }
            for name in channels
        ],
    }
    events = draw(
        st.lists(
            st.builds(
                LoggedEvent,
                line=st.just(0),
                process=st.sampled_from(processes),
                kind=st.sampled_from(["internal", "crash", "snooze"]),
                index=st.none() | st.integers(0, 2**63 - 1),
                at=st.none() | st.integers(0, 2**63 - 1),
            ),
            max_size=6,
        )
    )
    known = [
        LoggedEvent(
            line=0,
            process=event.process,
            kind=event.kind,
            index=event.index,
            at=event.at,
            channel=draw(st.none() | st.sampled_from(channels)) if channels else None,
            message=draw(st.none() | names),
            value=draw(texts),
            state=draw(texts),
            snapshot=draw(st.none() | names),
            messages=draw(st.none() | st.lists(names, max_size=3).map(tuple)),
            label=draw(st.none() | names),
        )
        if event.kind != "snooze"
        else event
        for event in events
    ]
    return fields, known


@settings(max_examples=examples(40), deadline=None)
@given(recordings())
def test_what_is_written_is_read_back(tmp_path_factory, recording):
    fields, events = recording
    path = source(tmp_path_factory.mktemp("log"), text(fields))
    header = NativeReader().header(path, SMALL)
    path.write_bytes(b"".join(write_lines(header, events)))
    back, again, _ = read(path)
    assert back == header
    numbered = [
        LoggedEvent(**{name: getattr(event, name) for name in event.__slots__} | {"line": line})
        for line, event in enumerate(events, 2)
    ]
    assert again == numbered


def test_batches_have_the_schema_that_ingest_relies_on(tmp_path):
    path = source(tmp_path, text(HEADER, SEND))
    header, _, _ = read(path)
    batch, _ = parse_lines(text(SEND), 2, header)
    assert batch.schema == RAW
    assert batch["channel"].to_pylist() == [0]
    assert batch["process"].type == pa.int32()

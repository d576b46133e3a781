"""What bad input gets: a code, the line, the field, and a sentence a person can act on."""

import json
import pickle
import zipfile

import pytest

from snapshots.domain.model.defects import MOST_LISTED, InputRefused
from snapshots.readers.formats.limits import Limits
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, read, source, text


def refused(tmp_path, data: bytes, limits: Limits = SMALL, format: str | None = None):
    """Return the first defect for which the input is refused."""
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, data), limits, format)
    return caught.value.defects[0]


def without(event: dict, field: str) -> dict:
    return {name: value for name, value in event.items() if name != field}


MARKER = {"process": "A", "kind": "marker_send", "channel": "A->B", "snapshot": 1}
RECORD = {
    "process": "B",
    "kind": "record_channel",
    "channel": "A->B",
    "snapshot": 1,
    "messages": [],
}

BROKEN_EVENTS = {
    "a list": ([1], "wrong-type", None, "must be a JSON object"),
    "a number": (b"17", "wrong-type", None, "must be a JSON object"),
    "half a line": (b'{"process":"A","ki', "not-json", None, "ends in the middle"),
    "single quotes": (b"{'process':'A'}", "not-json", None, "character 2"),
    "two objects": (b'{"a":1}{"b":2}', "not-json", None, "not JSON"),
    "NaN as a state": (
        b'{"process":"A","kind":"internal","state":{"x":NaN}}',
        "not-finite",
        "state",
        "NaN",
    ),
    "an infinite time": (
        b'{"process":"A","kind":"internal","at":-Infinity}',
        "not-finite",
        "at",
        "-Infinity",
    ),
    "NaN in half a line": (b'{"at":NaN,"process', "not-finite", None, "NaN"),
    "a number beyond all": (
        b'{"process":"A","kind":"internal","at":1e999}',
        "number-range",
        None,
        "2^63",
    ),
    "a lone surrogate": (
        b'{"process":"A","kind":"internal","label":"\\ud800"}',
        "not-json",
        None,
        "surrogate",
    ),
    "bytes that are not UTF-8": (b'{"process":"\xff"}', "not-utf8", None, "byte 13 (0xff)"),
    "nesting without end": (
        b'{"process":"A","kind":"internal","state":' + b"[" * 5000 + b"]" * 5000 + b"}",
        "wrong-type",
        None,
        "nested",
    ),
    "deep nesting": (
        b'{"process":"A","kind":"internal","state":' + b"[" * 500 + b"]" * 500 + b"}",
        "wrong-type",
        "state",
        "nested more than 100",
    ),
    "no process": (without(SEND, "process"), "missing-field", "process", "no field"),
    "no kind": (without(SEND, "kind"), "missing-field", "kind", "no field"),
    "a kind that is no name": (SEND | {"kind": 7}, "wrong-type", "kind", "must be a string"),
    "a process that is no name": (SEND | {"process": ["A"]}, "wrong-type", "process", "a string"),
    "an unknown process": (SEND | {"process": "C"}, "unknown-process", "process", '"C"'),
    "an unknown channel": (SEND | {"channel": "A>B"}, "unknown-channel", "channel", '"A>B"'),
    "a channel that is no name": (SEND | {"channel": {}}, "wrong-type", "channel", "a string"),
    "a send without a channel": (without(SEND, "channel"), "missing-field", "channel", '"send"'),
    "a send without a message": (without(SEND, "message"), "missing-field", "message", '"send"'),
    "a receive without a message": (RECEIVE | {"message": None}, "missing-field", "message", "A"),
    "a marker without a snapshot": (
        without(MARKER, "snapshot"),
        "missing-field",
        "snapshot",
        "marker_send",
    ),
    "a record without a snapshot": (
        {"process": "A", "kind": "record_state"},
        "missing-field",
        "snapshot",
        "record_state",
    ),
    "a recorded channel without messages": (
        without(RECORD, "messages"),
        "missing-field",
        "messages",
        "record_channel",
    ),
    "messages that are no list": (RECORD | {"messages": "m1"}, "wrong-type", "messages", "a list"),
    "a message that is no id": (RECORD | {"messages": ["a", 1.5]}, "wrong-type", "messages", "1.5"),
    "true as an index": (SEND | {"index": True}, "wrong-type", "index", "not true"),
    "a fraction as a time": (SEND | {"at": 1.5}, "wrong-type", "at", "not 1.5"),
    "a string as a time": (SEND | {"at": "5"}, "wrong-type", "at", 'not "5"'),
    "a negative index": (SEND | {"index": -1}, "number-range", "index", "-1"),
    "a negative time": (SEND | {"at": -1}, "number-range", "at", "-1"),
    "a time of 2^63": (SEND | {"at": 2**63}, "number-range", "at", "2^63"),
    "a time of 2^64": (SEND | {"at": 2**64}, "number-range", "at", "2^63"),
    "a state of 2^64": (SEND | {"state": {"x": [2**64]}}, "number-range", "state", "2^63"),
    "a value of 2^63": (SEND | {"value": 2**63}, "number-range", "value", "2^63"),
    "a message id of 2^63": (SEND | {"message": 2**63}, "number-range", "message", "2^63"),
    "true as a message id": (SEND | {"message": True}, "wrong-type", "message", "not true"),
    "an empty message id": (SEND | {"message": ""}, "wrong-type", "message", "empty"),
    "a snapshot id with NUL": (MARKER | {"snapshot": "a\x00"}, "wrong-type", "snapshot", "NUL"),
    "a further field of 2^64": (SEND | {"weight": 2**64}, "number-range", "weight", "2^63"),
    "a label that is no string": (SEND | {"label": 5}, "wrong-type", "label", "a string"),
    "a second header": (HEADER, "header-twice", "kind", "two recordings"),
    "a send at the wrong end": (SEND | {"process": "B"}, "wrong-end", "process", 'source "A"'),
    "a receive at the wrong end": (
        RECEIVE | {"process": "A"},
        "wrong-end",
        "process",
        'target "B"',
    ),
    "a marker at the wrong end": (MARKER | {"process": "B"}, "wrong-end", "process", 'source "A"'),
    "a record at the wrong end": (RECORD | {"process": "A"}, "wrong-end", "process", 'target "B"'),
}


@pytest.mark.parametrize("name", BROKEN_EVENTS)
def test_a_line_without_meaning_is_refused_with_line_and_field(tmp_path, name):
    broken, code, field, words = BROKEN_EVENTS[name]
    defect = refused(tmp_path, text(HEADER, {"process": "A", "kind": "internal"}, broken))
    assert (defect.code, defect.line, defect.field) == (code, 3, field)
    assert words in defect.sentence


BROKEN_HEADERS = {
    "another version": ({"version": 2}, "version", "must be 1"),
    "true as a version": ({"version": True}, "version", "must be 1"),
    "processes that are no list": ({"processes": {"A": 1}}, "processes", "a list"),
    "no processes": ({"processes": []}, "processes", "empty"),
    "a process that is no object": ({"processes": ["A", "B"]}, "processes[0]", "an object"),
    "a process without an id": ({"processes": [{"id": "A"}, {}]}, "processes[1].id", "a string"),
    "a process without a name": ({"processes": [{"id": ""}]}, "processes[0].id", "empty"),
    "a process with NUL in its name": ({"processes": [{"id": "\x00"}]}, "processes[0].id", "NUL"),
    "a process with an endless name": (
        {"processes": [{"id": "x" * 2000}]},
        "processes[0].id",
        "longer",
    ),
    "a process twice": (
        {"processes": [{"id": "A"}, {"id": "B"}, {"id": "A"}]},
        "processes[2].id",
        "twice",
    ),
    "a state of 2^64": (
        {"processes": [{"id": "A", "state": 2**64}, {"id": "B"}]},
        "processes[0].state",
        "2^63",
    ),
    "channels that are no list": ({"channels": "A->B"}, "channels", "a list"),
    "a channel without an id": (
        {"channels": [{"source": "A", "target": "B"}]},
        "channels[0].id",
        "",
    ),
    "a channel twice": ({"channels": [HEADER["channels"][0]] * 2}, "channels[1].id", "twice"),
    "a channel to nowhere": (
        {"channels": [{"id": "c", "source": "A", "target": "C"}]},
        "channels[0].target",
        '"C"',
    ),
    "a channel from a list": (
        {"channels": [{"id": "c", "source": ["A"], "target": "B"}]},
        "channels[0].source",
        "one of the processes",
    ),
    "a channel that is FIFO by a word": (
        {"channels": [{"id": "c", "source": "A", "target": "B", "fifo": "yes"}]},
        "channels[0].fifo",
        "true or false",
    ),
    "a name that is no string": ({"name": 5}, "name", "a string"),
    "a time unit that is a story": ({"time_unit": "x" * 99}, "time_unit", "16"),
    "a further field of 2^64": ({"seed": 2**64}, "seed", "2^63"),
}


@pytest.mark.parametrize("name", BROKEN_HEADERS)
def test_a_broken_header_is_refused_with_its_field(tmp_path, name):
    change, field, words = BROKEN_HEADERS[name]
    defect = refused(tmp_path, text(HEADER | change, SEND))
    assert (defect.code, defect.line, defect.field) == ("header-invalid", 1, field)
    assert words in defect.sentence


def test_too_many_processes_and_channels_are_refused(tmp_path):
    many = [{"id": f"p{number}"} for number in range(21_000)]
    limits = Limits(processes=20_000, channels=100)
    defect = refused(tmp_path, text(HEADER | {"processes": many, "channels": []}), limits)
    assert (defect.code, defect.field) == ("too-many-processes", "processes")
    assert "21,000" in defect.sentence
    links = [{"id": f"c{number}", "source": "A", "target": "B"} for number in range(101)]
    defect = refused(tmp_path, text(HEADER | {"channels": links}), limits)
    assert (defect.code, defect.field) == ("too-many-channels", "channels")


@pytest.mark.parametrize("data", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path, data):
    assert refused(tmp_path, data).code == "empty"


def test_a_log_without_its_header_is_refused(tmp_path):
    defect = refused(tmp_path, text(SEND, RECEIVE))
    assert (defect.code, defect.line) == ("header-missing", 1)
    assert refused(tmp_path, text(SEND), format="native").code == "header-missing"


def test_a_header_behind_an_event_does_not_count(tmp_path):
    assert refused(tmp_path, text(SEND, HEADER)).code == "header-missing"


def test_two_recordings_in_one_file_are_refused_at_the_second_header(tmp_path):
    defect = refused(tmp_path, text(HEADER, SEND, RECEIVE) * 2)
    assert (defect.code, defect.line) == ("header-twice", 4)


def test_a_line_of_50_megabytes_is_refused_before_it_is_loaded(tmp_path):
    path = source(tmp_path, text(HEADER))
    with path.open("ab") as file:
        file.write(b'{"process":"A","kind":"internal","label":"')
        for _ in range(50):
            file.write(b"x" * 2**20)
        file.write(b'"}\n')
    with pytest.raises(InputRefused) as caught:
        read(path, Limits())
    [defect] = caught.value.defects
    assert (defect.code, defect.line) == ("line-too-long", 2)


def test_a_first_line_without_an_end_is_refused_at_the_limit(tmp_path):
    assert refused(tmp_path, b"x" * 2**18).code == "line-too-long"


def test_a_line_just_within_the_limit_is_read(tmp_path):
    event = {"process": "A", "kind": "internal", "label": ""}
    event["label"] = "x" * (SMALL.line_bytes - len(json.dumps(event)))
    _, [read_back], _ = read(source(tmp_path, text(HEADER, event)))
    assert len(read_back.label) > 60_000
    event["label"] += "x"
    assert refused(tmp_path, text(HEADER, event)).code == "line-too-long"


def test_utf_16_is_named_as_what_it_is(tmp_path):
    defect = refused(tmp_path, text(HEADER, SEND).decode().encode("utf-16"))
    assert defect.code == "not-utf8"
    assert "UTF-16" in defect.sentence
    assert refused(tmp_path, text(HEADER).decode().encode("utf-16-le")).code == "not-utf8"


def test_other_files_are_named_as_what_they_are(tmp_path):
    archive = tmp_path / "log.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("log.jsonl", text(HEADER))
    assert "zip package" in refused(tmp_path, archive.read_bytes()).sentence
    assert "pickle" in refused(tmp_path, pickle.dumps([1, 2])).sentence
    assert refused(tmp_path, pickle.dumps([1, 2])).code == "unknown-format"
    assert refused(tmp_path, b"time,process,event\n1,A,send\n").code == "unknown-format"
    pretty = json.dumps([HEADER, SEND], indent=2).encode()
    assert "a line of its own" in refused(tmp_path, pretty).sentence


def test_the_refusal_of_an_unknown_format_names_the_known_ones(tmp_path):
    defect = refused(tmp_path, text({"kind": "header", "format": "shiviz"}))
    assert (defect.code, defect.field) == ("unknown-format", "format")
    assert "cutline" in defect.sentence
    assert "cos418-event-log" in defect.sentence


def test_a_format_that_is_not_there_is_refused(tmp_path):
    defect = refused(tmp_path, text(HEADER), format="otf2")
    assert (defect.code, defect.field) == ("unknown-format", "format")


def test_every_bad_line_is_listed_up_to_a_limit_and_counted(tmp_path):
    bad = [SEND | {"index": -number - 1} for number in range(1200)]
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER, *bad)))
    assert len(caught.value.defects) == MOST_LISTED
    assert caught.value.total == 1200
    assert [defect.line for defect in caught.value.defects[:3]] == [2, 3, 4]


def test_wrong_ends_of_both_sorts_are_all_listed_by_line(tmp_path):
    wrong = [RECEIVE | {"process": "A"}, SEND | {"process": "B"}, MARKER | {"process": "B"}]
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER, *wrong)))
    assert [(defect.code, defect.line) for defect in caught.value.defects] == [
        ("wrong-end", 2),
        ("wrong-end", 3),
        ("wrong-end", 4),
    ]


def test_an_unknown_kind_is_not_blamed_for_a_channel_that_means_nothing_in_it(tmp_path):
    strange = {"process": "A", "kind": "snooze", "channel": "nowhere", "big": 2**64}
    assert refused(tmp_path, text(HEADER, strange)).field == "big"


def test_refused_defects_stand_before_kept_ones(tmp_path):
    strange = {"process": "A", "kind": "snooze"}
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER, strange, SEND | {"at": -1})))
    assert [defect.code for defect in caught.value.defects] == ["number-range", "unknown-kind"]
    assert str(caught.value).startswith("Line 3: ")


def test_a_refusal_travels_between_processes_whole(tmp_path):
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, text(HEADER, *[SEND | {"at": -1}] * 1200)))
    there = pickle.loads(pickle.dumps(caught.value))
    assert (there.defects, there.total) == (caught.value.defects, 1200)
    assert str(there) == str(caught.value)


NOISE = bytes(range(128, 256)) * 40 + bytes(range(256)) * 10


@pytest.mark.parametrize(
    "content", [NOISE, b"text\n" + NOISE, b"abc\x00\x01" * 50, b"\xfa\x01\xff" * 9]
)
def test_the_refusal_of_binary_data_does_not_advise_utf_8(tmp_path, content):
    defect = refused(tmp_path, content)
    assert defect.code == "unknown-format"
    assert "binary, of no format known here" in defect.sentence
    assert "UTF-8" not in defect.sentence


def test_the_refusal_of_text_in_another_encoding_advises_utf_8(tmp_path):
    latin = '{"process":"Zürich"}\n'.encode("latin-1")
    assert "UTF-8" in refused(tmp_path, latin).sentence
    cut = ("x" * (2**16 - 1) + "ü" * 10).encode()  # the first look ends within a letter
    assert "binary" not in refused(tmp_path, cut).sentence


@pytest.mark.parametrize("content", [b"hello\n", b'{"host":"a"}\n', NOISE, b"[1]\n"])
def test_a_refusal_names_all_formats_that_are_read(tmp_path, content):
    sentence = refused(tmp_path, content).sentence
    for title in ("ShiViz", "etcd raft", "Flink", "Spark Structured", "SeaTunnel"):
        assert title in sentence
    assert ("/mappings" in sentence) == content.startswith(b"{")


def test_an_unknown_log_of_json_lines_is_sent_to_the_mappings(tmp_path):
    with pytest.raises(InputRefused) as caught:
        read(source(tmp_path, b'{"host":"a","what":"sent"}\n'))
    assert caught.value.members == {"instead": "/mappings"}
    assert "which of its fields is the process" in caught.value.defects[0].sentence
    assert pickle.loads(pickle.dumps(caught.value)).members == caught.value.members

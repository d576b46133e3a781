"""The native format as Parquet gives what the same log gives as JSON Lines."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snapshots.domain.model.defects import InputRefused
from snapshots.domain.model.recording import LoggedEvent
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs import native_parquet
from snapshots.readers.logs.native_parquet import row_groups
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, read, source, text

EVENTS = [
    SEND,
    RECEIVE,
    {"process": "A", "kind": "marker_send", "channel": "A->B", "snapshot": "s", "at": 11},
    {"process": "A", "kind": "record_state", "snapshot": "s", "state": {"balance": 9000}},
    {
        "process": "B",
        "kind": "record_channel",
        "channel": "A->B",
        "snapshot": "s",
        "messages": ["m1", "m2"],
    },
    {"process": "B", "kind": "record_channel", "channel": "A->B", "snapshot": "t", "messages": []},
    {"process": "B", "kind": "snooze", "channel": "nowhere", "at": 4},
    {"process": "A", "kind": "internal", "label": "tick"},
]
NAMES = ("process", "kind", "index", "at", "channel", "message", "value", "state", "snapshot")


def table(events, **columns):
    """Write events as columns, with states and values as JSON text."""

    def cell(event, name):
        value = event.get(name)
        return json.dumps(value) if name in ("state", "value") and value is not None else value

    data = {name: [cell(event, name) for event in events] for name in (*NAMES, "messages", "label")}
    return pa.table(data | columns)


def parquet(folder, data, header=HEADER, name="log.parquet", **options):
    path = folder / name
    metadata = {} if header is None else {"cutline": json.dumps(header)}
    pq.write_table(data.replace_schema_metadata(metadata), path, **options)
    return path


def refusal(path, limits=SMALL):
    with pytest.raises(InputRefused) as caught:
        read(path, limits)
    return caught.value.defects[0]


def renumbered(events, by):
    return [
        LoggedEvent(
            **{name: getattr(event, name) for name in event.__slots__} | {"line": event.line + by}
        )
        for event in events
    ]


def test_parquet_gives_the_events_of_the_same_log_in_lines(tmp_path):
    header, events, defects = read(parquet(tmp_path, table(EVENTS)))
    as_lines = read(source(tmp_path, text(HEADER, *EVENTS)))
    assert header == as_lines[0]
    assert renumbered(events, 1) == as_lines[1]
    assert [item.code for item in defects] == [item.code for item in as_lines[2]]


def test_a_folder_of_parts_is_one_recording_with_rows_counted_through(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet(folder, table(EVENTS[:3]), name="part-0.parquet")
    parquet(folder, table(EVENTS[3:]), header=None, name="part-1.parquet")
    whole = read(parquet(tmp_path, table(EVENTS)))
    assert read(folder) == whole


def test_row_groups_can_be_read_apart(tmp_path):
    path = parquet(tmp_path, table(EVENTS), row_group_size=3)
    groups = row_groups(path, SMALL)
    assert [(group.first_line, group.rows) for group in groups] == [(1, 3), (4, 3), (7, 2)]
    assert read(path) == read(parquet(tmp_path, table(EVENTS), name="one.parquet"))


def test_numeric_states_and_ids_are_read_as_numbers(tmp_path):
    data = table(EVENTS[:2]).drop_columns(["state", "value", "message"])
    data = data.append_column("state", pa.array([9000.0, 0.5]))
    data = data.append_column("value", pa.array([1000, None], pa.int32()))
    data = data.append_column("message", pa.array([7, 7], pa.uint8()))
    _, events, _ = read(parquet(tmp_path, data))
    assert [event.state for event in events] == ["9000", "0.5"]
    assert [event.value for event in events] == ["1000", None]
    assert [event.message for event in events] == ["7", "7"]


def test_states_are_made_canonical(tmp_path):
    data = table([SEND]).drop_columns(["state"])
    data = data.append_column("state", pa.array(['{"b": 1, "a": 2.0}']))
    _, [event], _ = read(parquet(tmp_path, data))
    assert event.state == '{"a":2,"b":1}'


def test_further_columns_are_kept(tmp_path):
    data = table(EVENTS[:2], thread=["t1", None], weight=[1.5, 2.0], tags=[[1], None])
    _, events, _ = read(parquet(tmp_path, data))
    assert json.loads(events[0].extra) == {"thread": "t1", "weight": 1.5, "tags": [1]}
    assert json.loads(events[1].extra) == {"weight": 2}


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_strings_of_any_arrow_type_are_strings(tmp_path, kind):
    data = table(EVENTS)
    for name in ("process", "kind", "channel"):
        place = data.schema.get_field_index(name)
        data = data.set_column(place, name, data[name].cast(kind))
    assert read(parquet(tmp_path, data)) == read(
        parquet(tmp_path, table(EVENTS), name="plain.parquet")
    )


BROKEN_CELLS = {
    "an unknown process": ("process", "C", "unknown-process"),
    "no process": ("process", None, "missing-field"),
    "no kind": ("kind", None, "missing-field"),
    "an unknown channel": ("channel", "A>B", "unknown-channel"),
    "a send without a channel": ("channel", None, "missing-field"),
    "a send without a message": ("message", None, "missing-field"),
    "an empty message id": ("message", "", "wrong-type"),
    "a negative index": ("index", -1, "number-range"),
    "a negative time": ("at", -1, "number-range"),
    "a state that is no JSON": ("state", "{9000}", "not-json"),
    "a state that is two": ("state", '1,"x":2', "not-json"),
    "a state that is NaN": ("state", "NaN", "not-finite"),
    "a value of 2^64": ("value", str(2**64), "number-range"),
    "a snapshot with NUL": ("snapshot", "a\x00", "wrong-type"),
    "an id that is null": ("messages", ["a", None], "wrong-type"),
}


@pytest.mark.parametrize("name", BROKEN_CELLS)
def test_a_row_without_meaning_is_refused_with_its_number_and_column(tmp_path, name):
    field, value, code = BROKEN_CELLS[name]
    data = table([EVENTS[7], EVENTS[7], SEND]).to_pydict()
    data[field][2] = value
    defect = refusal(parquet(tmp_path, pa.table(data)))
    assert (defect.code, defect.field, defect.line) == (code, field, 3)


def test_a_send_at_the_wrong_end_is_refused(tmp_path):
    defect = refusal(parquet(tmp_path, table([SEND | {"process": "B"}])))
    assert (defect.code, defect.line) == ("wrong-end", 1)


def test_numbers_beyond_the_range_are_refused(tmp_path):
    for name in ("at", "message"):
        data = table([SEND]).drop_columns([name])
        data = data.append_column(name, pa.array([2**63], pa.uint64()))
        defect = refusal(parquet(tmp_path, data))
        assert (defect.code, defect.field) == ("number-range", name)


def test_a_state_that_is_not_a_number_is_refused(tmp_path):
    data = table([SEND]).drop_columns(["state"])
    data = data.append_column("state", pa.array(np.array([np.nan])))
    assert refusal(parquet(tmp_path, data)).code == "not-finite"


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("process", pa.array([1])),
        ("at", pa.array([1.5])),
        ("at", pa.array([1], pa.timestamp("us"))),
        ("index", pa.array(["0"])),
        ("message", pa.array([b"m"])),
        ("state", pa.array([True])),
        ("messages", pa.array(["m"])),
    ],
)
def test_a_column_of_the_wrong_type_is_refused(tmp_path, name, column):
    data = table([SEND])
    data = data.set_column(data.schema.get_field_index(name), name, column)
    defect = refusal(parquet(tmp_path, data))
    assert (defect.code, defect.field) == ("wrong-type", name)
    assert str(column.type) in defect.sentence


def test_a_missing_column_is_refused(tmp_path):
    defect = refusal(parquet(tmp_path, table([SEND]).drop_columns(["process"])))
    assert (defect.code, defect.field) == ("missing-field", "process")


def test_a_file_without_the_header_is_refused(tmp_path):
    assert refusal(parquet(tmp_path, table([SEND]), header=None)).code == "header-missing"
    assert refusal(parquet(tmp_path, table([SEND]), header=[1])).code == "wrong-type"


@pytest.mark.parametrize("cut", [4, 100, -20])
def test_a_file_that_is_cut_short_is_refused(tmp_path, cut):
    path = parquet(tmp_path, table(EVENTS))
    path.write_bytes(path.read_bytes()[:cut])
    defect = refusal(path)
    assert defect.code == "truncated"


def test_a_folder_without_parts_is_refused(tmp_path):
    assert refusal(tmp_path).code == "empty"


def test_a_column_that_unpacks_beyond_the_limit_is_refused_unread(tmp_path):
    data = pa.table(
        {
            "process": ["A"] * 1000,
            "kind": ["internal"] * 1000,
            "label": pa.DictionaryArray.from_arrays([0] * 1000, ["x" * 60_000]),
        }
    )
    path = parquet(tmp_path, data)
    assert path.stat().st_size < 100_000
    defect = refusal(path, Limits(total_bytes=2**24))
    assert defect.code == "too-large"


def test_parts_that_declare_more_than_the_limit_are_refused_before_they_are_read(tmp_path):
    path = parquet(tmp_path, table(EVENTS))
    declared = sum(group.total_byte_size for group in _groups(path))
    assert len(row_groups(path, Limits(total_bytes=declared))) == 1
    with pytest.raises(InputRefused) as caught:
        row_groups(path, Limits(total_bytes=declared - 1))
    assert caught.value.defects[0].code == "too-large"


def _groups(path):
    metadata = pq.read_metadata(path)
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def test_a_text_beyond_the_line_limit_is_refused(tmp_path):
    data = table([EVENTS[7], EVENTS[7] | {"label": "x" * 70_000}])
    defect = refusal(parquet(tmp_path, data))
    assert (defect.code, defect.line, defect.field) == ("line-too-long", 2, "label")


def test_names_of_columns_that_are_not_text_are_refused(tmp_path):
    """The library decodes all names of columns itself."""
    path = parquet(tmp_path, table(EVENTS, oddname=[1] * len(EVENTS)))
    path.write_bytes(path.read_bytes().replace(b"oddname", b"odd\xffame"))
    found = refusal(path)
    assert (found.code, "name is not UTF-8" in found.sentence) == ("not-utf8", True)


def test_the_reason_of_damage_names_no_exception(tmp_path):
    path = parquet(tmp_path, table(EVENTS))
    data = bytearray(path.read_bytes())
    data[-40:-8] = b"\xff" * 32
    path.write_bytes(data)
    sentence = refusal(path).sentence
    assert "damaged or cut short" in sentence
    assert "Exception" not in sentence
    assert native_parquet._why(OSError("TProtocolException: Invalid data")) == " (Invalid data)"
    assert native_parquet._why(MemoryError()).startswith(" (there is not the memory")


@pytest.mark.parametrize("name", ["value", "state"])
def test_a_long_plain_text_is_refused_with_how_to_write_it(tmp_path, name):
    plain = "paid by card " * 80
    data = table([SEND | {name: None}])
    data = data.set_column(data.schema.get_field_index(name), name, pa.array([plain]))
    defect = refusal(parquet(tmp_path, data))
    assert (defect.code, defect.line, defect.field) == ("not-json", 1, name)
    assert defect.sentence.startswith(
        f'The field "{name}" must be JSON text, not "paid by card paid'
    )
    assert "(1,040 characters)" in defect.sentence
    assert defect.sentence.endswith(
        r'Write each value with json.dumps(value), which puts text in quotes: "\"text\"".'
    )


def test_a_value_written_as_the_refusal_advises_is_read(tmp_path):
    plain = "paid by card " * 80
    path = parquet(tmp_path, table([SEND | {"value": plain}]))
    assert read(path)[1][0].value == json.dumps(plain)


def test_a_dictionary_as_python_writes_it_is_refused_with_the_place_of_its_fault(tmp_path):
    defect = refusal(parquet(tmp_path, table([SEND], state=["{'balance': 9000}"])))
    assert "Write each value with json.dumps(value)" in defect.sentence
    assert "a fault at character 2" in defect.sentence


def test_a_number_that_json_lacks_gets_no_advice_on_quotes(tmp_path):
    defect = refusal(parquet(tmp_path, table([SEND], state=["NaN"])))
    assert defect.sentence == 'The field "state" must be JSON text, not "NaN".'

"""What an upload's head tells before anything is stored."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from orjson import dumps

from snapshots.domain.model.defects import InputRefused
from snapshots.readers.formats.limits import Limits
from snapshots.readers.logs.base import HEAD_BYTES
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, checked, source, text
from tests.readers.logs.test_raft_trace import a_line


def test_a_small_log_is_read_to_its_end(tmp_path):
    head = checked(source(tmp_path, text(HEADER, SEND, RECEIVE)), SMALL)
    assert (head.format, head.complete, head.header.name) == ("native", True, "two banks")
    assert head.reason == "Cutline JSON Lines, by the format in its header."


def test_the_reason_names_the_compression(tmp_path):
    head = checked(source(tmp_path, gzip.compress(text(HEADER))), SMALL)
    assert "inside gzip" in head.reason


def test_a_small_log_is_refused_for_what_only_its_order_shows(tmp_path):
    path = source(tmp_path, text(HEADER, SEND, SEND))
    with pytest.raises(InputRefused) as caught:
        checked(path, SMALL)
    assert caught.value.defects[0].code == "index-twice"


def test_a_small_log_with_a_circle_of_causes_is_refused(tmp_path):
    back = {"channel": "B->A", "message": "b"}
    there = {"channel": "A->B", "message": "a"}
    circle = [
        {"process": "A", "kind": "receive"} | back,
        {"process": "A", "kind": "send"} | there,
        {"process": "B", "kind": "receive"} | there,
        {"process": "B", "kind": "send"} | back,
    ]
    with pytest.raises(InputRefused) as caught:
        checked(source(tmp_path, text(HEADER, *circle)), SMALL)
    assert caught.value.defects[0].code == "causal-cycle"


def test_only_the_head_of_a_large_log_is_read(tmp_path):
    line = text({"process": "A", "kind": "internal", "label": "x" * 1000})
    path = source(tmp_path, text(HEADER) + line * 15_000 + b"this is not JSON")
    head = checked(path, Limits())
    assert not head.complete


def test_a_bad_line_in_the_head_of_a_large_log_refuses_it(tmp_path):
    line = text({"process": "A", "kind": "internal", "label": "x" * 1000})
    path = source(tmp_path, text(HEADER, b"no JSON") + line * 15_000)
    with pytest.raises(InputRefused) as caught:
        checked(path, Limits())
    assert caught.value.defects[0].line == 2


def test_the_format_can_be_given(tmp_path):
    path = source(tmp_path, text(HEADER, SEND))
    head = checked(path, SMALL, format="native")
    assert (head.format, head.reason) == ("native", "The format was given as native.")
    with pytest.raises(InputRefused):
        checked(path, SMALL, format="cos418")


def test_parquet_and_cos418_are_recognised(tmp_path, shared_data):
    table = pa.table({"process": ["A"], "kind": ["internal"]})
    path = tmp_path / "log"
    pq.write_table(table.replace_schema_metadata({"cutline": dumps(HEADER)}), path)
    assert checked(path, SMALL).format == "parquet"
    log = shared_data / "cos418/original/2nodes-message.log.jsonl"
    head = checked(log, SMALL)
    assert (head.format, head.header.time_unit) == ("cos418", "tick")


LONG = HEAD_BYTES + 2**20


def long_log(tmp_path, line: bytes, first: bytes = b"", suffix=".log"):
    return source(tmp_path, first + line * (LONG // len(line)) + b"\xff\n" * 10, "log" + suffix)


def test_a_long_log_without_a_header_is_not_read_whole_before_the_answer(tmp_path):
    """The rest of each log has a fault, which only the worker finds."""
    trace = long_log(tmp_path, text(a_line("Ready", "1"), a_line("Ready", "2")))
    head = checked(trace, Limits(processes=1))
    assert (head.format, head.header, head.complete) == ("raft-trace", None, False)
    clocks = long_log(tmp_path, b'an event\nhost {"host":1}\n')
    assert checked(clocks, Limits()).header is None
    given = long_log(tmp_path, b"host 1\n", b"(?<host>\\w+) (?<clock>.*)(?<event>)\n\n")
    assert checked(given, Limits()).format == "shiviz"
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(trace.read_bytes()))
    assert checked(packed, Limits(processes=1)).header is None


@pytest.mark.parametrize(
    ("line", "format", "words"),
    [
        (b'{"a": 1}\n', "raft-trace", "Nothing in the first 8,388,608 bytes is an event"),
        (b'{"event": 1}\n', "raft-trace", "Line 1 has an event that is not an object."),
        (b"no clock\n", "shiviz", "no event in any known form of log with vector clocks"),
        (b"(?<host>[)\n", "shiviz", "expression"),
    ],
)
def test_a_long_log_with_a_wrong_head_is_refused_at_once(tmp_path, line, format, words):
    with pytest.raises(InputRefused, match=words):
        checked(long_log(tmp_path, line), Limits(), format)

"""What an upload's head tells before anything is stored."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from orjson import dumps

from snapshots.domain.defects import InputRefused
from snapshots.readers import registry
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, source, text


def test_a_small_log_is_read_to_its_end(tmp_path):
    head = registry.check_head(source(tmp_path, text(HEADER, SEND, RECEIVE)), SMALL)
    assert (head.format, head.complete, head.header.name) == ("native", True, "two banks")
    assert head.reason == "Cutline JSON Lines, by the format in its header."


def test_the_reason_tells_the_packing(tmp_path):
    head = registry.check_head(source(tmp_path, gzip.compress(text(HEADER))), SMALL)
    assert "inside gzip" in head.reason


def test_a_small_log_is_refused_for_what_only_its_order_shows(tmp_path):
    path = source(tmp_path, text(HEADER, SEND, SEND))
    with pytest.raises(InputRefused) as caught:
        registry.check_head(path, SMALL)
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
        registry.check_head(source(tmp_path, text(HEADER, *circle)), SMALL)
    assert caught.value.defects[0].code == "causal-cycle"


def test_of_a_large_log_only_the_head_is_read(tmp_path):
    line = text({"process": "A", "kind": "internal", "label": "x" * 1000})
    path = source(tmp_path, text(HEADER) + line * 15_000 + b"this is not JSON")
    head = registry.check_head(path, registry.Limits())
    assert not head.complete


def test_a_bad_line_in_the_head_of_a_large_log_refuses_it(tmp_path):
    line = text({"process": "A", "kind": "internal", "label": "x" * 1000})
    path = source(tmp_path, text(HEADER, b"no JSON") + line * 15_000)
    with pytest.raises(InputRefused) as caught:
        registry.check_head(path, registry.Limits())
    assert caught.value.defects[0].line == 2


def test_the_format_can_be_given(tmp_path):
    path = source(tmp_path, text(HEADER, SEND))
    head = registry.check_head(path, SMALL, format="native")
    assert (head.format, head.reason) == ("native", "The format was given as native.")
    with pytest.raises(InputRefused):
        registry.check_head(path, SMALL, format="cos418")


def test_parquet_and_cos418_are_recognised(tmp_path, shared_data):
    table = pa.table({"process": ["A"], "kind": ["internal"]})
    path = tmp_path / "log"
    pq.write_table(table.replace_schema_metadata({"cutline": dumps(HEADER)}), path)
    assert registry.check_head(path, SMALL).format == "parquet"
    log = shared_data / "cos418/original/2nodes-message.log.jsonl"
    head = registry.check_head(log, SMALL)
    assert (head.format, head.header.time_unit) == ("cos418", "tick")

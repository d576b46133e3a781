"""How an input finds its reader."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from orjson import dumps

from snapshots.readers import recognition
from snapshots.readers.engines import registry
from snapshots.readers.formats.head import read_head
from snapshots.readers.formats.limits import Limits
from tests.readers.inputs import HEADER, SMALL, source, text
from tests.readers.logs.test_raft_trace import a_line


def parquet() -> bytes:
    table = pa.table({"process": ["A"], "kind": ["internal"]})
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"cutline": dumps(HEADER)}), file)
    return file.getvalue()


SAMPLES = {
    "native": text(HEADER),
    "parquet": parquet(),
    "cos418": text({"kind": "header", "format": "cos418-event-log"}),
    "shiviz": b'an event\nhost {"host":1}\n',
    "raft-trace": text(a_line("Ready", "1")),
    "jaeger": b'{"data": [{"traceID": "a", "spans": [{"traceID": "a", "spanID": "b"}]}]}',
    "p-trace": b'[{"type": "SendEvent", "details": {"sender": "A(1)"}}]',
    "vector-timestamps": text({"node": 0, "snapshot": 1, "vector": [1, 0]}),
    "json-clocks": text({"host": "a", "vc": {"a": 1}}),
}


@pytest.mark.parametrize("name", recognition.READERS)
def test_a_reader_recognises_its_own_format_alone(name, tmp_path):
    head = read_head(source(tmp_path, SAMPLES[name]), SMALL)
    recognising = [
        reader.name for reader in recognition.READERS.values() if reader.recognises(head)
    ]
    assert recognising == [name]


@pytest.mark.parametrize("name", recognition.READERS)
def test_a_reader_recognises_an_input_by_its_head_alone(name, tmp_path):
    path = source(tmp_path, SAMPLES[name])
    head = read_head(path, SMALL)
    path.unlink()
    assert registry.format_of(head, path.name) is None
    assert recognition.recognised(head).reader.name == name


def test_a_header_may_hold_what_looks_like_a_parser_expression(tmp_path):
    path = source(tmp_path, text(HEADER | {"name": "(?<host>)"}))
    assert recognition.sniff(path, SMALL).reader.name == "native"


def test_a_header_that_is_longer_than_the_head_is_read_to_its_end(tmp_path):
    head = read_head(source(tmp_path, text(b" ", HEADER | {"x": "y" * 2**17})), Limits())
    assert (head.first_line[0], head.fields["x"]) == (2, "y" * 2**17)


def test_the_first_bytes_are_kept_if_damage_follows(tmp_path):
    packed = gzip.compress(bytes(range(256)) * 3, 0)
    head = read_head(source(tmp_path, packed[:600]), SMALL)
    assert head.first(512) == bytes(range(256)) * 2
    with pytest.raises(type(head.fault)):
        head.first()

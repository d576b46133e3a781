"""Whatever bytes come, a reader gives events, defects or a refusal, never another error."""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import REFUSED, InputRefused
from snapshots.readers import recognition
from tests.effort import examples
from tests.readers.inputs import HEADER, RECEIVE, SEND, SMALL, read, source, text
from tests.readers.logs.test_cos418 import HEADER as COS418_HEADER
from tests.readers.logs.test_cos418 import RECEIVE as COS418_RECEIVE
from tests.readers.logs.test_cos418 import SEND as COS418_SEND
from tests.readers.logs.test_cos418 import START, STOP, log

RECORDS = [
    {"process": "A", "kind": "record_state", "snapshot": 1, "state": 5},
    {"process": "A", "kind": "marker_send", "channel": "A->B", "snapshot": 1},
    {"process": "B", "kind": "marker_receive", "channel": "A->B", "snapshot": 1},
    {"process": "B", "kind": "record_channel", "channel": "A->B", "snapshot": 1, "messages": ["m"]},
]


def _parquet() -> bytes:
    table = pa.Table.from_pylist([{k: str(v) for k, v in SEND.items() if k in ("process", "kind")}])
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"cutline": json.dumps(HEADER)}), file)
    return file.getvalue()


NATIVE = text(HEADER, SEND, RECEIVE, *RECORDS)
SEEDS = {
    "native": NATIVE,
    "gzip": gzip.compress(NATIVE),
    "zstd": zstandard.compress(NATIVE),
    "cos418": log(COS418_SEND, START, COS418_RECEIVE, STOP),
    "parquet": _parquet(),
}
edits = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.sampled_from(["replace", "insert", "delete", "cut", "repeat"]),
        st.binary(max_size=6) | st.sampled_from([b"\n", b"null", b"-1", b"1e999", b'"A"', b"[]"]),
    ),
    min_size=1,
    max_size=5,
)


def edited(data: bytes, steps) -> bytes:
    for place, step, patch in steps:
        at = place % (len(data) + 1)
        if step == "replace":
            data = data[:at] + patch + data[at + len(patch) :]
        elif step == "insert":
            data = data[:at] + patch + data[at:]
        elif step == "delete":
            data = data[:at] + data[at + 1 + len(patch) :]
        elif step == "cut":
            data = data[:at]
        else:
            data = data[:at] + data[at // 2 : at] + data[at:]
    return data


def read_or_refuse(path, format=None):
    """Read and assemble a file; a refusal must have refused defects with sentences."""
    try:
        header, events, _ = read(path, SMALL, format)
        return assemble(header, events)
    except InputRefused as caught:
        refused = caught
    assert refused.defects[0].severity == REFUSED
    assert refused.defects[0].sentence.endswith((".", "?"))
    assert refused.total >= 1
    return None


@pytest.mark.parametrize("seed", SEEDS)
@settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=edits)
def test_damaged_bytes_are_read_or_refused(tmp_path, seed, steps):
    path = source(tmp_path, edited(SEEDS[seed], steps))
    read_or_refuse(path)
    for format in recognition.names():
        read_or_refuse(path, format)


def test_a_dictionary_index_that_points_nowhere_is_refused(tmp_path):
    steps = [(1733, "repeat", b""), (1736, "replace", b"\x01")]
    assert read_or_refuse(source(tmp_path, edited(SEEDS["parquet"], steps)), "parquet") is None


VALUES = [None, True, -1, 0, 1.5, 2**63, "A", "A->B", "", [], [1], {}, {"a": None}, "\x00", "é"]


@pytest.mark.parametrize(
    ("header", "seed"), [(HEADER, RECORDS + [SEND, RECEIVE]), (COS418_HEADER, None)]
)
@settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_json_in_any_field_is_read_or_refused(tmp_path, header, seed, data):
    lines = seed or [json.loads(line) for line in SEEDS["cos418"].splitlines()[1:]]
    lines = [dict(line) for line in [header, *lines]]
    for _ in range(data.draw(st.integers(1, 3))):
        line = data.draw(st.sampled_from(lines))
        line[data.draw(st.sampled_from(sorted(line)))] = data.draw(st.sampled_from(VALUES))
    path = source(tmp_path, text(*lines))
    read_or_refuse(path)
    read_or_refuse(path, "native")
    read_or_refuse(path, "cos418")


def test_undamaged_bytes_are_read(tmp_path):
    for name, seed in SEEDS.items():
        if name != "parquet":
            assert read_or_refuse(source(tmp_path, seed)) is not None, name

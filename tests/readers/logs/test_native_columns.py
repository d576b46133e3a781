"""Usual lines are read a column at a time, and end as if they were read one by one."""

import orjson
import pytest

from bench.recordings import simulation
from snapshots.domain.model.defects import REFUSED
from snapshots.domain.simulators.basic import simulate
from snapshots.readers.formats.numerals import written_out
from snapshots.readers.logs.columns import RAW
from snapshots.readers.logs.headers import parse_header
from snapshots.readers.logs.native import parse_each_line, write_lines
from snapshots.readers.logs.native_columns import Unusual, usual_lines
from tests.readers.inputs import HEADER, SMALL, text
from tests.readers.inputs import RECEIVE as RECEIVE_WITH_STATE
from tests.readers.inputs import SEND as SEND_WITH_STATE
from tests.readers.mutated import mutated

NAMED = parse_header(HEADER, 1, SMALL)
SEND = SEND_WITH_STATE | {"state": 9000}
RECEIVE = RECEIVE_WITH_STATE | {"state": 6000}
RECORDED = {"process": "B", "kind": "record_channel", "snapshot": "s1", "channel": "A->B"}


def assert_same_where_usual(data: bytes, header=NAMED) -> bool:
    """Compare both ways of reading; return whether the quick one took the lines."""
    try:
        batch = usual_lines(data, 7, header)
    except Unusual:
        return False
    each, defects = parse_each_line(data, 7, header)
    assert not [item for item in defects if item.severity == REFUSED]
    assert written_out(batch, RAW).equals(each)
    return True


def test_a_simulated_run_is_read_by_columns():
    run = simulation(3_000, seed=3, processes=8)
    lines = list(write_lines(run.header("run"), simulate(run)))
    header = parse_header(orjson.loads(lines[0]), 1, SMALL)
    assert assert_same_where_usual(b"".join(lines[1:]), header)


@pytest.mark.parametrize(
    "lines",
    [
        [SEND | {"message": 7, "value": -3}, RECEIVE | {"message": 7, "value": 2**63 - 1}],
        [SEND | {"value": 'é\u2028"', "state": "7"}, RECEIVE | {"value": "", "state": "0.10"}],
        [SEND | {"label": None, "at": None, "value": None}],
        [RECORDED | {"messages": ["m1", "m2"]}, RECORDED | {"messages": []}, SEND],
        [RECORDED | {"messages": [1, 2]}, SEND | {"message": 5}],
    ],
    ids=["numbers", "texts", "nulls", "contents", "numbered-contents"],
)
def test_usual_lines_are_taken(lines):
    assert assert_same_where_usual(text(*lines))


USUAL = text(SEND, RECEIVE)
AWKWARD = {
    "twice the same field": b'{"process":"A","process":"B","kind":"internal"}\n',
    "an object on two lines": USUAL + b'{"process":"A",\n"kind":"internal"}\n',
    "two objects on one line": USUAL + b'{"process":"A","kind":"internal"} ' + USUAL,
    "one on two lines and two on one": (
        b'{"process":"A",\n"kind":"internal"}\n'
        b'{"process":"A","kind":"internal"}{"process":"A","kind":"internal"}\n'
    ),
    "an end inside a text": b'{"process":"A","kind":"internal","label":"}\n{"}\n',
    "a blank line": USUAL + b"\n" + USUAL,
    "other line ends": USUAL.replace(b"\n", b"\r\n"),
    "not UTF-8": USUAL + b'{"process":"A","kind":"internal","label":"\xff"}\n',
    "half a surrogate": USUAL + b'{"process":"A","kind":"internal","label":"\\ud800"}\n',
    "NUL in a name": USUAL + text(RECORDED | {"snapshot": "a\x00", "messages": []}),
    "an empty id": text(SEND | {"message": ""}),
    "an empty id in a list": text(RECORDED | {"messages": ["m1", ""]}),
    "null in a list": text(RECORDED | {"messages": ["m1", None]}),
    "minus nothing": b'{"process":"A","kind":"internal","value":1}\n'
    b'{"process":"A","kind":"internal","value":-0}\n',
    "a fraction": text(SEND | {"value": 1}, SEND | {"value": 1.0}),
    "an exponent": b'{"process":"A","kind":"internal","at":1e3}\n',
    "a truth": text(SEND | {"value": 1}, SEND | {"value": True}),
    "beyond 2^63": text(SEND | {"value": 1}, SEND | {"value": 2**63}),
    "exactly -2^63": text(SEND | {"message": 1}, SEND | {"message": -(2**63)}),
    "an index below 0": text(SEND | {"index": -1}),
    "a mixed id": text(SEND | {"message": 1}, SEND | {"message": "1"}),
    "a state with parts": text(SEND, SEND | {"state": {"b": 1, "a": [2.5]}}),
    "a further field": text(SEND | {"colour": "red"}),
    "another kind": text(SEND | {"kind": "snooze"}),
    "another process": text(SEND | {"process": "Z"}),
    "no process": b'{"kind":"internal"}\n',
    "no object": b"[]\n",
    "not finite": b'{"process":"A","kind":"internal","value":NaN}\n',
    "nothing": b"",
    "no last line end": USUAL[:-1],
    "cut short": USUAL[:-9],
}


@pytest.mark.parametrize("before", [b"", USUAL * 20], ids=["first", "behind usual lines"])
@pytest.mark.parametrize("data", AWKWARD.values(), ids=AWKWARD)
def test_awkward_lines_end_alike(data, before):
    assert_same_where_usual(before + data)


def test_damaged_lines_end_alike():
    seeds = [
        text(SEND | {"label": "x" * 300}, RECEIVE, RECORDED | {"messages": ["m1"]}),
        text(SEND | {"message": 5, "value": 7, "state": 93}, RECEIVE | {"message": 5}),
    ]
    taken = [assert_same_where_usual(data) for data in mutated(seeds, 3_000)]
    assert 100 < sum(taken) < len(taken)

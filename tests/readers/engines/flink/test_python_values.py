"""States of PyFlink's worker processes, shown by the form of their bytes."""

import json
import zipfile
from pathlib import Path
from struct import pack

import pytest

from snapshots.domain.inventory.entries import StateEntry
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.python_values import NOTE, python_value

DATA = Path(__file__).resolve().parents[3] / "data" / "pyflink" / "process.zip"
SHOWN = {
    "count": 4,
    "total": 30,
    "last": [3, 6, 9, 12],
    "seen": [["odd", 9], ["even", 12]],
    "avg": [30, 4],
    "row": ["k0", 12],
}


def in_bytes(*arrays: bytes) -> list[dict[str, str]]:
    return [{"hex": array.hex()} for array in arrays]


def text(value: str) -> bytes:
    return pack(">i", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return pack(">q", value)


def entries(folder: Path) -> list[StateEntry]:
    with zipfile.ZipFile(DATA) as package:
        package.extractall(folder)
    return list(FlinkReader().read(folder).entries())


def test_the_states_of_a_real_worker_process_are_values(tmp_path):
    found = {
        one.state.removeprefix("python-state-"): one.value
        for one in entries(tmp_path)
        if one.key == ["k0"]
    }

    assert {name: found[name] for name in SHOWN} == SHOWN
    assert found["ttl"][0]["userValue"] == "k0"
    assert found["pickled"]["pickle"]["hex"].startswith("8004")


def test_a_real_broadcast_state_of_python_is_a_map(tmp_path):
    found = [one.value for one in entries(tmp_path) if one.state == "python-state-rules"]

    assert found == [[["rule1", 1], ["rule0", 0]]] * 4


def test_the_operator_says_that_the_form_was_recognised(tmp_path):
    with zipfile.ZipFile(DATA) as package:
        package.extractall(tmp_path)
    upload = FlinkReader().read(tmp_path)
    list(upload.entries())
    operators = [
        one for checkpoint in upload.inventory().checkpoints for one in checkpoint.operators
    ]

    assert {one.name for one in operators if NOTE in one.notes} == {"everything", "ruled"}


@pytest.mark.parametrize(
    ("arrays", "shown"),
    [
        ([number(-7)], -7),
        ([text("Zürich")], "Zürich"),
        ([number(1), number(2)], [1, 2]),
        ([text("a") + text("b")], ["a", "b"]),
        ([b"\0" + text("k") + number(3)], ["k", 3]),
        ([b"\x10" + text("k")], ["k", None]),
        ([b"\x20" + number(3)], [None, 3]),
    ],
)
def test_a_form_that_fits_to_the_last_byte_is_shown(arrays, shown):
    assert python_value(in_bytes(*arrays)) == shown


def test_two_ints_look_like_one_long_and_the_note_says_so():
    assert python_value(in_bytes(pack(">ii", 1, 2))) == 2**32 + 2
    assert "two INT are shown as one LONG" in NOTE


@pytest.mark.parametrize(
    "array",
    [
        b"",
        b"\x01\x02\x03",
        pack(">d", 1.5),
        text("k")[:-1],
        b"\x07" + number(3),
        pack(">i", 3) + b"\xff\xfe\xfd",
        b"\0" * 5000,
    ],
)
def test_bytes_of_no_known_form_stay_bytes(array):
    assert python_value(in_bytes(array)) == in_bytes(array)


def test_a_pickle_is_shown_as_bytes_and_never_loaded():
    pickle = b"\x80\x04cos\nsystem\n."

    shown = python_value(in_bytes(pack(">i", len(pickle)) + pickle))

    assert shown == {"pickle": {"hex": pickle.hex()}}
    assert json.dumps(shown)

"""Timers that Flink keeps in raw keyed state, and raw keyed state of other forms."""

import zipfile
from pathlib import Path

import pytest

from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.handles import NO_DATA, Inline, KeyGroups
from snapshots.readers.engines.flink.keyed.raw_timers import read_raw_timers
from snapshots.readers.formats.opaque import Opaque
from tests.readers.engines.flink import types
from tests.readers.engines.flink.writing import i32, i64, utf

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-sources" / "raw-timers.zip"
MAGIC = bytes.fromhex("f1cd859f")
FAR = 4_102_444_800_000
NAMESPACE = "org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot"


def a_group(*timers: int, key=types.SIMPLE_KINDS[0].snapshot) -> bytes:
    """Write a key group whose timers have keys 7."""
    service = utf("user-timers") + key + types.simple_snapshot(NAMESPACE)
    events = b"".join(i64(7) + b"\0" + i64(time) for time in timers)
    return MAGIC + i32(2, 1) + service + i32(len(timers)) + events + i32(0)


def read(*groups: bytes):
    """Read key groups from the third on; an empty one has no data."""
    offsets, data = [], b""
    for group in groups:
        offsets.append(len(data) if group else NO_DATA)
        data += group
    handle = KeyGroups(3, tuple(offsets), Inline("raw", data))
    return read_raw_timers(handle, data)


def test_the_timers_of_a_real_job_on_rocksdb_are_shown(tmp_path):
    with zipfile.ZipFile(DATA) as package:
        package.extractall(tmp_path)
    upload = FlinkReader().read(tmp_path)
    entries = [one for one in upload.entries() if one.state.startswith("_timer_state/")]
    inventory = upload.inventory()

    assert sorted((one.state[13:], one.key, one.value) for one in entries) == [
        *(("event_user-timers", f"key{n}", FAR + n) for n in range(5)),
        *(("processing_user-timers", f"key{n}", FAR + 100_000) for n in range(5)),
    ]
    notes = [note for one in inventory.checkpoints[0].operators for note in one.notes]
    assert notes == ["Flink keeps the timers of this operator in raw keyed state."]


def test_a_key_group_without_data_has_no_timers():
    state = read(b"", a_group(5, 6))

    assert [(one.key_group, one.key, one.value) for one in state.entries] == [(4, 7, 5), (4, 7, 6)]
    assert [one.name for one in state.states] == [
        "_timer_state/event_user-timers",
        "_timer_state/processing_user-timers",
    ]


@pytest.mark.parametrize("data", [b"", b"own form", MAGIC[:3]])
def test_raw_keyed_state_of_another_form_is_not_taken_for_timers(data):
    assert read(data) is None


def test_damage_in_one_key_group_leaves_the_others():
    state = read(a_group(5)[:-9], a_group(6))

    lost, timer = state.entries
    assert isinstance(lost.value, Opaque)
    assert timer.value == 6
    assert state.notes.damage


def test_timers_of_an_unknown_class_of_keys_stay_bytes():
    own = utf("com.example.OwnSnapshot") + i32(1)
    [lost] = read(a_group(5, key=own)).entries

    assert "com.example.OwnSnapshot is unknown" in lost.value.reason

"""Sources and sinks of real jobs: what waits, what is written, and what is to be committed."""

import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.enumerators import enumerator_of, shown, waiting_of
from snapshots.readers.engines.flink.sink_values import COMMITTER, WRITER, sink_value
from snapshots.readers.engines.flink.splits import position_of
from tests.readers.engines.flink.test_splits import a_split, numbers
from tests.readers.engines.flink.writing import i32, i64, utf

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-sources"


def entries(case: str, folder: Path) -> dict[tuple[str, str], list]:
    """Return the values of each state, by the uid of the operator and its name."""
    with zipfile.ZipFile(DATA / f"{case}.zip") as package:
        package.extractall(folder)
    upload = FlinkReader().read(folder)
    found = list(upload.entries())
    uids = {one.id: one.uid for held in upload.inventory().checkpoints for one in held.operators}
    values: dict[tuple[str, str], list] = {}
    for entry in found:
        values.setdefault((uids[entry.operator], entry.state), []).append(entry.value)
    return values


def test_files_of_a_real_source_wait_in_its_enumerator(tmp_path):
    held = entries("files", tmp_path)

    [coordinator] = held["lines", "coordinator"]
    assert len(coordinator["waiting"]) == 8
    assert coordinator["waiting"][0].endswith("has not been begun: all of it is read.")
    assert len(coordinator["found before"]) == 12
    positions = [value["position"] for value in held["lines", "SourceReaderState"]]
    assert [text.split(", ")[1:] for text in positions] == [
        ["bytes 0 to 2,090", "goes on 87 records after its beginning."],
        ["bytes 0 to 2,290", "goes on 87 records after its beginning."],
    ]


def test_real_file_sinks_show_what_is_written_and_what_waits_for_its_commit(tmp_path):
    held = entries("files", tmp_path)

    assert [value["inProgress"]["bytes"] for value in held["archive", WRITER]] == [2950, 3037]
    assert [value["inProgress"] for value in held["daily", WRITER]] == [None, None]
    commits = [
        (checkpoint["checkpoint"], subtask["subtask"], commit["pending"]["bytes"])
        for value in held["Sink Committer: daily", COMMITTER]
        for checkpoint in value["checkpoints"]
        for subtask in checkpoint["subtasks"]
        for commit in subtask["commits"]
    ]
    assert commits == [(7, 0, 310), (7, 1, 341)]
    [first, _] = held["Sink Committer: archive", COMMITTER]
    [commit] = first["checkpoints"][0]["subtasks"][0]["commits"]
    assert commit["inProgressToCleanUp"]["bytes"] == 2640


def test_a_real_hybrid_source_says_which_source_it_reads(tmp_path):
    first = entries("hybrid-first", tmp_path / "first")
    second = entries("hybrid-second", tmp_path / "second")

    [coordinator] = first["both", "coordinator"]
    assert (coordinator["source"], len(coordinator["waiting"])) == (1, 4)
    assert all(
        value["position"].endswith("beginning. It is of source 1 of the hybrid source.")
        for value in first["both", "SourceReaderState"]
    )
    [coordinator] = second["both", "coordinator"]
    assert (coordinator["source"], coordinator["waiting"]) == (2, [])


def a_coordinator(version: int, body: bytes) -> bytes:
    return i32(1, version, len(body)) + body


def test_partitions_of_a_kafka_source_wait_until_a_reader_has_them():
    body = i32(2) + utf("orders") + i32(0, 0) + utf("orders") + i32(1, 1) + b"\1"
    data = a_coordinator(2, body)

    assert enumerator_of(data).assigned == ("orders-0",)
    [waiting] = waiting_of(data)
    assert (waiting.split, waiting.next) == ("orders-1", None)
    assert waiting.sentence == "Partition 1 of the topic orders waits for a reader."
    assert shown(a_coordinator(2, body[:-1])) is None


def test_a_split_that_is_not_known_makes_the_enumerator_unknown():
    split = struct.pack("<I", 4) + b"odd!"
    body = struct.pack("<IIII", 0xDEADBEEF, 1, 1, 0) + split
    assert enumerator_of(a_coordinator(1, body)) is None
    hybrid = i32(0) + utf("7") + i32(1, 4) + b"odd!"
    assert position_of(a_split(0, hybrid)) is None


def test_a_hybrid_source_of_numbers_goes_on_with_a_number():
    inner = numbers("3", 5, 9)
    position = position_of(a_split(0, i32(1) + utf("3") + i32(1, len(inner)) + inner))
    assert (position.next, position.end) == (5, 9)
    assert position.sentence.endswith("up to 9. It is of source 2 of the hybrid source.")


def test_hybrid_sources_in_hybrid_sources_are_not_read_however_deep_they_nest():
    inner = numbers("3", 5, 9)
    split = a_split(1, inner)
    coordinator = i32(1, 4) + i32(0)
    for depth in range(2_000):
        split = a_split(0, i32(1) + utf("3") + split)
        coordinator = i32(0, 4 + len(coordinator)) + i32(1) + coordinator
        if not depth:
            assert position_of(split).next == 5
            assert enumerator_of(i32(1) + coordinator).source == 1
    assert position_of(split) is None
    assert enumerator_of(i32(1) + coordinator) is None


def versioned(version: int, body: bytes) -> bytes:
    return i32(version, len(body)) + body


def listed(version: int, *elements: bytes) -> bytes:
    return i32(version, len(elements)) + b"".join(i32(len(one)) + one for one in elements)


def committed(committable: bytes, retries: int = 0, state: int = 0) -> bytes:
    subtask = i32(1) + listed(0, committable + i32(retries, state)) + i32(1, 0)
    checkpoint = i64(7) + i32(2) + listed(2, subtask)
    return versioned(2, bytes.fromhex("b91f252c") + listed(1, checkpoint))


def test_transactions_of_a_kafka_sink_wait_for_their_commit():
    transaction = versioned(1, b"\0\5" + i64(4711) + utf("bank-0-7"))
    value = sink_value(COMMITTER, committed(transaction, 2, 1))
    [commit] = value["checkpoints"][0]["subtasks"][0]["commits"]
    assert commit == {
        "transactionalId": "bank-0-7",
        "producerId": 4711,
        "epoch": 5,
        "retries": 2,
        "state": "retry",
    }


def test_what_another_sink_commits_stays_bytes():
    value = sink_value(COMMITTER, committed(versioned(4, b"odd")))
    [commit] = value["checkpoints"][0]["subtasks"][0]["commits"]
    assert commit == {"hex": b"odd".hex()}


def test_the_writer_of_a_kafka_sink_has_a_prefix_and_its_transactions():
    assert sink_value(WRITER, versioned(1, utf("bank"))) == {"transactionalIdPrefix": "bank"}
    own = utf("bank") + i32(0, 2, 1, 1) + utf("bank-0-7") + i64(7)
    assert sink_value(WRITER, versioned(2, own)) == {
        "transactionalIdPrefix": "bank",
        "ownedSubtask": 0,
        "ofSubtasks": 2,
        "ownership": "explicit by the state of the writer",
        "transactions": [{"transactionalId": "bank-0-7", "checkpoint": 7}],
    }


@pytest.mark.parametrize("state", [WRITER, COMMITTER])
@pytest.mark.parametrize("data", [b"", b"odd", i32(3, 0), i32(2, 4) + b"odd!"])
def test_bytes_of_no_known_form_have_no_value(state, data):
    assert sink_value(state, data) is None


@settings(deadline=None)
@given(data=st.binary(max_size=64), version=st.integers(0, 3))
def test_any_bytes_are_read_or_not_and_nothing_is_raised(data, version):
    sink_value(WRITER, versioned(version, data))
    sink_value(COMMITTER, versioned(version, bytes.fromhex("b91f252c") + data))
    shown(a_coordinator(version, data))
    shown(a_coordinator(1, struct.pack("<I", 0xDEADBEEF) + data))

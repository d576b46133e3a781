"""Which uploads are SeaTunnel's, and those that are huge, odd or damaged."""

import contextlib
import json
import zipfile

import pytest

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.base import Beginnings
from snapshots.readers.engines.registry import recognise
from snapshots.readers.engines.seatunnel.adapter import checkpoints as engine_checkpoints
from snapshots.readers.engines.seatunnel.adapter import graph as engine_graph
from snapshots.readers.engines.seatunnel.adapter import inventory as engine_inventory
from snapshots.readers.engines.seatunnel.adapter.reader import SeaTunnelReader
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from snapshots.readers.logs.native import write_lines
from snapshots.store.inventory.writing import write_inventory
from tests.readers import inputs
from tests.readers.engines.seatunnel.engine import (
    GRAPH,
    NAMES,
    SOURCE,
    a_file,
    a_vertex,
    an_answer,
    assembled,
    derived,
    listed,
    named,
    upload_of,
)
from tests.readers.engines.seatunnel.test_seatunnel import a_name, a_state, an_action, save
from tests.readers.mutated import mutated


@pytest.mark.parametrize(
    ("names", "start", "known"),
    [
        (["5/1714521610157-807-1-1.ser"], b"", True),
        (["vectors/completed.ser", "readme"], b"", True),
        (["object.ser"], b"\xac\xed\x00\x05sr", False),
        (["state/job-info-5.json"], b"", True),
        (["answer.json"], b'{"jobId":"5","updatedAt":17,"pipelines":[', True),
        (["answer"], json.dumps(GRAPH).encode()[:512], True),
        (["answer"], b'[{"pipelineId":1,"checkpoint":{', True),
        (["answer"], b'{"jid":"ab","name":"x","vertices":[', False),
        (["chk-1/_metadata"], b"", False),
        (["log.jsonl"], b'{"kind":"header","format":"cutline"', False),
    ],
)
def test_what_is_recognised(names, start, known):
    assert (
        SeaTunnelReader().recognises(Beginnings(tuple(names), lambda _: start)) is not None
    ) is known


def test_an_archive_of_a_case_is_recognised(shared_data, tmp_path):
    archive = shared_data / "seatunnel" / f"{NAMES[1]}.zip"
    found = unpack(archive, tmp_path / "case", PackageLimits())
    recognised = recognise(tmp_path / "case", found.files, "archive")
    assert isinstance(recognised.reader, SeaTunnelReader)
    assert "named as SeaTunnel names" in recognised.reason


def test_too_many_subtasks_are_drawn_as_one_and_listed_up_to_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_graph, "MOST_TASKS", 20)
    monkeypatch.setattr(engine_inventory, "MOST_SUBTASKS", 2000)
    many = [an_action(a_name(SOURCE), [a_state(0, b"x"), 900], a_state(-1, b"y"), 901)]
    upload = upload_of(save(tmp_path, {named(n): a_file(n, actions=many) for n in range(5)}))
    header, events = derived(upload)
    assert [process.id for process in header.topology.processes] == [
        "Source[0]-Fake.enumerator", "Source[0]-Fake[0]", "coordinator",
    ]  # fmt: skip
    assert len(events) < 60
    operators = [item.operators[0] for item in upload.inventory().checkpoints]
    assert sum(len(operator.subtasks) for operator in operators) == 2000
    assert "not listed" in operators[-1].notes[0]
    assert assembled(upload).defects == ()


def test_a_long_list_of_checkpoints_is_cut_with_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_checkpoints, "MOST_LISTED", 2)
    answer = an_answer(*(listed(id, "FAILED", id) for id in range(5)))
    found = upload_of(save(tmp_path, {"checkpoints.json": answer})).inventory()
    assert len(found.checkpoints) == 2
    assert "3 more checkpoints" in found.notes[0]


def test_odd_names_and_times_leave_a_recording_that_can_be_stored(tmp_path):
    odd = an_action(a_name("coordinator\x00" + "x" * 2000), [a_state(0, b"x")])
    twice = [an_action(12, [a_state(0, b"x")]), an_action(12, [a_state(0, b"y")])]
    files = {
        named(1): a_file(1, at=-(2**62), actions=[odd, *twice]),
        named(2): a_file(2, at=2**62, actions=[odd], vertices=[a_vertex(-4, 5)]),
    }
    header, events = derived(upload_of(save(tmp_path, files)))
    log = inputs.source(tmp_path, b"".join(write_lines(header, events)))
    again, read, _ = inputs.read(log)
    assert len(read) == len(events)
    assemble(again, read)
    write_inventory(tmp_path, upload_of(tmp_path))


def test_damaged_files_are_described_or_refused(shared_data, tmp_path):
    seeds = [json.dumps(GRAPH).encode(), an_answer(listed(8, "FAILED"), listed(9, "COMPLETED"))]
    for name in NAMES:
        with zipfile.ZipFile(shared_data / "seatunnel" / f"{name}.zip") as opened:
            seeds += [opened.read(n) for n in opened.namelist() if n.endswith(".ser")]
    read = 0
    for number, data in enumerate(mutated(seeds)):
        suffix = "json" if number % len(seeds) < 2 else "ser"
        with contextlib.suppress(InputRefused):
            folder = save(tmp_path / str(number), {f"file.{suffix}": data})
            upload = upload_of(folder)
            assert all(entry.bytes >= 0 for entry in upload.entries())
            header, events = derived(upload)
            again, logged, _ = inputs.read(
                inputs.source(tmp_path, b"".join(write_lines(header, events))),
                inputs.Limits(),
            )
            assemble(again, logged)
            write_inventory(folder, upload)
            read += 1
    assert read > 20

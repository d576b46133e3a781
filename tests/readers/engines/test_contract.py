"""Every engine of the registry gives what snapshots/readers/engines/README.md lists."""

import re
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path

import pytest
from django.conf import settings
from orjson import loads

from snapshots.domain.assembling.assembly import assemble
from snapshots.domain.inventory.entries import NotRead, StateEntry
from snapshots.domain.inventory.model import STATUSES, UploadInventory
from snapshots.domain.judging.findings import CONSISTENT
from snapshots.domain.judging.verdicts import judge
from snapshots.domain.model.defects import Defects, InputRefused
from snapshots.domain.model.derived import WHY_EMPTY, WHY_UNKNOWN, is_derived
from snapshots.readers import engines, recognition
from snapshots.readers.engines import base, registry
from snapshots.readers.engines.base import Beginnings, EngineUpload
from snapshots.readers.formats.limits import Limits
from snapshots.readers.formats.unpacking.packages import PackageLimits, unpack
from snapshots.readers.logs.native import write_lines
from tests.hostile import seeds

CASES = {
    "flink": ("flink/v5-unaligned-bank", "flink/two-pipelines", "flink-legacy/flink1.18-sql-join"),
    "spark-streaming": (
        "spark-streaming/incident-state-ahead.zip",
        "spark-streaming/damaged-missing-delta.zip",
        "spark-streaming/union-three-sources.zip",
    ),
    "seatunnel": (
        "seatunnel/real-wire-vectors.zip",
        "seatunnel/synthetic-two-pipelines-idle-reader.zip",
    ),
}
"""Small real uploads of each engine of the registry, below the shared data."""

HERE = Path(__file__).parent
ROOM = Path(engines.__file__).parent
FORMATS = Path(settings.BASE_DIR) / "docs" / "formats"


def test_every_engine_has_cases():
    assert set(CASES) == set(registry.READERS)


def members(*protocols: type) -> set[str]:
    return {name for one in protocols for name in vars(one) if not name.startswith("_")}


def test_the_readme_lists_exactly_what_the_protocols_ask_for():
    rows = re.findall(r"^\| (`.*?) \|", (ROOM / "README.md").read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)[(`]", row)}
    protocols = (base.EngineReader, base.EngineUpload, base.TellsTimes, base.TellsTypes)
    assert listed == members(*protocols)


@pytest.mark.parametrize("engine", registry.READERS)
def test_an_engine_has_a_name_a_reader_an_adapter_and_tests_in_folders_of_its_own(engine):
    reader = registry.READERS[engine]
    assert reader.name == engine
    assert reader.title
    assert members(base.EngineReader) <= set(dir(reader))
    folder = engine.replace("-", "_")
    assert type(reader).__module__ == f"{engines.__name__}.{folder}.adapter.reader"
    assert {"entries.py", "events.py", "inventory.py"} <= {
        path.name for path in (ROOM / folder / "adapter").iterdir()
    }
    assert list((HERE / folder).glob("test_*.py"))


@pytest.mark.parametrize("engine", registry.READERS)
def test_an_engine_has_a_page_and_hostile_seeds(engine):
    assert f"({engine}.md)" in (FORMATS / "README.md").read_text()
    assert (FORMATS / f"{engine}.md").is_file()
    assert engine in seeds.FORMATS


@dataclass(frozen=True)
class Case:
    """An upload that was read, with its entries."""

    folder: Path
    upload: EngineUpload
    entries: list[StateEntry]
    inventory: UploadInventory


EVERY_CASE = [(engine, case) for engine, own in CASES.items() for case in own]


@pytest.fixture(scope="module", params=EVERY_CASE, ids=lambda pair: pair[1])
def case(request, shared_data, tmp_path_factory):
    engine, name = request.param
    folder = shared_data / name
    if folder.suffix == ".zip":
        folder = tmp_path_factory.mktemp("engine") / "files"
        unpack(shared_data / name, folder, PackageLimits())
    recognised = registry.recognise(folder, tuple(files_below(folder)), registry.PACKAGE)
    assert recognised.reader is registry.READERS[engine]
    upload = recognised.reader.read(folder)
    assert members(EngineUpload) <= set(dir(upload))
    return Case(folder, upload, list(upload.entries()), upload.inventory())


def files_below(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files)


def test_what_no_engine_wrote_is_recognised_by_none():
    readers = registry.READERS.values()
    files = Beginnings(("a.txt", "b.txt"), lambda _: b"")
    assert not any(reader.recognises(files) for reader in readers)


@pytest.mark.parametrize("engine", registry.READERS)
def test_an_upload_without_anything_readable_is_refused(engine, tmp_path):
    (tmp_path / "note.txt").write_text("nothing of an engine's")
    with pytest.raises(InputRefused):
        registry.READERS[engine].read(tmp_path)


def test_entries_are_of_states_in_the_inventory(case):
    for entry in case.entries:
        checkpoint = case.inventory.checkpoints[entry.checkpoint]
        [operator] = [one for one in checkpoint.operators if one.id == entry.operator]
        assert entry.state in {state.name for state in operator.states}
        for part in (entry.key, entry.value):
            assert not isinstance(part, NotRead) or part.reason


def test_entries_of_an_operator_of_a_checkpoint_come_together(case):
    places = [place for place, _ in groupby((one.checkpoint, one.operator) for one in case.entries)]
    assert len(places) == len(set(places))


def test_channels_have_the_bytes_that_the_inventory_announces(case):
    announced = {
        (number, channel.number): channel.bytes
        for number, checkpoint in enumerate(case.inventory.checkpoints)
        for channel in checkpoint.channels
    }
    given = {(one.checkpoint, one.number): len(one.data) for one in case.upload.channel_bytes()}
    assert given == announced


def test_the_inventory_uses_the_words_of_every_engine(case):
    jobs = {job.key for job in case.inventory.jobs}
    for one in case.inventory.checkpoints:
        assert one.status in STATUSES
        assert one.job in jobs
        assert one.why_empty in {None, *WHY_EMPTY.values()}
        assert one.why_unknown in {None, *WHY_UNKNOWN.values()}
        assert one.why_empty or one.why_unknown
    notes = chain(case.inventory.notes, *(one.notes for one in case.inventory.checkpoints))
    assert all(note.endswith(".") for note in notes)


def test_every_file_is_listed_once(case):
    assert sorted(file.path for file in case.inventory.files) == files_below(case.folder)
    numbers = range(len(case.inventory.checkpoints))
    for file in case.inventory.files:
        assert file.role
        assert set(file.checkpoints) <= set(numbers)


def test_the_derived_recording_is_a_native_log_without_a_defect(case, tmp_path):
    header, events = case.upload.recording()
    log = tmp_path / "derived.jsonl"
    log.write_bytes(b"".join(write_lines(header, events)))
    reader, defects = recognition.READERS["native"], Defects()
    again = reader.header(log, Limits())
    logged = list(recognition.events(reader, log, again, Limits(), defects))
    assert is_derived(again.extra)
    assert again.extra["engine"] == case.inventory.engine
    assert all(loads(event.extra)["derived"] is True for event in logged)
    assembly = assemble(again, logged)
    assert [*defects.listed, *assembly.defects] == []


def test_the_snapshots_of_the_derived_recording_are_checkpoints_and_none_is_consistent(case):
    header, events = case.upload.recording()
    reports = judge(assemble(header, events).recording)
    assert reports
    names = {one.snapshot or str(one.id) for one in case.inventory.checkpoints}
    assert {report.snapshot for report in reports} <= names
    assert all(report.verdict != CONSISTENT for report in reports)

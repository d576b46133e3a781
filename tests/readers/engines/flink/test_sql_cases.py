"""The state of real SQL jobs and operators, compared with what Flink's own classes read."""

import json
import zipfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from snapshots.domain.inventory.restore_check import RESTORABLE
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.keyed.entries import Entry
from snapshots.readers.engines.flink.upload import read_upload

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-sql"
CASES = tuple(sorted(path.stem for path in DATA.glob("*.zip")))
Place = tuple[str, int, str | None]  # operator, subtask, state


@dataclass(frozen=True)
class Stored:
    """The keyed state of one checkpoint of a case; only handles that Flink's classes read.

    Attributes:
        expected: how many entries Flink read in each state; a map is one for each of its keys.
        entries: what Cutline reads in each state.
        not_read: operator and subtask where Flink's classes did not read the handle.
    """

    folder: str
    expected: Counter[Place]
    entries: dict[Place, list[Entry]]
    not_read: set[tuple[str, int]]


def unpacked(case: str, folder: Path) -> Path:
    with zipfile.ZipFile(DATA / f"{case}.zip") as package:
        package.extractall(folder)
    return folder


@cache
def stored(case: str) -> tuple[Stored, ...]:
    with TemporaryDirectory() as folder:
        root = unpacked(case, Path(folder))
        truth = json.loads((root / "expected.json").read_text())
        upload = read_upload(root)
        return tuple(
            Stored(
                one.folder,
                _expected(_of(truth, one.folder)),
                _entries(upload, one),
                _not_read(_of(truth, one.folder)),
            )
            for one in upload.checkpoints()
        )


def _of(truth: dict, folder: str) -> dict:
    return next(own for name, own in truth.items() if folder.endswith(name))


def _expected(checkpoint: dict) -> Counter[Place]:
    counts: Counter[Place] = Counter()
    for operator in checkpoint["operators"]:
        for subtask in operator["subtasks"]:
            for handle in subtask.get("managedKeyedState") or ():
                for name, state in handle.get("states", {}).items():
                    counts[operator["id"], subtask["index"], name] += state.get(
                        "keys", state["entries"]
                    )
    return +counts


def _not_read(checkpoint: dict) -> set[tuple[str, int]]:
    return {
        (operator["id"], subtask["index"])
        for operator in checkpoint["operators"]
        for subtask in operator["subtasks"]
        for handle in subtask.get("managedKeyedState") or ()
        if "states" not in handle
    }


def _entries(upload, one) -> dict[Place, list[Entry]]:
    found: dict[Place, list[Entry]] = {}
    for keyed in checkpoint_state.keyed_states(upload, one):
        for entry in keyed.state.entries:
            place = keyed.operator.id, keyed.subtask.index, entry.state
            found.setdefault(place, []).append(entry)
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_state_has_as_many_entries_as_flink_reads(case):
    for one in stored(case):
        counts = {
            place: len(entries)
            for place, entries in one.entries.items()
            if place[:2] not in one.not_read
        }
        assert counts == dict(one.expected), one.folder


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_decoded_never_makes_a_restore_doubtful(case, tmp_path):
    upload = FlinkReader().read(unpacked(case, tmp_path))
    list(upload.entries())
    checks = [check for check in upload.restore_check().checks if check.path is not None]
    assert {check.answer for check in checks} == {RESTORABLE}

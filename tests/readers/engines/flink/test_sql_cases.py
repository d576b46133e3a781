"""The state of real SQL jobs and operators, compared with what Flink's own classes read."""

import json
import zipfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bench import flink_sql_table
from snapshots.domain.inventory.restore_check import RESTORABLE
from snapshots.readers.engines.flink import checkpoint_state
from snapshots.readers.engines.flink.adapter.reader import FlinkReader
from snapshots.readers.engines.flink.keyed.entries import Entry
from snapshots.readers.engines.flink.upload import read_upload

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-sql"
DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "formats" / "flink-sql.md"
CASES = tuple(sorted(path.stem for path in DATA.glob("*.zip")))
Place = tuple[str, int, str | None]  # operator, subtask, state


@dataclass(frozen=True)
class Stored:
    """The keyed state of one checkpoint of a case; only handles that Flink's classes read.

    Attributes:
        expected: how many entries Flink read in each state; a map is one for each of its keys.
        values: what Flink read, by state.
        entries: what Cutline reads in each state.
        not_read: operator and subtask where Flink's classes did not read the handle.
    """

    folder: str
    expected: Counter[Place]
    values: dict[Place, list[dict]]
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
                _values(_of(truth, one.folder)),
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


def _values(checkpoint: dict) -> dict[Place, list[dict]]:
    values: dict[Place, list[dict]] = {}
    for operator in checkpoint["operators"]:
        for subtask in operator["subtasks"]:
            for handle in subtask.get("managedKeyedState") or ():
                for name, state in handle.get("states", {}).items():
                    place = operator["id"], subtask["index"], name
                    values.setdefault(place, []).extend(state["values"])
    return values


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


OF_ITS_OWN_FORM = {  # the truth has the fields of Flink's classes, or bytes
    "internal-named-timers-map",
    "nfaStateName",
    "sharedBuffer-entries-with-lockable-edges",
    "sorted-map",
    "either",
    "cents",
    "base",
}


@pytest.mark.parametrize("case", CASES)
def test_every_value_is_the_one_that_flink_reads(case):
    differ = [
        (one.folder, place, value, entries[0].value)
        for one in stored(case)
        for place, values in one.values.items()
        if place[2] not in OF_ITS_OWN_FORM and not place[2].startswith("_timer_state")
        for value in values
        for entries in [[x for x in one.entries[place] if agree(value["key"], x.key)]]
        if not any(agree(value["value"], entry.value) for entry in entries)
    ]
    assert differ == []


def agree(truth: object, ours: object) -> bool:
    """Tell whether Cutline's form of a value has what the truth has."""
    if isinstance(ours, dict) and "binaryRow" in ours:
        if isinstance(truth, dict) and "binaryRow" in truth:
            return truth["binaryRow"] == ours["binaryRow"]
        fields = isinstance(truth, dict) and truth.get("fields")
        return fields is not False and agree(fields, ours["fields"])
    if isinstance(truth, dict) and isinstance(ours, dict):
        return all(
            agree(value, ours.get(_key(key)))
            for key, value in truth.items()
            if key not in ("hasTimestamp", "either", "optional", "uuid")
        )
    if isinstance(truth, dict) and isinstance(ours, list):
        return len(truth) == len(ours) and all(
            any(agree(_key(key), own) and agree(value, whole) for own, whole in ours)
            for key, value in truth.items()
        )
    if isinstance(truth, list) and isinstance(ours, dict):
        pairs = [list(pair) for pair in ours.items()]
        return agree(truth, list(ours.values())) or agree(truth, pairs)
    if isinstance(truth, list) and isinstance(ours, list):
        return len(truth) == len(ours) and all(
            any(agree(part, own) for own in ours) for part in truth
        )
    return truth == ours or _scalar(truth) == _scalar(ours)


def _key(key: str) -> object:
    return json.loads(key) if key[:1] in ('"', "{") else key


def _scalar(value: object) -> object:
    """Return a date or time of day as a number, and a variant's text as its value."""
    if isinstance(value, str):
        with suppress(ValueError):
            if value[:1] == "{":
                return json.loads(value)
            if len(value) == 10 and value[4] == "-":
                return (date.fromisoformat(value) - date(1970, 1, 1)).days
            if value[2:3] == ":":
                moment = datetime.fromisoformat(f"1970-01-01T{value}+00:00")
                return round(moment.timestamp() * 1000)
        return value.removesuffix("Z")
    return value


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_decoded_never_makes_a_restore_doubtful(case, tmp_path):
    upload = FlinkReader().read(unpacked(case, tmp_path))
    list(upload.entries())
    checks = [check for check in upload.restore_check().checks if check.path is not None]
    assert {check.answer for check in checks} == {RESTORABLE}


def test_the_documents_tell_of_every_case_and_no_more_than_is_decoded():
    counted = list(flink_sql_table.rows())
    lines = [line.split("|")[1:-1] for line in DOCUMENT.read_text().splitlines() if "%" in line]
    told = {
        line[0].strip(): tuple(int(cell.replace(",", "")) for cell in line[1:4])
        for line in lines
        if len(line) == 5
    }
    now = {row.case: row for row in (*counted, flink_sql_table.total(counted))}
    assert told.keys() == now.keys()
    for case, (states, entries, decoded) in told.items():
        assert (states, entries) == (now[case].states, now[case].entries), case
        assert decoded <= now[case].decoded, case


def test_a_view_of_an_aggregate_is_null_in_its_accumulator(tmp_path):
    """Its content lies in a state of its own; the accumulator has one byte for it."""
    queries = DATA.parent / "flink-sql-queries" / "aggregates.zip"
    with zipfile.ZipFile(queries) as package:
        package.extractall(tmp_path)
    views = [
        field["map"]
        for entry in FlinkReader().read(tmp_path).entries()
        if entry.state == "accState"
        for field in entry.value["fields"]
        if isinstance(field, dict) and "mapSize" in field
    ]
    assert views == [None] * 3

"""Whether a savepoint can be restored, held against what a real Flink 2.3 did with it."""

import json
import zipfile
from pathlib import Path

import pytest

from bench.real_restarts import RESTARTS
from bench.restart_cases import CASES, KEPT, cases_of
from snapshots.domain.inventory.restore_check import NOT_RESTORABLE, RESTORABLE
from snapshots.domain.model.defects import InputRefused
from snapshots.readers.engines.flink.adapter.reader import FlinkReader

DATA = Path(__file__).resolve().parents[3] / "data" / "flink-restarts"
DAMAGED = [
    (base, case)
    for base in KEPT
    for case in cases_of(base)
    if not case.changes and not case.name.startswith("metadata")
]


def damaged(base: str, case, folder: Path) -> str:
    """Return what Flink did with the damaged savepoint that is put into a folder."""
    with zipfile.ZipFile(DATA / f"{base}.zip") as package:
        package.extractall(folder)
    (metadata,) = folder.rglob("_metadata")
    case.damage(metadata.parent)
    return json.loads((DATA / f"{base}.json").read_text())[case.name]


@pytest.mark.parametrize(("base", "case"), DAMAGED, ids=lambda one: getattr(one, "name", one))
def test_flink_did_what_the_check_said(base, case, tmp_path):
    did = damaged(base, case, tmp_path)
    upload = FlinkReader().read(tmp_path)
    list(upload.entries())

    assert upload.restore_check().answer == (RESTORABLE if did == RESTARTS else NOT_RESTORABLE)


@pytest.mark.parametrize("base", ["sql", "python"])
@pytest.mark.parametrize("name", ["metadata-halved", "metadata-empty"])
def test_metadata_that_flink_refuses_is_refused_with_its_name(base, name, tmp_path):
    case = next(case for case in CASES if case.name == name)
    did = damaged(base, case, tmp_path)

    assert did != RESTARTS
    with pytest.raises(InputRefused, match="_metadata"):
        FlinkReader().read(tmp_path)

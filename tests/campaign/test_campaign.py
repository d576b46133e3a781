"""A short campaign, and the parts of it that tell a fault from none.

``python -m tests.campaign --strikes 200`` runs a long one and prints a table.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.campaign import checks
from tests.campaign.logs import BROKEN, samples
from tests.campaign.running import Campaign
from tests.campaign.strikes import read_only
from tests.campaign.system import System
from tests.campaign.watch import Wait, Watch, is_gone
from tests.campaign.work import Piece, differences
from tests.conftest import skip_or_fail

SHORT = (
    "kill child",
    "kill JVM",
    "lock database",
    "kill Redis",
    "fill disk",
    "kill everything",
)
KINDS = {
    "small": 3, "medium": 2, "damaged": 1, "simulation": 1, "restore": 2, "deletion": 2,
    "pieces": 2, "open": 2, "note": 2, "row": 1,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.spark
def test_nothing_is_lost_or_left_over_after_strikes_on_everything(tmp_path):
    (tmp_path / "data").mkdir()
    logs = tmp_path / "logs"
    campaign = Campaign(tmp_path / "data", threads=3, is_short=True, kinds=KINDS, logs=logs)
    report = campaign.run(SHORT)
    shown = [*(struck.row() for struck in report.strikes), *report.notes, *report.faults, logs]
    assert not report.faults, "\n".join(map(str, shown))
    assert [struck.name for struck in report.strikes] == list(SHORT)


def test_a_disk_can_be_mounted_for_the_strikes_that_need_one(tmp_path):
    system = System(tmp_path)
    if not system.mount_disk():
        skip_or_fail("No disk can be mounted here: the campaign neither fills nor locks one.")
    system.unmount_disk()


def test_a_store_can_be_made_read_only_for_a_while(tmp_path):
    system = System(tmp_path)
    if not system.mount_disk():
        skip_or_fail("No disk can be mounted here: the campaign neither fills nor locks one.")
    try:
        with read_only(tmp_path), pytest.raises(OSError, match="Read-only"):
            (tmp_path / "new").touch()
        (tmp_path / "new").touch()
    finally:
        system.unmount_disk()


def test_a_log_that_was_read_otherwise_is_told_from_one_that_was_not():
    sample = samples()["damaged"]
    expected = sample.expected
    counts = {name: expected[name] for name in ("events", "messages", "defects")}
    outcome = {"status": "ready", "counts": counts, "snapshots": expected["snapshots"]}
    assert differences(sample, outcome) == []
    assert expected["snapshots"][0]["verdict"] == "lost"
    assert differences(sample, outcome | {"counts": counts | {"events": 0}})
    assert differences(sample, outcome | {"snapshots": []})


def test_what_is_not_refused_and_should_be_is_noticed():
    broken = samples()[BROKEN]
    assert len(broken.content) > 8 * 2**20  # more than a request looks at
    assert differences(broken, {"status": "ready", "error": None})
    assert not differences(broken, {"status": "refused", "error": "/problems/wrong-type"})


class Book:
    """The part of Work that the comparison of pieces needs."""

    calm = {"small": {"status": "ready", "counts": 7}, "medium": {"status": "ready"}}

    def __init__(self, outcome: dict) -> None:
        self._outcome = outcome

    def outcome(self, client, piece: Piece) -> dict:
        return self._outcome

    def log_faults(self, piece: Piece) -> list[str]:
        return []


ACCEPTED = Piece("small", "small 1", recording=5, job=6)


@pytest.mark.parametrize(
    ("piece", "outcome", "recordings", "fault"),
    [
        (ACCEPTED, {"status": "ready", "counts": 7}, [5], None),
        (ACCEPTED, {"status": "ready", "counts": 8}, [5], "differs from the calm one"),
        (ACCEPTED, {"status": "failed", "counts": 7}, [5], "differs from the calm one"),
        (ACCEPTED, {}, [], "is gone"),
        (Piece("small", "small 2"), {"status": "ready", "counts": 7}, [9], None),
        (Piece("small", "small 2"), {"status": "failed"}, [9], "differs from the calm one"),
        (Piece("small", "small 2"), {}, [], None),
        (replace(ACCEPTED, is_deleted=True), {}, [], None),
        (replace(ACCEPTED, is_deleted=True), {}, [5], "was deleted and is there"),
    ],
)
def test_a_piece_of_work_is_compared_with_the_calm_one(piece, outcome, recordings, fault):
    found = checks.piece_faults(Book(outcome), None, replace(piece), recordings)
    assert not found if fault is None else fault in found[0]


def test_a_worker_that_ended_is_gone_and_one_that_lives_is_not():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text()
    worker = f"host/{child.pid}/{stat.rpartition(')')[2].split()[19]}"
    assert not is_gone(worker)
    assert is_gone(f"host/{child.pid}/1")
    child.communicate()
    assert is_gone(worker)


class Ready:
    def live_workers(self) -> int:
        return 1


def test_a_wait_ends_with_the_next_attempt(monkeypatch):
    watch = Watch(Ready())
    gone = "host/4194305/1"  # no machine has this process
    watch._look(10.0, 0.25, [(1, "running", gone, 1)])
    watch._look(12.0, 2.0, [(1, "running", gone, 1)])
    assert watch.ended == []
    watch._look(12.5, 0.5, [(1, "running", gone, 2)])
    assert watch.ended == [Wait(1, 1, 10.0, 2.0, 2.25)]

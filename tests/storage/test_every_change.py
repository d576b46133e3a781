"""Whatever change of the disk fails, all that was accepted is there, and a refusal says why.

The disk is a FUSE file system of our own (``faulty_disk.py``, with Debian's python3-pyfuse3). So a
fault reaches every process and every library that writes, also native ones, and it can do what a
shim of system calls cannot: let half of a write through, and take back what was not synced.
"""

import tempfile
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.storage import disk
from tests.storage.exhaustive import ACTS, cut_all, prepared, several
from tests.storage.playing import FAULTS, LOG_OF_SQLITE, play

EACH_TIME = {
    "ingest": ("torn", 0.7),
    "journal": ("full", 0.2),
    "pieces": ("read-only", 0.5),
    "rows": ("error", 0.3),
    "backup": ("power", 0.6),
    "restore": ("full", 0.4),
}
"""The sample of each run: a fault, and how far the act has come. It is always the same, so that a
run can be repeated; the long test has all."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def games():
    if not Path("/dev/fuse").exists():
        pytest.skip("this machine has no /dev/fuse")
    if reason := disk.why_not():
        skip_or_fail(reason)
    with (
        tempfile.TemporaryDirectory(prefix="cutline-disk-", dir=disk.in_memory()) as folder,
        several(Path(folder), 1) as made,
    ):
        yield made


@pytest.mark.parametrize("act", ACTS)
def test_what_was_accepted_is_there_after_a_fault_and_after_a_power_cut(games, act):
    """A change within the act fails; then, in another play, the power is cut after the last one."""
    [game] = games
    sound = prepared(game, act)
    fault, share = EACH_TIME[act]
    for cut in ((int(share * len(sound.changes)), fault), (len(sound.changes) + 1, "power")):
        assert play(game, sound, *cut).wrong == [], cut


def test_an_upload_whose_row_may_be_there_after_all_keeps_its_file(games):
    """SQLite has written the row and cannot sync it: the call is refused, and the row stays."""
    [game] = games
    sound = prepared(game, "ingest")
    of_upload = next(at for at, (kind, _) in enumerate(sound.changes, 1) if kind == "rename")
    synced = [
        at
        for at, (kind, path) in enumerate(sound.changes, 1)
        if at > of_upload and kind == "sync" and path.endswith(LOG_OF_SQLITE)
    ]
    outcome = play(game, sound, synced[0], "error")
    assert (outcome.word, outcome.wrong) == ("refused", [])


@pytest.mark.long
@pytest.mark.parametrize("turn", range(len(FAULTS)))
@pytest.mark.parametrize("act", ACTS)
def test_what_was_accepted_is_there_after_any_change_failed(games, act, turn):
    """Each change meets one fault in each turn, and in all turns each fault."""
    assert cut_all(games, act, [turn]).wrong == {}

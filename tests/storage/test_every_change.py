"""Whatever change of the disk fails, all that was accepted is there, and a refusal says why.

The disk is a FUSE file system of our own (``faulty_disk.py``, with Debian's python3-pyfuse3). So a
fault reaches every process and every library that writes, also native ones, and it can do what a
shim of system calls cannot: let half of a write through, and take back what was not synced.
"""

from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.storage import disk
from tests.storage.game import Game
from tests.storage.playing import FAULTS, Undisturbed, play, undisturbed

ACTS = ("ingest", "journal", "pieces", "rows", "backup", "restore")
HOLDING = ("rows", "backup", "restore")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    if not Path("/dev/fuse").exists():
        pytest.skip("this machine has no /dev/fuse")
    if reason := disk.why_not():
        skip_or_fail(reason)
    with Game(tmp_path_factory.mktemp("disk")) as made:
        yield made


def prepared(game: Game, act: str) -> Undisturbed:
    """Make the installation in which an act is played, and play it undisturbed."""
    game.empty()
    made = game.act("prepare", holding=act in HOLDING)
    [[token]] = made.told("token")
    if act == "restore":
        assert game.act("backup", token=token, so_far=[]).told("accepted")
        game.empty()
    game.keep()
    return undisturbed(game, act, token=token)


@pytest.mark.parametrize("act", ACTS)
def test_what_was_accepted_is_there_after_a_power_cut(game, act):
    """The power is cut after the last change: what was not synced is lost."""
    sound = prepared(game, act)
    assert play(game, sound, len(sound.changes) + 1, "power").wrong == []


@pytest.mark.long
@pytest.mark.parametrize("turn", range(len(FAULTS)))
@pytest.mark.parametrize("act", ACTS)
def test_what_was_accepted_is_there_after_any_change_failed(game, act, turn):
    """Each change meets one fault in each turn, and in all turns each fault."""
    sound = prepared(game, act)
    wrong = {}
    for at in range(1, len(sound.changes) + 1):
        fault = FAULTS[(at + turn) % len(FAULTS)]
        if complaints := play(game, sound, at, fault).wrong:
            wrong[at, fault, sound.changes[at - 1]] = complaints
    assert wrong == {}

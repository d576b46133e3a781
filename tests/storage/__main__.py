"""The game by hand: ``python -m tests.storage --games 4``.

Cuts every change of every act with one fault in each turn, and prints how that ended, by act, then
what was wrong; exits with 1 where something was. Each play stands in artifacts/storage.txt.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path

from tests.stack import ROOT, SHARED_TABLES
from tests.storage.disk import in_memory
from tests.storage.exhaustive import ACTS, HEAD, cut_all, several
from tests.storage.game import Game
from tests.storage.playing import FAULTS

PLAYS = ROOT / "artifacts" / "storage.txt"


def main() -> None:
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stops everything that was started
    PLAYS.parent.mkdir(exist_ok=True)
    began, wrong = time.monotonic(), {}
    print(HEAD, flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="cutline-disk-", dir=in_memory()) as folder,
        _games(Path(folder), asked.games) as games,
        PLAYS.open("w") as plays,
    ):
        for act in asked.acts:
            figures = cut_all(
                games, act, asked.turns, lambda line: print(line, file=plays, flush=True)
            )
            print(figures.row(), flush=True)
            wrong |= figures.wrong
    print(f"{time.monotonic() - began:.0f} s")
    print(*(f"WRONG: {where}: {faults}" for where, faults in wrong.items()), sep="\n")
    sys.exit(bool(wrong))


def _games(folder: Path, count: int) -> AbstractContextManager[list[Game]]:
    """Return games that copy one database with empty tables, which the first of them makes."""
    tables = folder / "tables"
    tables.mkdir()
    os.environ.setdefault(SHARED_TABLES, str(tables))
    return several(folder, count)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.storage", description=__doc__)
    parser.add_argument("--acts", nargs="+", choices=ACTS, default=ACTS)
    parser.add_argument("--games", type=int, default=4, help="side by side, on a disk each")
    parser.add_argument(
        "--turns",
        nargs="+",
        type=int,
        choices=range(len(FAULTS)),
        default=[0],
        help="which fault the first change meets, and each further one the next",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()

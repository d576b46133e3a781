"""The game: every change of an act meets a fault once, and what was accepted is there or its loss
is said."""

import json
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from tests.stack import ROOT, clean_environment, migrated_database
from tests.storage.disk import Disk

LASTING = ("full", "read-only")
PATIENCE_SECONDS = 1.0  # after which somebody mends a disk that stays full or read-only
ENDING_SECONDS = 240.0


class Game:
    """An installation on a disk that fails, and processes that work with it."""

    def __init__(self, folder: Path) -> None:
        self.disk = Disk(folder)
        self._folder = folder
        self._kept = folder / "kept"
        self._exchanged = 0
        self._tree = self.disk.mount / "tree"
        self.data = self._tree / "data"  # and backups beside it

    def __enter__(self) -> Self:
        self.disk.__enter__()
        self.data.mkdir(mode=0o700, parents=True)
        shutil.copy(migrated_database(), self.data)
        environment = clean_environment() | {
            "DATA_DIR": str(self.data),
            "DJANGO_SETTINGS_MODULE": "tests.storage.settings",
        }
        with (self._folder / "log").open("wb") as log:
            self._actors = subprocess.Popen(
                [sys.executable, "-m", "tests.storage.acting"],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                text=True,
            )
        self._line()
        self.empty()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._actors.stdin is not None
        self._actors.stdin.close()
        self._actors.wait(ENDING_SECONDS)
        self.disk.__exit__()

    def empty(self) -> None:
        """Let there be a new database and no data; backups stay."""
        data = self._below / self.data.name
        shutil.rmtree(data)
        (data / "uploads").mkdir(parents=True, mode=0o700)
        data.chmod(0o700)
        shutil.copy(migrated_database(), data)
        self._exchange(self._below)

    def keep(self) -> None:
        """Keep the installation as it is now, as where each play begins."""
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(self._below, self._kept)

    def put_back(self) -> None:
        """Let the installation be as it was kept."""
        self._exchange(self._kept)

    @property
    def _below(self) -> Path:
        return self.disk.below / self._tree.name

    def _exchange(self, source: Path) -> None:
        """Put a copy of a folder in the place of the data; the kernel knows nothing of its files.

        The names of files and folders on the disk are remembered by the kernel.
        """
        self._exchanged += 1
        new, old = f"new-{self._exchanged}", f"old-{self._exchanged}"
        shutil.copytree(source, self.disk.below / new)
        self._tree.rename(self.disk.mount / old)
        (self.disk.mount / new).rename(self._tree)
        shutil.rmtree(self.disk.below / old)

    def act(self, name: str, at: int = 0, fault: str = "", **given: Any) -> "Played":
        """Let a process act, of whose changes the ``at``-th meets the fault.

        If the act has not ended soon, the disk is mended, as an operator would. The power is also
        cut after the last change.
        """
        beneath = [str(self.disk.below), str(self.disk.mount)] if name == "finish" else None
        self._order({"act": name, "given": given, "beneath": beneath})
        self.disk.begin(int(self._line()), at, fault)
        self._order({})
        changes = self._mended(at) if fault in LASTING else []
        assert self._answers(ENDING_SECONDS), f"{name} with {fault} at {at} does not end"
        told = json.loads(self._line())
        is_mended = bool(changes)
        if fault == "power" and told["status"] == 0:
            self.disk.cut_power()
        changes = changes or self.disk.end()
        if fault == "power":
            self._exchange(self._below)
        return Played(told["said"], told["status"], changes, is_mended)

    def _mended(self, at: int) -> list[tuple[str, str]]:
        """Mend the disk if an act that has met its fault does not end; return the changes then."""
        while not self._answers(PATIENCE_SECONDS):
            if self.disk.counted() >= at and not self._answers(PATIENCE_SECONDS):
                return self.disk.end()
        return []

    def _order(self, order: object) -> None:
        assert self._actors.stdin is not None
        self._actors.stdin.write(json.dumps(order) + "\n")
        self._actors.stdin.flush()

    def _line(self) -> str:
        assert self._actors.stdout is not None
        line = self._actors.stdout.readline()
        assert line, f"the actors have ended: {(self._folder / 'log').read_text()[-3000:]}"
        return line

    def _answers(self, seconds: float) -> bool:
        return bool(select.select([self._actors.stdout], [], [], seconds)[0])


class Played:
    """What an act has said, how it ended, and which changes it made."""

    def __init__(
        self, said: list[list[Any]], status: int, changes: list[tuple[str, str]], is_mended: bool
    ) -> None:
        self.said, self.status, self.changes = said, status, changes
        self.is_mended = is_mended

    def told(self, word: str) -> list[list[Any]]:
        """Return what was said after this word, each time."""
        return [words for first, *words in self.said if first == word]

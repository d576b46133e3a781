"""Mount a disk that fails at a chosen change, and give it orders."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

PYTHON = "/usr/bin/python3"  # which has Debian's python3-pyfuse3
ENDING_SECONDS = 240
MEMORY = Path("/dev/shm")
PROGRAM = Path(__file__).with_name("faulty_disk.py")


def in_memory() -> str | None:
    """Return the folder of a file system in memory, on which no sync waits; None if there is none.

    What a power cut loses is kept by the disk itself, wherever its files lie.
    """
    return str(MEMORY) if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None


def why_not() -> str:
    """Return why no such disk can be mounted on this machine; empty if it can."""
    if not Path("/dev/fuse").exists():
        return "this machine has no /dev/fuse"
    tried = subprocess.run([PYTHON, "-c", "import pyfuse3"], capture_output=True)
    return "python3-pyfuse3 is not installed" if tried.returncode else ""


class Disk:
    """A folder that is mounted as a disk; ``faulty_disk.py`` says which faults it has.

    Attributes:
        below: the folder in which the files really lie, which no fault reaches.
        mount: where the disk is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.below, self.mount = folder / "below", folder / "disk"
        for path in (self.below, self.mount):
            path.mkdir(parents=True)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [PYTHON, str(PROGRAM), str(self.below), str(self.mount)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(ENDING_SECONDS)
        subprocess.run(["umount", "--lazy", str(self.mount)], capture_output=True)

    def begin(self, group: int, at: int = 0, fault: str = "") -> None:
        """Count the changes from here on; the ``at``-th meets the fault."""
        self._order({"at": at, "fault": fault, "group": group})

    def counted(self) -> int:
        """Return how many changes there were since ``begin``."""
        count: int = self._order(None)
        return count

    def cut_power(self) -> None:
        """Lose what was not synced since ``begin``."""
        self._order("power")

    def end(self) -> list[tuple[str, str]]:
        """Return the changes since ``begin``, as kind and path, and let all further ones pass."""
        return [(kind, path) for kind, path in self._order({})]

    def _order(self, order: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the disk has ended"
        return json.loads(line)

"""Read requirements, which people write, and locks, which ``make lock`` writes."""

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "requirements.txt": "deploy/requirements.lock",
    "tests/requirements.txt": "tests/requirements.lock",
}
"""The files that people write, each with its lock. The second lock holds the first."""

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?=\s|$)")


@dataclass(frozen=True)
class Entry:
    """One line of a file of requirements, of which a lock has continued lines."""

    file: str
    line: int
    requirement: Requirement
    why: str
    hashes: int

    @property
    def name(self) -> str:
        """The name as registries compare it."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """The version if the line allows one alone, else an empty text."""
        pinned = re.fullmatch(r"==([^*]+)", str(self.requirement.specifier))
        return pinned[1] if pinned else ""

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}"


def entries(file: str, root: Path = ROOT) -> list[Entry]:
    """Return what a file names itself, without the files that it includes."""
    found = []
    for number, line in _logical_lines((root / file).read_text()):
        text, _, why = line.partition("  #")
        named = text.split(" --hash", 1)[0].strip()
        if named and not named.startswith(("#", "-")):
            hashes = len(HASH.findall(text))
            found.append(Entry(file, number, Requirement(named), why.strip(), hashes))
    return found


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines with their numbers; one that ends with a backslash goes on in the next."""
    lines: list[tuple[int, str]] = []
    continued = False
    for number, line in enumerate(text.splitlines(), 1):
        part = line.removesuffix("\\")
        if continued:
            lines[-1] = (lines[-1][0], lines[-1][1] + part)
        else:
            lines.append((number, part))
        continued = line.endswith("\\")
    return lines


def includes(file: str, root: Path = ROOT) -> list[str]:
    """Return the files that a file includes, as it names them."""
    return re.findall(r"^-r (\S+)$", (root / file).read_text(), re.MULTILINE)

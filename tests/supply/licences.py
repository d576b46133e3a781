"""Ask pip-licenses which licences packages have; pyproject.toml says which are allowed."""

import json
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

from packaging.utils import canonicalize_name

from tests.supply.requirements import FILES, ROOT, entries

ANY = ["--allow-only", "", "--ignore-packages", "none-of-them"]
"""Options that pyproject.toml would else give."""


def licences(names: list[str]) -> dict[str, str]:
    """Return the licence of each installed package, as the package says it."""
    listed = json.loads(_ask(names, ANY, ROOT).stdout)
    return {canonicalize_name(each["Name"]): each["License"] for each in listed}


def faults(root: Path = ROOT) -> list[str]:
    """Return a sentence if a package of the locks has no licence, or one that is not allowed."""
    here = {canonicalize_name(each.metadata["Name"]) for each in distributions()}
    locked = [each.name for lock in FILES.values() for each in entries(lock, root)]
    ran = _ask([name for name in locked if name in here], [], root)
    if ran.returncode == 0:
        return []
    last = (ran.stderr.strip().splitlines() or ["pip-licenses said nothing"])[-1]
    return [f"Licences (pyproject.toml, tool.pip-licenses): {last}."]


def _ask(names: list[str], options: list[str], root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "piplicenses", "--format", "json", "--with-system"]
    return subprocess.run(
        [*command, *options, "--packages", *names], cwd=root, capture_output=True, text=True
    )

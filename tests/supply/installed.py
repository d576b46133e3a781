"""Ask pip whether what is installed is what the locks have, without a registry."""

import subprocess
import sys
from pathlib import Path

from tests.supply.requirements import ROOT


def faults(root: Path = ROOT) -> list[str]:
    """Return a sentence with pip's own if pip would have to install something."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index"]
    command += ["--disable-pip-version-check", "--require-hashes", "-r", "tests/requirements.txt"]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True)
    lines = [*ran.stdout.splitlines(), *ran.stderr.splitlines()]
    said = [line for line in lines if line.startswith(("ERROR", "Would install"))]
    if ran.returncode == 0 and not said:
        return []
    return [f"What is installed is not what the locks have, says pip: {' '.join(said)}"]

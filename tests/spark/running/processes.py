"""Runs a part of a test in a process of its own, whose Spark may be killed."""

import subprocess
import sys
from pathlib import Path

from tests.stack import ROOT, clean_environment

WELL = "all is well"
SECONDS = 1_800  # on a machine that does much else


def run(module: str, name: str, *arguments: object, **environment: object) -> str:
    """Call the function ``name`` of a test module with texts, and check that it returned.

    Returns what it printed and logged.
    """
    texts = {name: str(value) for name, value in environment.items()}
    answer = subprocess.run(
        [sys.executable, "-m", "tests.spark.running.processes", module, name, *map(str, arguments)],
        cwd=ROOT,
        env=clean_environment()
        | {"SPARK_MASTER": "local[2]", "SPARK_START_SECONDS": "900"}
        | texts,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert answer.stdout.splitlines()[-1:] == [WELL], answer.stdout + answer.stderr[-5000:]
    return answer.stdout + answer.stderr


def ticks(pid: int) -> bool:
    """Return whether a process exists, even a frozen one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main() -> None:
    import importlib
    import logging

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.ERROR)
    module, name, *arguments = sys.argv[1:]
    getattr(importlib.import_module(module), name)(*arguments)
    print(WELL)


if __name__ == "__main__":
    main()

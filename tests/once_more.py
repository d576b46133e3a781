"""Run pytest, and the few tests that failed once more: one after the other, on a quiet machine.

    python -m tests.once_more --numprocesses 3 -m "not long"

A browser that waits for a page beside a cluster of Spark may give up too early. What fails twice
fails; what fails once is named at the end, because it may be a fault that shows seldom.
"""

import json
import subprocess
import sys
from pathlib import Path

from webapp.operating.processes import die_with_parent

MOST = 3
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(options: list[str]) -> int:
    """Return the exit code of pytest."""
    die_with_parent()  # make ends without a word to its children
    pytest = [sys.executable, "-m", "pytest", *options]
    code = _run([*pytest, "--cache-clear"])
    failed = list(json.loads(FAILED.read_text())) if code == 1 and FAILED.exists() else []
    if not 1 <= len(failed) <= MOST:
        return code
    print(f"{len(failed)} failed, and each is run once more by itself.", flush=True)
    code = _run([*pytest, "--last-failed", "--numprocesses", "0"])
    if code == 0:
        print("Failed once, then passed:", *failed, sep="\n  ", flush=True)
    return code


def _run(command: list[str]) -> int:
    return subprocess.run(command, preexec_fn=die_with_parent).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run what the Procfile lists; ``launch.py`` becomes this process once everything is there."""

import os
import sys
from pathlib import Path

from honcho.environ import parse_procfile

from webapp.supervisor import Supervisor

RUN_ONCE = {"welcome"}


def main(procfile: Path, lock: int) -> int:
    """Run everything until Ctrl-C, which counts as success, and return the exit code.

    Args:
        procfile: what to run, in its folder.
        lock: the descriptor of an open file, which each process keeps open.
    """
    os.chdir(procfile.parent)
    supervisor = Supervisor(inherited=(lock,))
    for name, command in parse_procfile(procfile.read_text()).processes.items():
        if name != "redis" or "REDIS_SERVER" in os.environ:
            supervisor.add(name, command, once=name in RUN_ONCE)
    supervisor.loop()
    return 0 if supervisor.stopped_by_person else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))

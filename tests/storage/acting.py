"""Do what users and workers do, in processes that a failing disk may kill.

``python -m tests.storage.acting`` does everything once, so that all is loaded, and prints a line.
Then it reads an order on each line of its
input, forks a process for it, prints that process's id, and lets it go when the next line comes.
What the process has said comes as one more line when it has ended, each as JSON.

A process that only finds out what is there meets no fault. Where it may, it works in the folder
below the disk, under the same paths, which is much faster.
"""

import ctypes
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import django

Say = Callable[..., None]

NEW_MOUNTS = 0x20000  # CLONE_NEWNS of sched.h
PRIVATE, BOUND = 0x44000, 0x1000  # MS_REC | MS_PRIVATE and MS_BIND of sys/mount.h


def main() -> None:
    django.setup()
    from tests.storage import acts

    acts.load()
    acts.do_everything_once()
    gc.collect()
    gc.freeze()  # what a process has from here, its looks for garbage do not touch
    _print("ready")
    for line in sys.stdin:
        order = json.loads(line)
        go, said = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            _act(order, go, said)
        os.close(go[0])
        os.close(said[1])
        os.setpgid(child, child)
        _print(child)
        sys.stdin.readline()
        os.close(go[1])
        with os.fdopen(said[0]) as told:
            heard = [json.loads(each) for each in told]
        _print({"said": heard, "status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])})


def _print(value: Any) -> None:
    print(json.dumps(value), flush=True)


def _act(order: dict[str, Any], go: tuple[int, int], said: tuple[int, int]) -> None:
    """Do one act in this process, which ends with it."""
    from tests.storage import acts
    from webapp.edge.open_database import keep_open

    os.close(go[1])
    os.read(go[0], 1)  # until the other end is closed
    if beneath := order.get("beneath"):
        _leave_the_disk(*beneath)

    def say(*words: Any) -> None:
        os.write(said[1], json.dumps(words).encode() + b"\n")

    if order["act"] in acts.OF_USERS:
        keep_open()
    try:
        acts.ACTS[order["act"]](say, **order["given"])
    except BaseException:
        say("failed", traceback.format_exc())
        os._exit(1)
    os._exit(0)


def _leave_the_disk(folder: str, mount: str) -> None:
    """Let this process alone see the folder where the others see the disk, if it is allowed to."""
    libc = ctypes.CDLL(None)
    if libc.unshare(NEW_MOUNTS) == 0:
        libc.mount(b"none", b"/", None, PRIVATE, None)
        libc.mount(os.fsencode(folder), os.fsencode(mount), None, BOUND, None)


if __name__ == "__main__":
    main()

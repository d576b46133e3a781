"""Run Spark's Python daemon, from which Spark's Python workers are forked.

A worker of Cutline has loaded all modules of a daemon already. There the daemon is a fork of a
process beside it (``tasks/queue/nursery.py``), and this process only hands over what Spark gave it.
Elsewhere this process loads the modules and is the daemon.
"""

import json
import os
import socket
import sys
from pathlib import Path

FOLDER_OF_NURSERY = "CUTLINE_NURSERY"
SOCKET = "nursery"


def main() -> None:
    nursery = _connected()
    if nursery is not None:
        _hand_over(nursery)
        return
    from tasks.spark import loaded_daemon

    loaded_daemon.run()


def _connected() -> socket.socket | None:
    """Return a connection to the nursery, or None if there is none.

    The address is relative, since the path of a socket must be short.
    """
    folder, here = os.environ.get(FOLDER_OF_NURSERY), Path.cwd()
    if not folder:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        os.chdir(folder)
        connection.connect(SOCKET)
    except OSError:
        connection.close()
        return None
    finally:
        os.chdir(here)
    return connection


def _hand_over(nursery: socket.socket) -> None:
    """Let a fork of the nursery be the daemon, and wait until it has ended.

    To wait, this process becomes one that needs less memory than Python.
    """
    request = {"folder": str(Path.cwd()), "environment": dict(os.environ), "arguments": sys.argv}
    socket.send_fds(nursery, [b"\n"], [0, 1, 2])
    nursery.sendall(json.dumps(request).encode() + b"\n")
    os.dup2(nursery.fileno(), 0)
    os.execvp("cat", ["cat"])


if __name__ == "__main__":
    main()

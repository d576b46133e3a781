"""Fork Spark's Python daemons from a process that has loaded their modules already.

A daemon of its own would load all of pyarrow, PySpark and Cutline again: more than a second, and
as much memory as the process that runs jobs. The nursery is a fork of that process, made before
that has any thread, and does nothing else. ``tasks/spark/worker_daemon.py`` asks it.
"""

import json
import os
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

from tasks.spark import loaded_daemon
from tasks.spark.worker_daemon import FOLDER_OF_NURSERY, SOCKET
from webapp.operating import processes


def begin() -> None:
    """Fork the nursery of this process, which must have a single thread, and tell Spark of it."""
    folder, here = tempfile.mkdtemp(prefix="nursery-"), Path.cwd()
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(folder)
        try:
            listener.bind(SOCKET)
        finally:
            os.chdir(here)
        listener.listen()
        if os.fork() == 0:
            _serve(listener)
    os.environ[FOLDER_OF_NURSERY] = folder


def _serve(listener: socket.socket) -> NoReturn:
    """Fork a daemon for each request, until the process that runs jobs ends."""
    try:
        processes.die_with_parent()
        processes.name_this("nursery")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for the worker
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that no ended daemon stays a zombie
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _be_daemon(connection)
            connection.close()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _be_daemon(connection: socket.socket) -> None:
    """Be the daemon that a process of Spark's asks for, with its files and its environment.

    That process waits until the connection closes.
    """
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile() as lines:
        request = json.loads(lines.readline())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = request["arguments"]
    processes.name_this("spark daemon")
    try:
        loaded_daemon.run()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)

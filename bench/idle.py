"""The start of everything on an empty folder, and what it holds in memory when nothing happens.

``python -m bench.idle [SECONDS]`` starts what ``make run`` starts, waits until Spark is warm and for
SECONDS more (default 60), and adds up the proportional memory of all processes. Requirements: a
worker with a warm Spark in <= 4 s; <= 700 MB in all. Spark is warm when its daemon has forked a
Python worker, which begins with all kernels loaded. The samples are ingested in between, as they
are for everybody who starts Cutline for the first time.
"""

import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from bench.server import report
from tests.webapp.launched import Launched
from webapp import embedded_redis

DAEMON = "tasks.spark.worker_daemon"
GROUPS = {  # by a word of the command line, the first that fits
    "tasks.queue.periodic": "periodic work",
    DAEMON: "Python of Spark",
    "org.apache.spark": "Java",
    "uvicorn": "web process",
    "celery": "worker",
    "webapp.supervising": "launcher",
    "/redis.conf": "Redis",
    "-server": "Redis",
}
PATIENCE_SECONDS = 180


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        measure(Path(folder), seconds)


def measure(folder: Path, seconds: float) -> None:
    """Start everything with its data in ``folder``, and print all figures."""
    port = embedded_redis.free_port()
    began = time.time()
    launched = Launched(folder / "data", PORT=port)
    try:
        report("the web process answers", when(lambda: answers(port)) - began, "s", "")
        warm = when(lambda: has_python_worker(launched))
        worker = min(process.create_time() for process in members(launched, "worker"))
        report("the worker begins", worker - began, "s", "")
        report("Spark is warm", warm - began, "s", "")
        report("Spark is warm after the worker's start", warm - worker, "s", "hold 4 s")
        time.sleep(seconds)
        report_memory(launched)
        report("load of the machine at the end", psutil.getloadavg()[0], "", "")
    finally:
        launched.process.terminate()
        launched.process.wait(PATIENCE_SECONDS)
        launched.log.close()


def when(is_so: Callable[[], bool]) -> float:
    """Return the time at which something has become so."""
    deadline = time.time() + PATIENCE_SECONDS
    while not is_so():
        assert time.time() < deadline, "It did not start in time."
        time.sleep(0.05)
    return time.time()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def has_python_worker(launched: Launched) -> bool:
    """Tell whether there is a fork of the daemon, which has the same command line."""
    return len(list(members(launched, "Python of Spark"))) > 1


def members(launched: Launched, group: str) -> Iterator[psutil.Process]:
    for process in launched.descendants():
        if group_of(launched.command_of(process)) == group:
            yield process


def group_of(command: str) -> str:
    return next((group for word, group in GROUPS.items() if word in command), "others")


def report_memory(launched: Launched) -> None:
    """Print the proportional memory of each kind of process, the largest first."""
    memory: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for process in launched.descendants():
        with suppress(psutil.NoSuchProcess):
            group = group_of(launched.command_of(process))
            memory[group] += process.memory_full_info().pss
            number[group] += 1
    for group, held in memory.most_common():
        report(f"{group}, {number[group]} processes", held / 1e6, "MB", "")
    report("memory of all processes", memory.total() / 1e6, "MB", "hold 700 MB")


if __name__ == "__main__":
    main()

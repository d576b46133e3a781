"""The start of everything on an empty folder, and what it holds in memory when nothing happens.

``python -m bench.idle [SECONDS]`` starts what ``make run`` starts, waits until Spark is warm and
for SECONDS more (default 60), and adds up the proportional memory of all processes. Requirements: a
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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from bench.server import report
from tests.webapp.launched import Launched
from webapp import embedded_redis

GROUPS = {  # by the name or a word of the command line, the first that fits
    "periodic work": "periodic work",
    "tasks.queue.periodic": "periodic work",
    "nursery": "Python of Spark",
    "spark daemon": "Python of Spark",
    "worker_daemon": "Python of Spark",
    "cat cat": "Python of Spark",  # waits for the daemon
    "org.apache.spark": "Java",
    "uvicorn": "web process",
    "celery": "worker",
    "webapp.supervising": "launcher",
    "redis": "Redis",
    "valkey": "Redis",
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
    launcher = psutil.Process(launched.process.pid)
    try:
        report("the web process answers", when(lambda: answers(port)) - began, "s", "")
        warm = when(lambda: has_python_worker(launcher))
        spent = processor_seconds(launcher)
        report("Spark is warm", warm - began, "s", "")
        children = launcher.children(recursive=True)
        worker = min(each.create_time() for each in children if group_of(each) == "worker")
        report("Spark is warm after the worker's start", warm - worker, "s", "hold 4 s")
        report("processor time of all processes until then", spent, "s", "")
        time.sleep(seconds)
        report_memory(launcher)
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


def has_python_worker(launcher: psutil.Process) -> bool:
    """Tell whether the daemon has forked, whose fork has its name and its command line."""
    names = [named(process) for process in launcher.children(recursive=True)]
    return max(Counter(name for name in names if is_daemon(name)).values(), default=0) > 1


def is_daemon(name: str) -> bool:
    return name.startswith("spark daemon") or "worker_daemon" in name


def named(process: psutil.Process) -> str:
    """Return the name and the command line of a process, or nothing if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return f"{process.name()} {' '.join(process.cmdline())}"
    return ""


def group_of(process: psutil.Process) -> str:
    name = named(process)
    return next((group for word, group in GROUPS.items() if word in name), "others")


def report_memory(launcher: psutil.Process) -> None:
    """Print the proportional memory of each kind of process, the largest first."""
    memory: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for process in (launcher, *launcher.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            group = group_of(process)
            memory[group] += process.memory_full_info().pss
            number[group] += 1
    for group, held in memory.most_common():
        report(f"{group}, processes: {number[group]}", held / 1e6, "MB", "")
    report("memory of all processes", memory.total() / 1e6, "MB", "hold 700 MB")


def processor_seconds(launcher: psutil.Process) -> float:
    """Return the processor time of all processes, with those that ended and were waited for."""
    spent = 0.0
    for process in (launcher, *launcher.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            spent += sum(process.cpu_times()[:4])
    return spent


if __name__ == "__main__":
    main()

"""Cuts over HTTP, and the memory of the web process: ``python -m bench.opened [SIZE …]``.

Each SIZE (default 10^5 and 10^6) is a number of events, for which a recording is written straight
into a store, or the folder of a recording that was judged before, such as one of 10^8 events. All
are opened by one web process, the smallest first. Requirements: a seek or a cut in p95 <= 50 ms,
within 1.3 times of each other; at most 300 MB in the web process. Times on the clock hold what
other work on the machine took, so the mean processor time of the web process stands beside them.
At last the largest one is played in Chromium.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from time import perf_counter

import psutil

from bench import server
from bench.server import Client, report
from bench.synthetic_store import write_synthetic
from snapshots.store.writer import write_snapshots
from tasks.spark.judge.job import Judge
from tasks.spark.stages import StagesHere
from tests.stack import Stack

SIZES = ("1e5", "1e6")
ROUNDS = 200


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder) / "data")
        stack.folder.mkdir()
        try:
            stack.start_redis()
            stack.start_server()
            measure(stack, Path(folder), tuple(sys.argv[1:]) or SIZES)
        finally:
            stack.stop()


def measure(stack: Stack, folder: Path, sizes: tuple[str, ...]) -> None:
    """Open recordings of these sizes one after the other, and print the figures of each."""
    web = psutil.Process(stack.processes["server"].pid)
    Client(stack.url, stack.token()).get("/api/recordings")
    report("memory of the web process before", _own(web), "MB", "")
    for number, size in enumerate(sizes):
        ready = Path(size) if Path(size).is_dir() else _written(folder / str(number), size)
        code = f"from bench.opened import place; print(place({str(ready)!r}))"
        recording = json.loads(stack.manage("shell", "-c", code).splitlines()[-1])
        client = Client(stack.url, stack.token())  # a connection that idles is closed
        shown = client.get(f"/api/recordings/{recording}")
        print(f"\n{shown['counts']['events']:,} events", flush=True)
        _questions(client, web, shown)
        report("memory of the web process", _own(web), "MB", "hold 300 MB")
        report("the same with pages of files", web.memory_info().rss / 1e6, "MB", "")
    server.show_in_browser(stack, shown)
    report("memory of the web process, after the browser", _own(web), "MB", "hold 300 MB")


def _written(folder: Path, size: str) -> Path:
    """Write a recording with so many events and three judged snapshots."""
    folder.mkdir()
    write_synthetic(folder, int(float(size)), snapshots=("s0", "s1", "s2"), are_consistent=True)
    judge = Judge(folder)
    reports = judge.reports(*judge.facts(StagesHere(), lambda *progress: None))
    summaries = [report.summary() for report in reports]
    write_snapshots(folder, summaries, judge.state_rows(), judge.contents)
    return folder


def place(folder: str) -> int:
    """Publish a copy of a judged recording as one of the owner's, and return its id.

    ``manage.py`` calls this, with the settings of the stack.
    """
    from django.db import transaction

    from snapshots.files import recordings
    from snapshots.models import Recording
    from webapp.accounts.services import OWNER, get_or_create_user

    row = Recording.objects.create(owner=get_or_create_user(OWNER), name=Path(folder).name)
    name = recordings.name_of(row.pk, 0)
    temporary = recordings.store().temporary(name)
    shutil.copytree(folder, temporary, dirs_exist_ok=True, copy_function=_linked)
    recordings.publish(temporary, name)
    with transaction.atomic():
        recordings.make_ready(row, name, recordings.summary(name))
    return row.pk


def _linked(source: str, target: str) -> None:
    """Link a file, which nothing writes again, instead of copying it."""
    Path(target).hardlink_to(source)


def _questions(client: Client, web: psutil.Process, recording: dict) -> None:
    address = f"/api/recordings/{recording['id']}"
    questions = server.seek_and_cut(client, recording)
    questions["window of everything"] = lambda: client.get(f"{address}/window?width=1200")
    questions["list of snapshots"] = lambda: client.get(f"{address}/snapshots-in-brief?limit=400")
    for words, ask in questions.items():
        clock, used = _timed(web, ask)
        report(f"{words} over HTTP, p95", clock, "ms", f"hold 50 ms; {used:.1f} ms of processor")


def _timed(web: psutil.Process, ask: Callable[[], None]) -> tuple[float, float]:
    """Return the 95th percentile on the clock, and the mean processor time of the web process."""
    ask()
    spent, before = [], web.cpu_times()
    for _ in range(ROUNDS):
        began = perf_counter()
        ask()
        spent.append((perf_counter() - began) * 1000)
    after = web.cpu_times()
    used = after.user + after.system - before.user - before.system
    return quantiles(spent, n=20)[-1], used * 1000 / ROUNDS


def _own(web: psutil.Process) -> float:
    """Return the memory of a process in MB, without the pages of mapped files."""
    memory = web.memory_info()
    return (memory.rss - memory.shared) / 1e6


if __name__ == "__main__":
    main()

"""The archive of a job with many checkpoints, over HTTP and in Chromium, compared with plain SQL.

``python -m bench.archive [CHECKPOINTS]`` (default 10^5, of 50 subtasks each). Requirements: first
picture of its page in <= 2 s, a filter or a jump in <= 300 ms. A filter is the part of the page
that htmx loads: trends with bands, failures, the slowest and the first rows. It is compared with
the query that one would write by hand: the same filter in the database, its rows in 600 bins of
time with least, mean and most of four measures, without medians, bands or outliers.
"""

import random
import sqlite3
import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from time import perf_counter
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from bench.browser import CHROMIUM_ARGUMENTS, FIRST_PICTURE, open_once
from bench.server import ROUNDS, Client, report, timed
from bench.synthetic_archive import BEGAN, INTERVAL, NAMES, SUBTASKS
from tests.stack import Stack
from webapp import machine

EMAIL = "owner@localhost"
FEW = 15  # checkpoints
OPENINGS = 5  # of each page
FILL = """
from django.contrib.auth.models import User
from bench.synthetic_archive import fill
print(fill(User.objects.get(username="{email}"), {count}).pk)
"""
SQL = """
select (triggered_at - :first) * 600 / :span as bin, count(*),
  min(duration), avg(duration), max(duration), min(bytes), avg(bytes), max(bytes),
  min(alignment_max), avg(alignment_max), max(alignment_max),
  min(start_delay_max), avg(start_delay_max), max(start_delay_max)
from snapshots_enginecheckpoint where job_id = :job {where} group by bin
"""


def main() -> None:
    count = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**5
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder) / "data")
        stack.folder.mkdir()
        try:
            stack.start_redis()
            token = stack.token(EMAIL)
            began = perf_counter()
            job, small = fill(stack, count), fill(stack, FEW)
            report(f"{count:,} checkpoints written", perf_counter() - began, "s", "")
            stack.start_server()
            measure(stack, Client(stack.url, token), job, count)
            in_browser(stack, job, small, count)
            report("memory of the web process, at most", memory(stack), "MB", "")
        finally:
            stack.stop()


def fill(stack: Stack, count: int) -> int:
    """Archive a job with so many checkpoints, and return its id."""
    command = FILL.format(email=EMAIL, count=count)
    return int(stack.manage("shell", "--verbosity", "0", "-c", command))


def measure(stack: Stack, client: Client, job: int, count: int) -> None:
    address = f"/api/archive/{job}"
    began = perf_counter()
    client.get(f"{address}/overview")
    report("first question after the start", perf_counter() - began, "s", "")
    dice = random.Random(1)
    filters = [_filter(dice, count) for _ in range(ROUNDS)]
    asked = iter(filters)

    def filtered() -> None:
        query = urlencode(next(asked))
        client.get(f"{address}/overview?{query}")

    timed("a filter's trends over HTTP", filtered, "hold p95 300 ms")
    timed("trends of all over HTTP", lambda: client.get(f"{address}/overview"), "hold p95 300 ms")
    rows = iter(filters)
    timed(
        "a filter's rows, by duration, over HTTP",
        lambda: client.get(
            f"{address}/checkpoints?{urlencode(next(rows) | {'sort': '-duration'})}"
        ),
        "hold p95 300 ms",
    )
    timed(
        "a jump over HTTP",
        lambda: client.get(f"{address}/checkpoints/0/{dice.randint(1, count)}"),
        "hold p95 300 ms",
    )
    plain_sql(stack.folder / "cutline.sqlite3", job, filters)


def _filter(dice: random.Random, count: int) -> dict[str, object]:
    """Return a random one of the filters that users choose."""
    begin = BEGAN + dice.randrange(count) * INTERVAL
    return dice.choice(
        [
            {"status": "failed"},
            {"longer": dice.randrange(200, 5_000)},
            {"since": begin, "until": begin + count * INTERVAL // 10},
            {"failing": "expired"},
            {"slowest": f"{dice.choice(NAMES)}[{dice.randrange(SUBTASKS)}]"},
            {"kind": "checkpoint"},
        ]
    )


def plain_sql(database: Path, job: int, filters: list[dict[str, object]]) -> None:
    conditions = {
        "status": "and status = :status",
        "longer": "and duration >= :longer",
        "since": "and triggered_at >= :since",
        "until": "and triggered_at <= :until",
        "failing": "and failure like '%' || :failing || '%'",
        "slowest": "and slowest = :slowest",
        "kind": "and kind = :kind",
    }
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        first, last = connection.execute(
            "select min(triggered_at), max(triggered_at) from snapshots_enginecheckpoint"
        ).fetchone()
        asked = iter(filters)

        def ask() -> None:
            chosen = next(asked)
            where = " ".join(conditions[name] for name in chosen)
            known = {"first": first, "span": last - first + 1, "job": job}
            connection.execute(SQL.format(where=where), known | chosen).fetchall()

        timed("peer: plain SQL, in the process, no medians", ask, "")


def memory(stack: Stack) -> float:
    """Return the largest memory that the server has taken, in MB."""
    status = Path(f"/proc/{stack.processes['server'].pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def in_browser(stack: Stack, job: int, small: int, count: int) -> None:
    """Measure the page. ``small``: a job with FEW checkpoints, whose first picture is the
    comparison."""
    address = f"{stack.url}/archive/{job}"
    with sync_playwright() as playwright:
        chromium = machine.find_chromium() or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.goto(stack.manage("sign_in_link", EMAIL))
        if page.get_by_role("button", name="Sign in").count():
            page.get_by_role("button", name="Sign in").click()
        first = _middle(lambda _: open_once(page, address))
        report("first picture of the page in Chromium", first, "s", "hold 2 s")
        least = _middle(lambda _: open_once(page, f"{stack.url}/archive/{small}"))
        report(f"peer: the same with {FEW} checkpoints", least, "s", f"ratio {first / least:.2f}")
        open_once(page, address)
        spent = sorted(_filtered(page, status) for status in ["failed", "completed"] * 5)
        report("a filter until it is drawn, the slowest of 10", spent[-1], "ms", "hold 300 ms")
        report("a filter until it is drawn, in the middle", spent[5], "ms", "hold 300 ms")
        jump = _middle(lambda turn: open_once(page, f"{address}?jump={count // 2 + turn}"))
        report("a jump until the Gantt chart is drawn", 1000 * jump, "ms", "hold 300 ms")
        for name, other in [
            ("the page of two compared", f"{address}/compare"),
            ("the list of jobs", f"{stack.url}/archive"),
        ]:
            took = _middle(lambda _, other=other: _loaded(page, other))
            report(f"{name}, until it is loaded", took, "ms", "")
        browser.close()


def _middle(measure) -> float:
    """Return the median of some measurements after one that does not count."""
    return statistics.median([measure(turn) for turn in range(OPENINGS + 1)][1:])


def _loaded(page, url: str) -> float:
    page.goto(url)
    return page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")


def _filtered(page, status: str) -> float:
    """Return the milliseconds from the choice to the drawn answer."""
    page.locator("[data-figure=trends] .main-svg").first.wait_for()
    page.evaluate("performance.clearMarks()")
    began = page.evaluate("performance.now()")
    page.locator("#f-status").select_option(status)
    while (at := page.evaluate(FIRST_PICTURE)) is None:
        page.wait_for_timeout(10)
    return at - began


if __name__ == "__main__":
    main()

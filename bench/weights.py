"""What pages weigh on the wire, and how the workbench opens and plays with 2, 50 and 100 processes.

``python -m bench.weights [EVENTS]`` (default 20,000 events in each recording). Requirements, with
nothing cached: 1.7 MB for the workbench, 250 kB for any other page. The figures of a large
recording are printed by ``bench.server``.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench import browser
from bench.recordings import write_log
from bench.server import Client, report, report_workbench
from tests.stack import Stack

PROCESSES = (2, 50, 100)
PAGES = (
    *("/", "/learn", "/jobs", "/archive", "/topologies", "/topologies/new", "/mappings"),
    *("/topologies/new?kind=dataflow", "/account", "/operator", "/api/docs"),
)
SECONDS = 8  # of playing


def main() -> None:
    events = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder) / "data")
        stack.folder.mkdir()
        try:
            stack.start_redis()
            stack.start_server()
            stack.start_worker()
            measure(stack, Path(folder), events)
        finally:
            stack.stop()


def measure(stack: Stack, folder: Path, events: int, seconds: float = SECONDS) -> None:
    client = Client(stack.url, stack.token())
    uploaded = {number: _upload(client, folder, events, number) for number in PROCESSES}
    snapshots = client.get(f"/api/recordings/{uploaded[50]}/snapshots")["items"]
    snapshot = f"/recordings/{uploaded[50]}/snapshots/{snapshots[0]['snapshot']}"
    with sync_playwright() as playwright:
        chromium = browser.launch(playwright)
        page = browser.signed_in(chromium, stack.manage("sign_in_link"))
        for address in (*PAGES, snapshot):
            kilobytes = browser.cold_weight(page, f"{stack.url}{address}") / 1000
            report(f"{address} on the wire", kilobytes, "kB", "hold 250 kB")
        for number, recording in uploaded.items():
            print(f"\nworkbench with {number} processes, {events:,} events", flush=True)
            address = f"{stack.url}/recordings/{recording}"
            report_workbench(browser.measure_in(page, address, seconds))
        chromium.close()


def _upload(client: Client, folder: Path, events: int, processes: int) -> int:
    """Upload a recording with so many processes, and return its id."""
    log = folder / f"{processes}.jsonl"
    write_log(log, events, processes=processes)
    return client.ready(log)[0]["id"]


if __name__ == "__main__":
    main()

"""How long a user waits while another has a thousand jobs in the queue.

``python -m bench.fairness [JOBS]`` uploads a log of 1,000 events alone, five times. Then a second
user requests JOBS simulations (default 1,000), and the upload is repeated among them. Requirement:
the upload is ready within three times its lone time.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from bench.recordings import write_log
from bench.server import Client
from tests.stack import Stack

ROUNDS = 5
RING = {
    "name": "ring of three",
    "processes": [{"id": "A"}, {"id": "B"}, {"id": "C"}],
    "channels": [
        {"id": f"{source}->{target}", "source": source, "target": target}
        for source, target in ("AB", "BC", "CA")
    ],
}
SIMULATION = {"workload": "token-ring", "events": 1000}


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        stack = Stack(Path(folder) / "data")
        stack.folder.mkdir()
        try:
            stack.start_redis()
            stack.environment["MAX_OPEN_JOBS"] = str(jobs + 10)
            stack.start_server()
            stack.start_worker()
            measure(stack, Path(folder), jobs)
        finally:
            stack.stop()


def measure(stack: Stack, folder: Path, jobs: int) -> None:
    log = folder / "log.jsonl"
    write_log(log, 1_000)
    quiet, busy = stack.token("quiet@example.org"), stack.token("busy@example.org")
    alone = uploads(stack, quiet, log)
    client = Client(stack.url, busy)
    topology = client.post("/api/topologies", RING)["id"]
    for _ in range(jobs):
        client.post(f"/api/topologies/{topology}/simulate", SIMULATION)
    among = uploads(stack, quiet, log)
    still_open = Client(stack.url, busy).get("/api/jobs?state=queued&limit=1")["total"]
    ratio = statistics.median(among) / statistics.median(alone)
    print(f"alone                          {seconds(alone)}")
    print(f"among {jobs:,} jobs of another  {seconds(among)}   ({still_open:,} of them still wait)")
    print(f"ratio of the medians           {ratio:.2f}   (hold <= 3)")


def uploads(stack: Stack, token: str, log: Path) -> list[float]:
    """Return the seconds until each of several uploads is ready, one after the other."""
    return [Client(stack.url, token).ready(log)[1] for _ in range(ROUNDS)]


def seconds(times: list[float]) -> str:
    return f"median {statistics.median(times):.2f} s, longest {max(times):.2f} s"


if __name__ == "__main__":
    main()

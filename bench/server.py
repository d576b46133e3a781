"""What a user waits for, over HTTP, with the real server, worker, Redis and Spark.

``python -m bench.server [EVENTS]`` uploads a log of 1,000 events and one of EVENTS (default 10^6),
then measures seeks, cuts and windows at random instants of the large one, then the browser on it.
Requirements (design, section 8): 1,000 events from upload to verdicts in <= 3 s; a seek or a cut in
p95 <= 50 ms; first picture with cached scripts in <= 1 s; no task above 200 ms and a layout shift
of at most 0.05 until the workbench is ready; no task above 200 ms when somebody points at a chart;
50 frames a second with 300 messages in flight, none longer than 100 ms.
"""

import http.client
import itertools
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, sleep
from urllib.parse import urlsplit
from uuid import uuid4

from bench import browser
from bench.recordings import write_log
from tests.stack import Stack

ROUNDS = 200
UPLOADS = 5  # of the small log
SECONDS = 8  # of playing


class Client:
    """A client that keeps one connection open, like a browser."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> dict:
        return self._ask("GET", path, None, {})

    def post(self, path: str, body: dict) -> dict:
        return self._ask(
            "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )

    def upload(self, path: Path) -> dict:
        mark = uuid4().hex
        field = f'form-data; name="file"; filename="{path.name}"'
        head = f"--{mark}\r\nContent-Disposition: {field}\r\n\r\n".encode()
        tail = f"\r\n--{mark}--\r\n".encode()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={mark}",
            "Content-Length": str(len(head) + path.stat().st_size + len(tail)),
        }
        return self._ask("POST", "/api/recordings", _pieces(head, path, tail), headers)

    def ready(self, path: Path) -> tuple[dict, float]:
        """Return the uploaded recording, and the seconds from the first byte until it is ready."""
        began = perf_counter()
        address = f"/api/recordings/{self.upload(path)['id']}"
        while (recording := self.get(address))["status"] in {"queued", "running"}:
            sleep(0.05)
        assert recording["status"] == "ready", recording
        return recording, perf_counter() - began

    def _ask(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None, headers: dict
    ) -> dict:
        self._connection.request(method, path, body, self._headers | headers)
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status < 400, f"{method} {path}: {answer.status} {content[:300]!r}"
        return json.loads(content)


def _pieces(head: bytes, path: Path, tail: bytes) -> Iterator[bytes]:
    """Yield a form with one file without holding the file in memory."""
    yield head
    with path.open("rb") as file:
        while piece := file.read(2**20):
            yield piece
    yield tail


def main() -> None:
    events = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    with tempfile.TemporaryDirectory(prefix="cutline-bench-") as folder:
        small, large = Path(folder) / "small.jsonl", Path(folder) / "large.jsonl"
        write_log(small, 1000)
        write_log(large, events)
        stack = Stack(Path(folder) / "data")
        stack.folder.mkdir()
        try:
            stack.start_redis()
            stack.environment |= room_for(large)
            stack.start_server()
            stack.start_worker()
            measure(stack, small, large, events)
        finally:
            stack.stop()


def room_for(log: Path) -> dict[str, str]:
    """Return settings that accept a log of this size: 10^7 events are 1.2 GB."""
    most = str(max(log.stat().st_size, 2**30))
    return {"MAX_UPLOAD_BYTES": most, "MAX_RECORDING_BYTES": most}


def measure(stack: Stack, small: Path, large: Path, events: int) -> None:
    client = Client(stack.url, stack.token())
    client.ready(small)
    waited = [client.ready(small)[1] for _ in range(UPLOADS)]
    report("upload of 1,000 events to its verdicts", statistics.median(waited), "s", "hold 3 s")
    recording, seconds = client.ready(large)
    report(f"upload of {events:,} events to its verdicts", seconds, "s", "")
    questions(client, recording)
    show_in_browser(stack, recording)


def questions(client: Client, recording: dict) -> None:
    address = f"/api/recordings/{recording['id']}"
    first, last = recording["extent"]["from"], recording["extent"]["to"]
    dice = random.Random(1)

    def window(share: float) -> Callable[[], None]:
        def ask() -> None:
            width = (last - first) * share
            left = first + dice.random() * (last - first - width)
            client.get(f"{address}/window?from={left:.0f}&to={left + width:.0f}&width=1200")

        return ask

    for words, ask in seek_and_cut(client, recording).items():
        timed(f"{words} over HTTP", ask, "hold p95 50 ms")
    timed("window of single messages over HTTP", window(1500 / recording["counts"]["events"]), "")
    timed("window of everything over HTTP", window(1), "")


def seek_and_cut(client: Client, recording: dict) -> dict[str, Callable[[], None]]:
    """Return what asks for a seek at a random instant, and for a cut that was dragged from one."""
    address = f"/api/recordings/{recording['id']}"
    first, last = recording["extent"]["from"], recording["extent"]["to"]
    dice = random.Random(1)

    def instant() -> dict:
        return {"at": dice.randint(first, last)}

    def dragged() -> dict:
        positions = client.post(f"{address}/cuts", instant())["positions"]
        return {
            "positions": {name: max(0, n - dice.randrange(40)) for name, n in positions.items()}
        }

    cuts = itertools.cycle([dragged() for _ in range(ROUNDS)])
    return {
        "seek": lambda: client.post(f"{address}/cuts", instant()),
        "a dragged cut": lambda: client.post(f"{address}/cuts", next(cuts)),
    }


def timed(name: str, ask: Callable[[], None], hold: str) -> None:
    spent = []
    for _ in range(ROUNDS):
        began = perf_counter()
        ask()
        spent.append((perf_counter() - began) * 1000)
    report(f"{name}, p95", statistics.quantiles(spent, n=20)[-1], "ms", hold)


def report(name: str, figure: float, unit: str, hold: str) -> None:
    print(f"{name:52} {figure:10.1f} {unit:4} {hold}", flush=True)


def show_in_browser(stack: Stack, recording: dict) -> None:
    page = f"{stack.url}/recordings/{recording['id']}"
    report_workbench(browser.measure(page, sign_in=stack.manage("sign_in_link"), seconds=SECONDS))


def report_workbench(seen: browser.Measured) -> None:
    """Print the figures of the workbench beside what they must hold."""
    report("workbench on the wire, nothing cached", seen.cold_bytes / 1000, "kB", "hold 1,700 kB")
    report("first picture in Chromium", seen.first_picture, "s", "hold 1 s")
    report("longest task until it is ready", seen.longest_task, "ms", "hold 200 ms")
    report("the same, of processor time", seen.longest_processor, "ms", "hold 200 ms")
    report("while Plotly draws, of processor time", seen.longest_drawing, "ms", "hold 200 ms")
    report("layout shift, thousandths", 1000 * seen.layout_shift, "", "hold 50")
    frames = (
        f"hold 50, with {seen.in_flight} messages in flight; an empty page "
        f"{seen.empty_frames_per_second}"
    )
    report("frames a second while playing", seen.frames_per_second, "", frames)
    worst = f"hold 100 ms; an empty page {seen.empty_worst_frame}"
    report("worst frame while playing", seen.worst_frame, "ms", worst)
    report("load of the machine at the end", seen.load, "", "")


if __name__ == "__main__":
    main()

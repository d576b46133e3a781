"""A Flink whose checkpoints a collector follows: the archive must have each of them, once."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.archive.flink_server import RecordedFlink, Server
from tests.campaign.client import Client
from tests.stack import ROOT

RECORDED = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
REST = RECORDED / "flink" / "failures" / "rest"
SETTINGS = {"COLLECTOR_HOSTS": "127.0.0.1"}
CHECKPOINT_SECONDS = 3.0
MOST_AHEAD = 8  # Flink remembers ten; a collector that looks in time misses none
PATIENCE_SECONDS = 90


class Flink:
    """Takes a checkpoint every few seconds, and waits for a collector that is too late."""

    def __init__(self) -> None:
        self.recorded = RecordedFlink(REST)
        self._server = Server(self.recorded)
        self._url = self._server.__enter__()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="flink", daemon=True)

    def begin(self, client: Client) -> None:
        client.make("/collectors", {"url": self._url, "interval_seconds": 5})
        self._thread.start()

    def _go_on(self) -> None:
        while not self._is_over.wait(CHECKPOINT_SECONDS):
            if self.recorded.count - newest_of(self.recorded.asked) < MOST_AHEAD:
                self.recorded.count += 1

    def stop(self) -> None:
        self._server.__exit__()

    def faults(self, client: Client) -> list[str]:
        """Compare the archive with what Flink told, once the collector has come to its end."""
        self._is_over.set()
        self._thread.join()
        told = {
            number: self.recorded.checkpoint(number)["status"].lower()
            for number in range(1, self.recorded.count + 1)
        }
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (faults := self._differences(client, told)) and time.monotonic() < deadline:
            time.sleep(1)
        return faults

    def _differences(self, client: Client, told: dict[int, str]) -> list[str]:
        jobs = [job for job in client.listed("/archive") if job["key"] == self.recorded.key]
        if len(jobs) != 1:
            return [f"the archive has {len(jobs)} jobs of one Flink job"] if told else []
        kept = client.listed(f"/archive/{jobs[0]['id']}/checkpoints")
        times = Counter(item["number"] for item in kept)
        statuses = {item["number"]: item["status"].lower() for item in kept}
        return [
            *(
                f"checkpoint {number} is not in the archive"
                for number in told.keys() - times.keys()
            ),
            *(
                f"checkpoint {number} is there {count} times"
                for number, count in times.items()
                if count > 1
            ),
            *(
                f"checkpoint {number} is {status} in the archive, and Flink told {told.get(number)}"
                for number, status in statuses.items()
                if told.get(number) != status
            ),
        ]


def newest_of(asked: Iterable[str]) -> int:
    """The highest number of a checkpoint for whose details somebody asked."""
    parts = [path.partition("?")[0].split("/") for path in list(asked)]
    return max((int(part[5]) for part in parts if part[4:5] == ["details"]), default=0)

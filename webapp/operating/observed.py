"""Count requests, websockets and the time of cuts in this process, for /metrics."""

from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Gauge, Histogram

registry = CollectorRegistry()

request_seconds = Histogram(
    "cutline_http_request_seconds",
    "Time from a request's first byte to the answer's last, by class of its status.",
    ["status"],
    registry=registry,
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
cut_seconds = Histogram(
    "cutline_cut_seconds",
    "Time to compute a cut, for the API and for websockets.",
    registry=registry,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2.5, 5),
)
open_websockets = Gauge(
    "cutline_open_websockets", "Websockets that are open in this process.", registry=registry
)


@dataclass(slots=True)
class Level:
    """How many of something this process has now, and the most since it started."""

    now: int = 0
    most: int = 0
    most_at: str = ""

    def note(self, number: int) -> None:
        """Take over a number; of equal ones the first counts as the most."""
        self.now = number
        if number > self.most or not self.most_at:
            self.most, self.most_at = number, datetime.now(UTC).isoformat(timespec="seconds")


bodies, files, websockets = Level(), Level(), Level()


def status_class(status: int) -> str:
    """Return the class of a status, such as ``2xx``."""
    return f"{status // 100}xx"

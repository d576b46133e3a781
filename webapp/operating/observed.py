"""Count requests, websockets and the time of cuts in this process, for /metrics."""

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


def status_class(status: int) -> str:
    """Return the class of a status, such as ``2xx``."""
    return f"{status // 100}xx"

"""The tasks of a page in processor time, which other work on the machine does not lengthen."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Page

CATEGORIES = ["disabled-by-default-devtools.timeline", "__metadata"]
MICROSECONDS = 1000  # in a millisecond


@dataclass
class Tasks:
    """What the main threads of pages did while they were traced.

    Attributes:
        milliseconds: processor time of each task.
    """

    milliseconds: list[float] = field(default_factory=list)

    @property
    def longest(self) -> float:
        return max(self.milliseconds, default=0)


@contextmanager
def traced(page: Page) -> Iterator[Tasks]:
    """Trace the page until the end of the block, and fill in what is given then."""
    session = page.context.new_cdp_session(page)
    events: list[dict] = []
    ended: list[dict] = []
    session.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    session.on("Tracing.tracingComplete", lambda end: ended.append(end))  # noqa: PLW0108, Playwright marks it
    config = {"includedCategories": CATEGORIES}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
    tasks = Tasks()
    try:
        yield tasks
    finally:
        session.send("Tracing.end")
        while not ended:
            page.wait_for_timeout(20)
        session.detach()
    tasks.milliseconds += _of_main_threads(events)


def _of_main_threads(events: list[dict]) -> list[float]:
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        event.get("tdur", 0) / MICROSECONDS
        for event in events
        if event["name"] == "RunTask" and (event["pid"], event["tid"]) in threads
    ]

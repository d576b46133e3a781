"""The API's answers about an execution of a ShiViz log, in the words of the manifest."""

from base64 import b64decode
from collections import Counter

import numpy as np

from tests.web.api.uploading import Uploaded


def expected_facts(execution: dict) -> dict[tuple, object]:
    facts: dict[tuple, object] = {
        (name,): execution[name] for name in ("events", "receives", "edges")
    }
    facts["messages that are in flight at the end",] = 0  # clocks tell of received ones alone
    facts["hosts",] = sorted(execution["hosts"])
    return facts | {("events of", host): count for host, count in execution["hosts"].items()}


def api_facts(uploaded: Uploaded) -> dict[tuple, object]:
    """Return the facts of a recording, counted in a window of all events.

    An event of the log that sends or receives is several events here, of which the first has its
    text.
    """
    counts, extent = (uploaded.get()[name] for name in ("counts", "extent"))
    told = uploaded.get("/window", axis="order", width=8_192, **{"from": 0, "to": extent["steps"]})
    assert told["exact"]
    assert told["events_total"] == counts["events"]
    hosts = [one["id"] for one in uploaded.get("/topology")["processes"]]
    kinds = [told["kinds"][code] for code in _numbers(told["events"]["kind"])]
    assert kinds.count("send") == counts["messages"] == told["messages_total"]
    events: Counter = Counter()
    receiving: set[tuple[str, int]] = set()
    rows = zip(_numbers(told["events"]["process"]), _numbers(told["events"]["index"]), kinds,
               told["events"]["label"], strict=True)  # fmt: skip
    for process, _, kind, label in sorted(rows, key=lambda row: row[:2]):
        host = hosts[process]
        events[host] += label is not None
        if kind == "receive":
            receiving.add((host, events[host]))
    facts: dict[tuple, object] = {
        ("events",): sum(events.values()),
        ("receives",): len(receiving),
        ("edges",): kinds.count("receive"),
        ("messages that are in flight at the end",): _numbers(
            told["messages"]["received_index"]
        ).count(-1),
        ("hosts",): sorted(hosts),
    }
    return facts | {("events of", host): count for host, count in events.items()}


def _numbers(array: dict) -> list[int]:
    """Decode a typed array."""
    return np.frombuffer(b64decode(array["bdata"]), array["dtype"]).tolist()

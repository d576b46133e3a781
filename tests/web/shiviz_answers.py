"""What the API tells of an execution of a ShiViz log, in the words of the manifest."""

from collections import Counter

from tests.web.uploading import Uploaded


def wanted(execution: dict) -> dict[tuple, object]:
    facts: dict[tuple, object] = {
        (name,): execution[name] for name in ("events", "receives", "edges")
    }
    facts["messages that are in flight at the end",] = 0  # clocks tell of received ones alone
    facts["hosts",] = sorted(execution["hosts"])
    return facts | {("events of", host): count for host, count in execution["hosts"].items()}


def found(uploaded: Uploaded) -> dict[tuple, object]:
    """By each of its events: one of the log that sends or receives is several here; the first has
    its fields, the others its number."""
    events: Counter = Counter()
    receiving: set[tuple[str, int]] = set()
    kinds: Counter = Counter()
    in_flight = 0
    for process, count in _counts(uploaded).items():
        for index in range(count):
            event = uploaded.get(f"/events/{process}/{index}")
            kinds[event["kind"]] += 1
            events[process] += "event" not in event["extra"]
            if event["kind"] == "receive":
                receiving.add((process, events[process]))
            if event["flight"] is not None:
                in_flight += event["flight"]["received_index"] is None
    counts = uploaded.get()["counts"]
    assert (sum(kinds.values()), kinds["send"]) == (counts["events"], counts["messages"])
    facts: dict[tuple, object] = {
        ("events",): sum(events.values()),
        ("receives",): len(receiving),
        ("edges",): kinds["receive"],
        ("messages that are in flight at the end",): in_flight,
        ("hosts",): sorted(one["id"] for one in uploaded.get("/topology")["processes"]),
    }
    return facts | {("events of", host): count for host, count in events.items()}


def _counts(uploaded: Uploaded) -> dict[str, int]:
    """Events of each process: a cut at the end has them all inside."""
    steps = uploaded.get()["extent"]["steps"]
    answer = uploaded.api.post(
        f"/api/recordings/{uploaded.id}/cuts", {"step": steps}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.content
    return answer.json()["positions"]

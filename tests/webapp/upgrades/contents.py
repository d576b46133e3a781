"""The logs, events and people of which packages are made."""

import json
from typing import Any

SECOND = "ada@example.org"
HEADER = {
    "kind": "header", "format": "cutline", "version": 1, "name": "one transfer", "time_unit": "us",
    "processes": [{"id": "A", "state": 10}, {"id": "B", "state": 0}],
    "channels": [{"id": "A->B", "source": "A", "target": "B"}],
}  # fmt: skip
SEND = {"kind": "send", "process": "A", "channel": "A->B", "message": "m1", "value": 4, "state": 6}
RECEIVE = SEND | {"kind": "receive", "process": "B", "state": 4}
RECORDS = {
    process: {"kind": "record_state", "process": process, "snapshot": "s1"} for process in "AB"
}
CHANNEL = {"kind": "record_channel", "process": "B", "snapshot": "s1", "channel": "A->B"}


def transfer(*, name: str, messages: list[str]) -> bytes:
    """Return a log of one transfer, whose snapshot records these messages in the channel."""
    lines = [
        HEADER | {"name": name},
        SEND | {"at": 10},
        RECORDS["A"] | {"state": 6, "at": 20},
        RECORDS["B"] | {"state": 0, "at": 25},
        RECEIVE | {"at": 30},
        CHANNEL | {"messages": messages, "at": 40},
    ]
    return lines_of(*lines)


def lines_of(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


BEGUN = lines_of(SEND | {"index": 0, "at": 10}, RECORDS["A"] | {"index": 1, "state": 6, "at": 20})
"""What has come to the open recording."""
REST = lines_of(
    RECORDS["B"] | {"index": 0, "state": 0, "at": 25},
    RECEIVE | {"index": 1, "at": 30},
    CHANNEL | {"index": 2, "messages": ["m1"], "at": 40},
)
IN_PIECES = transfer(name="in pieces", messages=["m1"])
"""An upload of which the first half has come when the data are packed."""

"""Open recordings: several senders repeat what had no answer; the log must hold each event once."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from tests.campaign.client import Client

SENDERS = 5
BATCH = 20
KIND = "application/x-ndjson"


def record(clients: Sequence[Client], content: bytes, name: str, dice: Random) -> dict[str, Any]:
    """Send a log by several senders, each with a client, and close; return the answer to that.

    Raises: AssertionError if something is refused, TimeoutError.
    """
    header, *events = content.splitlines(keepends=True)
    body = {"open": True, "header": json.loads(header) | {"name": name}}
    recording = clients[0].make("/recordings", body)["id"]
    with ThreadPoolExecutor(len(clients)) as senders:
        shares = shared(events, len(clients))
        seeds = [dice.random() for _ in clients]
        address = [f"/recordings/{recording}/events"] * len(clients)
        list(senders.map(send, clients, address, shares, map(Random, seeds)))
    closed: dict[str, Any] = clients[0].make(f"/recordings/{recording}/close")
    return closed


def shared(events: Sequence[bytes], senders: int) -> list[list[bytes]]:
    """The events of each sender: those of some processes."""
    processes = [json.loads(line)["process"] for line in events]
    numbers = {process: number for number, process in enumerate(dict.fromkeys(processes))}
    shares: list[list[bytes]] = [[] for _ in range(senders)]
    for process, line in zip(processes, events, strict=True):
        shares[numbers[process] % senders].append(line)
    return shares


def send(client: Client, address: str, events: Sequence[bytes], dice: Random) -> None:
    """Send events in batches, each until it is acknowledged; some are sent twice."""
    batches = [b"".join(events[i : i + BATCH]) for i in range(0, len(events), BATCH)]
    for number, batch in enumerate(batches):
        earlier = batches[dice.randrange(number + 1)]
        for body in (batch, earlier) if dice.random() < 0.3 else (batch,):
            answer = client.insist("POST", address, body, KIND)
            assert answer.status == 200, f"{address} answered {answer.status}: {answer.body}"


def log_faults(name: str, sent: bytes, kept: bytes) -> list[str]:
    """Compare the log of a closed recording with what was sent: each event once, and in order."""
    events, found = by_process(sent), by_process(kept)
    return [
        f"{name}: process {process} sent {len(events.get(process, []))} events, and its log has "
        f"{len(found.get(process, []))} or others"
        for process in events.keys() | found.keys()
        if events.get(process) != found.get(process)
    ]


def by_process(content: bytes) -> dict[str, list[dict[str, Any]]]:
    """The events of each process, in the order of the log."""
    events: dict[str, list[dict[str, Any]]] = {}
    for line in content.splitlines()[1:]:
        event = json.loads(line)
        events.setdefault(event["process"], []).append(event)
    return events

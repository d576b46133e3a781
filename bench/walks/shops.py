"""Five shops that send goods over real sockets, take snapshots, and write the log of both.

For `docs/walks.md`. Prints the log, which Cutline reads as it is:

    python bench/walks/shops.py > shops.jsonl

Each shop is a thread that follows the algorithm of Chandy and Lamport, with one mistake: in
snapshot 2 Oslo makes a delivery after it has recorded its stock and before its markers go out.
"""

import json
import queue
import random
import socket
import sys
import threading
import time
from contextlib import suppress

SHOPS = ("Paris", "Rome", "Oslo", "Bern", "Wien")
ROADS = (
    *(("Paris", "Rome"), ("Rome", "Paris"), ("Rome", "Oslo"), ("Oslo", "Paris")),
    *(("Paris", "Bern"), ("Bern", "Oslo"), ("Wien", "Paris"), ("Oslo", "Wien"), ("Bern", "Wien")),
)
STOCK = 100
SECONDS = 1.8
STARTS = {"snapshot-1": "Paris", "snapshot-2": "Rome", "snapshot-3": "Wien"}
BEGAN = time.monotonic_ns()
LOG: list[dict] = []
LOCK = threading.Lock()


class Shop(threading.Thread):
    """A shop with goods in stock, a socket to each neighbour, and an inbox."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.stock = STOCK
        self.sockets: dict[str, socket.socket] = {}
        self.inbox: queue.Queue[tuple[str, dict]] = queue.Queue()
        self.sent = 0
        self.random = random.Random(name)
        self.open: dict[str, dict[str, list[str]]] = {}  # by snapshot, then by neighbour

    def log(self, kind: str, **fields: object) -> None:
        with LOCK:
            at = (time.monotonic_ns() - BEGAN) // 1000
            LOG.append({"kind": kind, "process": self.name, **fields, "at": at})

    def run(self) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            with suppress(queue.Empty):
                self.receive(*self.inbox.get(timeout=self.random.uniform(0.001, 0.02)))
            if self.random.random() < 0.3 and self.stock > 10 and time.monotonic() < end - 0.6:
                self.deliver(self.random.choice(list(self.sockets)), self.random.randint(1, 9))

    def post(self, target: str, letter: dict) -> None:
        self.sockets[target].sendall(json.dumps(letter).encode() + b"\n")

    def deliver(self, target: str, goods: int) -> None:
        self.sent += 1
        self.stock -= goods
        message = f"{self.name}-{self.sent}"
        channel = f"{self.name}->{target}"
        self.log("send", channel=channel, message=message, value=goods, state=self.stock)
        self.post(target, {"message": message, "goods": goods})

    def receive(self, source: str, letter: dict) -> None:
        channel = f"{source}->{self.name}"
        if "start" in letter:
            self.record(letter["start"])
        elif "marker" in letter:
            snapshot = letter["marker"]
            self.log("marker_receive", channel=channel, snapshot=snapshot)
            if snapshot not in self.open:
                self.record(snapshot)
            found = self.open[snapshot].pop(source)
            self.log("record_channel", snapshot=snapshot, channel=channel, messages=found)
        else:
            self.stock += letter["goods"]
            fields = {"message": letter["message"], "value": letter["goods"], "state": self.stock}
            self.log("receive", channel=channel, **fields)
            for channels in self.open.values():
                channels.get(source, []).append(letter["message"])

    def record(self, snapshot: str) -> None:
        self.open[snapshot] = {source: [] for source, target in ROADS if target == self.name}
        self.log("record_state", snapshot=snapshot, state=self.stock)
        if (self.name, snapshot) == ("Oslo", "snapshot-2"):
            self.deliver("Wien", 3)  # the mistake: markers come first
        for target in self.sockets:
            self.log("marker_send", channel=f"{self.name}->{target}", snapshot=snapshot)
            self.post(target, {"marker": snapshot})


def carry(source: str, target: Shop, connection: socket.socket) -> None:
    """Bring letters to a shop in order, each after a while."""
    ways = random.Random(source + target.name)
    for line in connection.makefile():
        time.sleep(ways.uniform(0.002, 0.02))
        target.inbox.put((source, json.loads(line)))


def build(shops: dict[str, Shop]) -> None:
    """Connect the shops by sockets."""
    for source, target in ROADS:
        near, far = socket.socketpair()
        shops[source].sockets[target] = near
        threading.Thread(target=carry, args=(source, shops[target], far), daemon=True).start()


def main() -> None:
    shops = {name: Shop(name) for name in SHOPS}
    build(shops)
    for shop in shops.values():
        shop.start()
    for snapshot, initiator in STARTS.items():
        time.sleep(0.3)
        shops[initiator].inbox.put(("", {"start": snapshot}))
    for shop in shops.values():
        shop.join()
    header = {
        **{"kind": "header", "format": "cutline", "version": 1, "name": "shops", "time_unit": "us"},
        "processes": [{"id": name, "state": STOCK} for name in SHOPS],
        "channels": [{"id": f"{a}->{b}", "source": a, "target": b} for a, b in ROADS],
    }
    sys.stdout.writelines(json.dumps(line) + "\n" for line in (header, *LOG))


if __name__ == "__main__":
    main()

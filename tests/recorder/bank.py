"""A bank: one process of a system whose money stays the same, whoever is killed.

``python -m tests.recorder.bank NAME FOLDERS PORTS EPOCH SNAPSHOT``; without a snapshot: ``-``. It
prints ``ready`` when it is connected, and ends with a sentence when a peer is lost. After its
rounds it prints ``finished`` and goes on to receive until a line comes in. With PAYS_FIRST in the
environment it pays before it is connected, and prints ``paid``.
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from snapshots.recorder import GivenUp, Log, Node, PeerLost, Restore, StaleEpoch, header

START = 1000
LOST_A_PEER, OLD_MESSAGE, STALE = 3, 4, 5


class Bank:
    def __init__(self, name, names, epoch):
        self.name, self.others = name, [other for other in names if other != name]
        self.epoch = epoch
        self.balance = START
        self.is_restored = self.is_finished = False

    def state(self):
        return self.balance

    def set_state(self, balance):
        self.balance = balance

    def receive(self, message):
        """Take the money; now and then send some on, in the same step."""
        if self.is_restored and int(message.id.split(".")[0]) != self.epoch:
            print(f"{self.name} got {message} in epoch {self.epoch}", flush=True)
            os._exit(OLD_MESSAGE)  # nobody can take this for another end
        self.balance += message.value
        if random.random() < 0.3 and not self.is_finished:
            self.pay()

    def pay(self):
        amount = random.randint(0, self.balance)
        self.balance -= amount
        self.node.post(random.choice(self.others), amount)

    async def run(self, node, rounds):
        self.is_restored = True
        if "PAYS_FIRST" in os.environ:
            self.pay()
            print("paid", flush=True)
        await node.connected()
        print("ready", flush=True)
        for _ in range(rounds):
            for _ in range(5):
                self.pay()
            await asyncio.sleep(random.uniform(0, 0.01))
            if random.random() < 0.2:
                await taken(node)
        self.is_finished = True
        print("finished", flush=True)
        await asyncio.to_thread(sys.stdin.readline)


async def taken(node):
    try:
        return await node.snapshot(timeout=20)
    except GivenUp:
        return None


def node_of(name, folders, ports, bank, restore=None, **options):
    names = "ABCDEFGH"[: len(ports)]
    peers = {peer: ("127.0.0.1", port) for peer, port in zip(names, ports, strict=True)}
    bank.node = Node(
        name,
        peers,
        folder=Path(folders) / name,
        secret="of the banks",
        state=bank.state,
        set_state=bank.set_state,
        receive=bank.receive,
        restore=restore,
        **options,
    )
    return bank.node


def banks_header(names):
    channels = [f"{source}->{target}" for source in names for target in names if source != target]
    return header("banks", dict.fromkeys(names, START), channels)


async def main(name, folders, ports, epoch, snapshot, rounds=10**9):
    ports = [int(port) for port in ports.split(",")]
    names = "ABCDEFGH"[: len(ports)]
    bank = Bank(name, names, int(epoch))
    restore = Restore(None if snapshot == "-" else snapshot, int(epoch))
    with Log.to_file(name, Path(folders) / f"{name}.jsonl", banks_header(names)) as log:
        try:
            async with node_of(name, folders, ports, bank, restore, log=log) as node:
                await bank.run(node, int(rounds))
        except PeerLost as lost:
            print(lost, flush=True)
            sys.exit(LOST_A_PEER)
        except StaleEpoch as stale:
            print(stale, flush=True)
            sys.exit(STALE)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

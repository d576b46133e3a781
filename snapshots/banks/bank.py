"""One bank: a process that pays the others at random moments. ``system.py`` starts it.

It reads a line of JSON with what it has to know, and then orders, one a line: ``snapshot``,
``leave``, or ``clock NAME AT``. It prints what happens as lines of JSON. When its input ends, the
process that started it is gone, and it ends too.
"""

import asyncio
import json
import os
import random
import sys
import time
from typing import Any

from snapshots.recorder import GivenUp, Log, Message, Node, PeerLost, Restore, StaleEpoch

_TELL_SECONDS = 0.2  # between two lines with the balance
_SNAPSHOT_SECONDS = 20.0
LOST_A_PEER = 3


class Bank:
    """The money of one bank, and what it does with it."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.name: str = given["name"]
        self.others = [name for name in given["peers"] if name != self.name]
        self.balance: int = given["start"]
        self.is_leaving = asyncio.Event()
        self._is_connected = False
        self._under_way: set[asyncio.Task[None]] = set()

    def set_state(self, balance: int) -> None:
        self.balance = balance

    def receive(self, message: Message) -> None:
        """Take the money. A message of another epoch may only come during the restore."""
        if self._is_connected and int(message.id.split(".")[0]) != self.given["epoch"]:
            say(fault=f"{message} came in epoch {self.given['epoch']}")
            os._exit(1)
        self.balance += message.value

    async def run(self) -> int:
        """Pay until it is told to leave. Return the exit code."""
        given, peers = self.given, {k: tuple(v) for k, v in self.given["peers"].items()}
        self.log = Log.to_server(
            self.name,
            given["address"],
            given["header"],
            token=given["token"],
            spool=given["spool"],
            at_once=True,
            pauses=(0.2, 2.0),
            gather=0.2,
        )
        self.node = Node(
            self.name,
            peers,
            folder=given["folder"],
            secret=given["secret"],
            state=lambda: self.balance,
            set_state=self.set_state,
            receive=self.receive,
            restore=Restore(given["snapshot"], given["epoch"]),
            log=self.log,
        )
        try:
            async with self.node:
                await self._work()
        except (PeerLost, StaleEpoch) as lost:
            say(lost=str(lost))
            return LOST_A_PEER
        finally:
            await asyncio.to_thread(self.log.close, 10.0 if self.is_leaving.is_set() else 0.0)
        return 0

    async def _work(self) -> None:
        working = [asyncio.ensure_future(each()) for each in (self._trade, self._obey)]
        failing: asyncio.Future[Any] = asyncio.ensure_future(self.node.wait())
        leaving: asyncio.Future[Any] = asyncio.ensure_future(self.is_leaving.wait())
        try:
            await asyncio.wait([*working, failing, leaving], return_when=asyncio.FIRST_COMPLETED)
            for task in (*working, failing):
                if task.done():
                    task.result()
        finally:
            for task in (*working, *self._under_way, failing, leaving):
                task.cancel()

    async def _trade(self) -> None:
        await self.node.connected()
        self._is_connected = True
        say(ready=self.balance)
        await asyncio.gather(self._pay(), self._tell())

    async def _pay(self) -> None:
        while True:
            await asyncio.sleep(random.expovariate(self.given["rate"]))
            amount = random.randint(0, self.balance // 4)
            if amount:
                self.balance -= amount
                await self.node.send(random.choice(self.others), amount)

    async def _tell(self) -> None:
        while True:
            say(balance=self.balance)
            await asyncio.sleep(_TELL_SECONDS)

    async def _obey(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := (await reader.readline()).decode().split():
            if line[0] == "leave":
                self.is_leaving.set()
            elif line[0] == "snapshot":
                self._begin(self._take())
            elif line[0] == "clock":
                self._begin(self._read_by_clock(line[1], int(line[2])))
        if not self.is_leaving.is_set():
            os._exit(0)  # who started this process is gone

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _take(self) -> None:
        began = time.monotonic()
        try:
            name = await self.node.snapshot(timeout=_SNAPSHOT_SECONDS)
        except (GivenUp, PeerLost) as reason:
            say(given_up=str(reason))
        else:
            say(snapshot=name, seconds=round(time.monotonic() - began, 3))

    async def _read_by_clock(self, name: str, at: int) -> None:
        """Record the state when the own clock, which is wrong by ``skew``, shows this moment."""
        here = time.time_ns() + self.given["skew"]
        await asyncio.sleep(max(0.0, (at - here) / 1e9))
        self.log.recorded(name, self.balance)
        say(clock=name, balance=self.balance)


def say(**what: Any) -> None:
    """Write one line of JSON for the process that reads it."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run the bank that the first line of the input describes."""
    given = b""
    while not given.endswith(b"\n"):  # orders come only when the bank has said that it is ready
        if not (more := os.read(0, 65_536)):
            sys.exit("Nobody says which bank this is.")
        given += more
    sys.exit(asyncio.run(Bank(json.loads(given)).run()))


if __name__ == "__main__":
    main()

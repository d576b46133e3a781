"""A slow network between the banks: what goes in comes out later, in the same order.

On one machine a payment arrives at once, so a snapshot would hardly ever find one under way.
"""

import asyncio
import threading
from contextlib import suppress

Address = tuple[str, int]
Waiting = asyncio.Queue[tuple[float, bytes]]
"""When each chunk is due, in seconds of the loop, and its bytes; empty at the end."""

_CHUNK = 64 * 1024
_MOST_WAITING = 1000  # chunks in one direction of a connection, before its sender has to wait


class SlowNetwork:
    """Addresses that lead to others, by way of a thread of its own."""

    def __init__(self, seconds: float) -> None:
        """Begin. ``seconds``: how long everything is on its way."""
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()
        threading.Thread(target=self._loop.run_forever, name="slow network", daemon=True).start()

    def to(self, address: Address) -> Address:
        """Return a new address that leads to this one. Raises: OSError."""
        return asyncio.run_coroutine_threadsafe(self._listen(address), self._loop).result()

    def cut(self) -> None:
        """End all addresses and connections so far, with what is under way in them."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    async def _listen(self, address: Address) -> Address:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._connect(address, reader, writer))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self._servers.append(server)
        host, port = server.sockets[0].getsockname()
        return host, port

    async def _cut(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connect(
        self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            with suppress(OSError):  # nobody listens there yet, or a process was killed
                there = await asyncio.open_connection(*address)
                try:
                    await asyncio.gather(
                        self._carry(reader, there[1]), self._carry(there[0], writer)
                    )
                finally:
                    there[1].close()
        finally:
            writer.close()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        """Carry everything, and then the end, in one direction. Raises: OSError."""
        waiting: Waiting = asyncio.Queue(_MOST_WAITING)
        reading = asyncio.ensure_future(self._read(source, waiting))
        try:
            while True:
                due, data = await waiting.get()
                await asyncio.sleep(due - self._loop.time())
                if not data:
                    target.close()
                    return
                target.write(data)
                await target.drain()
        finally:
            reading.cancel()

    async def _read(self, source: asyncio.StreamReader, waiting: Waiting) -> None:
        with suppress(OSError):  # it ended in the middle
            while data := await source.read(_CHUNK):
                await waiting.put((self._loop.time() + self._seconds, data))
        await waiting.put((self._loop.time() + self._seconds, b""))

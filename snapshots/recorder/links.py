"""The connections of a node: one from it to each peer, and one from each peer to it.

A channel is one TCP connection, so it keeps order. A connection that ends without a farewell has
lost messages, which no later connection could bring back: the node fails, and the system goes back
to a snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from .wire import BadFrame, Refused, frame, read_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .wire import Handshake

Handler = Callable[[str, Any], None]

_LOG = logging.getLogger("cutline_recorder")
_MOST_STRANGERS = 64  # connections that have not proved who they are
_MOST_QUEUED = 1024  # frames to one peer, before who sends has to wait
_RETRY_SECONDS = (0.02, 1.0)  # the pauses between attempts to connect grow
_FAREWELL_SECONDS = 1.0
_FAREWELL = {"type": "farewell"}
_REFUSALS = (Refused, BadFrame, EOFError, OSError, asyncio.TimeoutError)


class PeerLost(RuntimeError):
    """The connection with a peer has ended. All processes have to go back to a snapshot."""


class StaleEpoch(RuntimeError):
    """The other processes have gone back to a snapshot without this one."""


class Outgoing:
    """The frames to one peer, in order. They wait until it can be reached."""

    def __init__(self, peer: str, address: Any, handshake: Handshake) -> None:
        self.peer = peer
        self.left = asyncio.Event()
        self._address = address
        self._handshake = handshake
        self._frames: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.is_connected = asyncio.Event()

    def put(self, data: bytes) -> None:
        self._frames.append(data)
        self._changed.set()
        if len(self._frames) >= _MOST_QUEUED:
            self._room.clear()

    async def room(self) -> None:
        """Wait until the queue is short enough for one more frame, or has ended."""
        await self._room.wait()

    def leave(self) -> None:
        """Take note that the peer said farewell."""
        self.left.set()
        self.end_waiting()

    def end_waiting(self) -> None:
        """Let those go on who wait for room that there will never be."""
        self._room.set()

    async def run(self) -> None:
        """Connect, and send until the peer leaves. Raises: PeerLost, StaleEpoch."""
        reader, writer = await self._connected()
        self.is_connected.set()
        sending = asyncio.ensure_future(self._send(writer))
        ending = asyncio.ensure_future(reader.read(1))  # the peer sends nothing here
        try:
            await asyncio.wait({sending, ending}, return_when=asyncio.FIRST_COMPLETED)
            with suppress(asyncio.TimeoutError):  # its farewell comes on the other connection
                await asyncio.wait_for(self.left.wait(), _FAREWELL_SECONDS)
            if not self.left.is_set():
                raise PeerLost(f"The connection to {self.peer} has ended.")
        finally:
            for task in (sending, ending):
                task.cancel()
            await asyncio.gather(sending, ending, return_exceptions=True)
            writer.close()

    async def sent_all(self) -> None:
        """Wait until every frame is on its way, if the peer is there at all."""
        while self._frames and self.is_connected.is_set() and not self.left.is_set():
            await asyncio.sleep(0.01)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        pause, longest = _RETRY_SECONDS
        while True:
            with suppress(BadFrame, EOFError, OSError, asyncio.TimeoutError):
                if (streams := await self._tried()) is not None:
                    return streams
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, longest)

    async def _tried(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connect once. Return None if somebody else answers, or the peer in an older epoch."""
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            await self._handshake.connect(reader, writer, self.peer)
        except Refused as refusal:
            writer.close()
            _LOG.info("%s is not taken as %s: %s.", self._address, self.peer, refusal)
            if refusal.epoch is not None and refusal.epoch > self._handshake.epoch:
                raise StaleEpoch(f"{refusal}.") from None
            return None
        except BaseException:
            writer.close()
            raise
        return reader, writer

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while True:
            while self._frames:
                writer.write(self._frames[0])
                await writer.drain()
                self._frames.popleft()
                if len(self._frames) < _MOST_QUEUED:
                    self._room.set()
            self._changed.clear()
            await self._changed.wait()


class Links:
    """All connections of a node. ``handle`` is called with each frame that a peer sends."""

    def __init__(
        self,
        name: str,
        peers: Mapping[str, Any],
        handshake: Handshake,
        most_bytes: int,
        handle: Handler,
        fail: Callable[[BaseException], None],
    ) -> None:
        self._name, self._peers = name, dict(peers)
        self._handshake, self._most_bytes = handshake, most_bytes
        self._handle, self._fail = handle, fail
        self._own = self._peers.pop(name)
        self.outgoing = {
            peer: Outgoing(peer, address, handshake) for peer, address in self._peers.items()
        }
        self._heard: set[str] = set()
        self._strangers = 0
        self._tasks: set[asyncio.Future[Any]] = set()

    async def open(self) -> None:
        """Listen, and begin to connect. Raises: OSError if the port is taken."""
        self._server = await asyncio.start_server(self._accept, *self._own)
        for link in self.outgoing.values():
            self._start(link.run())

    def put(self, peer: str, content: Any) -> None:
        """Queue a frame. Raises: ValueError if it is too large, PeerLost if the peer has left."""
        data = frame(content, self._most_bytes)
        self.check(peer)
        self.outgoing[peer].put(data)

    def check(self, peer: str) -> None:
        """Raises: PeerLost if the peer has left."""
        if self.outgoing[peer].left.is_set():
            raise PeerLost(f"{peer} has left.")

    def tell(self, peer: str, content: Any) -> None:
        """Queue a frame, unless the peer has left."""
        if not self.outgoing[peer].left.is_set():
            self.put(peer, content)

    def cut(self) -> None:
        """End all connections at once."""
        self._server.close()
        for link in self.outgoing.values():
            link.end_waiting()
        for task in self._tasks:
            task.cancel()

    @property
    def gone(self) -> list[str]:
        """The peers that said farewell."""
        return [peer for peer, link in self.outgoing.items() if link.left.is_set()]

    async def close(self, farewell: bool) -> None:
        """Close everything; with a farewell, peers do not take it for a lost connection.

        What a peer has queued for this process by then is dropped.
        """
        if farewell:
            for link in self.outgoing.values():
                link.put(frame(_FAREWELL, self._most_bytes))
            with suppress(asyncio.TimeoutError):
                waiting = (link.sent_all() for link in self.outgoing.values())
                await asyncio.wait_for(asyncio.gather(*waiting), 5)
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Find out who has connected. Whoever is no peer is sent away and disturbs nobody."""
        where = writer.get_extra_info("peername")
        self._strangers += 1
        try:
            if self._strangers > _MOST_STRANGERS:
                raise Refused("too many connections wait for a proof of who they are")
            peer = await self._handshake.accept(reader, writer, self._peers)
            if peer in self._heard:
                raise Refused(f"{peer} is connected already")
        except BaseException as error:
            writer.close()
            if not isinstance(error, _REFUSALS):
                raise
            reason = str(error) or "no proof came"
            _LOG.warning("A connection from %s is refused: %s.", where, reason)
            return
        finally:
            self._strangers -= 1
        self._heard.add(peer)
        self._start(self._listen(peer, reader, writer))

    async def _listen(
        self, peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while True:
                content = await read_frame(reader, self._most_bytes)
                if content == _FAREWELL:
                    self.outgoing[peer].leave()
                    return
                self._handle(peer, content)
        except EOFError:
            raise PeerLost(f"The connection from {peer} has ended.") from None
        except (OSError, BadFrame) as error:
            raise PeerLost(f"The connection from {peer} has ended: {error}.") from error
        finally:
            writer.close()

"""What goes over a connection between two nodes: frames, and the proof of who is at the other end.

A frame is a length of four bytes and JSON. Before anything else both ends prove that they know the
secret of the system, each with the HMAC of a number that the other has just made up; the proof
also covers both names and the epoch. What follows is neither signed nor encrypted.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from typing import Any

_LENGTH_BYTES = 4
_MOST_HANDSHAKE_BYTES = 4096
_HANDSHAKE_SECONDS = 5.0


class BadFrame(Exception):
    """The bytes on a connection are none that a node sends."""


class Refused(Exception):
    """The other end is not who or when it should be. ``epoch``: its epoch, if it proved it."""

    def __init__(self, reason: str, epoch: int | None = None) -> None:
        super().__init__(reason)
        self.epoch = epoch


def frame(content: Any, most_bytes: int) -> bytes:
    """Return the bytes of a frame. Raises: ValueError if it is too large or no JSON."""
    data = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    if len(data) > most_bytes:
        raise ValueError(f"A message has {len(data)} bytes; at most {most_bytes} are allowed.")
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


async def read_frame(reader: asyncio.StreamReader, most_bytes: int) -> Any:
    """Return what the next frame holds. Raises: BadFrame, EOFError, OSError."""
    size = int.from_bytes(await reader.readexactly(_LENGTH_BYTES), "big")
    if size > most_bytes:
        raise BadFrame(f"a frame of {size} bytes; at most {most_bytes} are allowed")
    data = await reader.readexactly(size)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"a frame that is not JSON: {error}") from None


class Handshake:
    """Proves a node of an epoch to its peers, and has them prove themselves."""

    def __init__(self, secret: bytes, name: str, epoch: int) -> None:
        self._secret, self._name, self.epoch = secret, name, epoch

    async def accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peers: Any
    ) -> str:
        """Return the name of the peer that has connected.

        Raises: Refused, BadFrame, EOFError, OSError, asyncio.TimeoutError.
        """
        challenge = secrets.token_hex(16)
        await _write(writer, {"challenge": challenge})
        hello = await _read(reader)
        source, epoch, counter = _fields(hello, source=str, epoch=int, challenge=str)
        said = _fields(hello, proof=str)[0]
        known = self._proof("hello", source, self._name, epoch, challenge, counter)
        if not _is_same(known, said):
            raise Refused("it does not know the secret of the system")
        if source not in peers:
            raise Refused(f"{source} is not one of the peers")
        answer = self._proof("answer", self._name, source, self.epoch, counter, challenge)
        await _write(writer, {"epoch": self.epoch, "proof": answer})
        _check_epoch(source, epoch, self.epoch)
        return str(source)

    async def connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: str
    ) -> None:
        """Prove to a peer who this is, and check that it is the peer, in the same epoch.

        Raises: Refused, BadFrame, EOFError, OSError, asyncio.TimeoutError.
        """
        challenge = secrets.token_hex(16)
        theirs = _fields(await _read(reader), challenge=str)[0]
        proof = self._proof("hello", self._name, peer, self.epoch, theirs, challenge)
        hello = {"source": self._name, "epoch": self.epoch, "challenge": challenge}
        await _write(writer, {**hello, "proof": proof})
        epoch, said = _fields(await _read(reader), epoch=int, proof=str)
        known = self._proof("answer", peer, self._name, epoch, challenge, theirs)
        if not _is_same(known, said):
            raise Refused(f"it is not {peer}, or does not know the secret of the system")
        _check_epoch(peer, epoch, self.epoch)

    def _proof(self, *said: Any) -> str:
        return hmac.new(self._secret, json.dumps(said).encode(), "sha256").hexdigest()


def _is_same(known: str, said: str) -> bool:
    """Compare two proofs. What was said may be any text, also half of a surrogate pair."""
    return hmac.compare_digest(known.encode(), said.encode(errors="replace"))


async def _write(writer: asyncio.StreamWriter, content: Any) -> None:
    writer.write(frame(content, _MOST_HANDSHAKE_BYTES))
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> Any:
    return await asyncio.wait_for(read_frame(reader, _MOST_HANDSHAKE_BYTES), _HANDSHAKE_SECONDS)


def _fields(content: Any, **types: type) -> list[Any]:
    if not isinstance(content, dict):
        raise BadFrame("a frame that is not an object")
    for field, kind in types.items():
        if type(content.get(field)) is not kind:
            raise BadFrame(f"a frame without {field}")
    return [content[field] for field in types]


def _check_epoch(peer: str, theirs: int, ours: int) -> None:
    if theirs != ours:
        raise Refused(f"{peer} is in epoch {theirs}, this node in epoch {ours}", theirs)

"""An object store behind a line that can be cut or slowed, since one that is killed forgets all."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.objects import server

CHUNK = 2**18


class Line:
    """A TCP line from a port of its own to another one. ``delay``: seconds before each chunk."""

    def __init__(self, port: int, target: int) -> None:
        self.port, self._target = port, target
        self.delay = 0.0
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="line", daemon=True).start()
        self.join()

    def join(self) -> None:
        """Take connections."""
        self._server = self._run(asyncio.start_server(self._carry, "127.0.0.1", self.port))

    def cut(self) -> None:
        """Break every connection, and refuse new ones."""
        self._run(self._break())

    def end(self) -> None:
        """Break every connection, and take none any more."""
        if self._loop.is_running():
            self.cut()
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _break(self) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        ends = {writer, far_writer}
        self._open |= ends
        there = asyncio.create_task(self._copy(reader, far_writer))
        await self._copy(far_reader, writer)
        await there
        self._open -= ends

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK):
                await asyncio.sleep(self.delay)
                writer.write(chunk)
                await writer.drain()
        writer.close()


class Objects:
    """Moto's server, with a bucket for one installation, at the end of a line."""

    def __init__(self, port: int) -> None:
        self.server = server.ObjectServer()
        self._port = port

    def start(self) -> None:
        self.server.start()
        self.line = Line(self._port, server.PORT)
        self.bucket = self.server.bucket()

    def stop(self) -> None:
        self.server.stop()
        self.line.end()

    @property
    def settings(self) -> dict[str, str]:
        return server.ENVIRONMENT | {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}",
            "STORE_URL": f"s3://{self.bucket}/store",
            "UPLOADS_URL": f"s3://{self.bucket}/uploads",
        }

    def keys(self, folder: str) -> list[str]:
        """The objects below a folder, without its name."""
        pages = self.server.client.get_paginator("list_objects_v2")
        found = pages.paginate(Bucket=self.bucket, Prefix=f"{folder}/")
        return [
            item["Key"].removeprefix(f"{folder}/")
            for page in found
            for item in page.get("Contents", [])
        ]

    def read(self, key: str) -> bytes:
        content: bytes = self.server.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return content

    @contextmanager
    def cut(self) -> Iterator[None]:
        self.line.cut()
        try:
            yield
        finally:
            self.line.join()

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        self.line.delay = seconds
        try:
            yield
        finally:
            self.line.delay = 0.0

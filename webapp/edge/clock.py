"""Limit how slowly a client may send."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Patience:
    """Waits for a client at most ``seconds``, plus the time that its bytes earn.

    Only the time in ``wait_for`` counts, so that a slow disk is not held against the client.
    """

    def __init__(self, seconds: float, bytes_per_second: int) -> None:
        self._most, self._rate = seconds, bytes_per_second
        self._left = float(seconds)

    async def wait_for(self, piece: Awaitable[T]) -> T:
        """Wait for a piece. Raises: TimeoutError."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            return await asyncio.wait_for(piece, max(self._left, 0))
        finally:
            self._left -= clock() - began

    def earn(self, size: int) -> None:
        """Add the time that ``size`` bytes may take, up to the whole time."""
        self._left = min(self._left + size / self._rate, self._most)

"""Avoid waiting again and again for a server that does not answer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Silent(ConnectionError):
    """The server did not answer a moment ago, so the request was not sent."""


class Silence:
    """Remembers for ``seconds`` that a server did not answer."""

    def __init__(self, server: str, seconds: float = 5.0) -> None:
        self.server, self.seconds = server, seconds
        self._until = 0.0

    @contextmanager
    def respected(self, *errors: type[BaseException]) -> Iterator[None]:
        """Run a block that uses the server. Raises: Silent if it just failed with ``errors``."""
        if time.monotonic() < self._until:
            raise Silent(f"{self.server} did not answer a moment ago")
        try:
            yield
        except errors:
            self._until = time.monotonic() + self.seconds
            raise

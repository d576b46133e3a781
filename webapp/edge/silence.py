"""A server that does not answer is not waited for again and again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Silent(ConnectionError):
    """The server did not answer a moment ago, so it was not asked."""


class Silence:
    """Remembers for ``seconds`` that a server did not answer."""

    def __init__(self, server: str, seconds: float = 5.0) -> None:
        self.server, self.seconds = server, seconds
        self._until = 0.0

    @contextmanager
    def respected(self, *errors: type[BaseException]) -> Iterator[None]:
        """Raises: Silent at once where the server has just failed with one of ``errors``."""
        if time.monotonic() < self._until:
            raise Silent(f"{self.server} did not answer a moment ago")
        try:
            yield
        except errors:
            self._until = time.monotonic() + self.seconds
            raise

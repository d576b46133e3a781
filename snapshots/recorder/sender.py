"""Sends what waits in a spool to an open recording, until the server has taken it.

What can pass (the server is away or overloaded, a token is not valid yet) is tried again, after
growing pauses. What cannot (the recording is closed, an event contradicts one that is there) stops
the sending for this run of the process; the events stay in the spool.
"""

from __future__ import annotations

import http.client
import logging
import random
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from .spool import Position, Spool

_LOG = logging.getLogger("cutline_recorder")
_MOST_BYTES = 1024 * 1024
_TOO_LARGE = 413
_MOST_REFUSED = 3  # single events in a row that are left out as too large
_GATHER_SECONDS = 0.25
_MAY_PASS = frozenset({401, 403, 404, 408, 425, 429})


def check(address: str, token: str) -> None:
    """Raises: ValueError, which does not quote the token, for it may be written to a log."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{address} is not the http or https address of a recording.")
    if not token or not all("!" <= character <= "~" for character in token):
        raise ValueError(
            "The token is empty, or has a character that no token has, such as a line break."
        )


class Sender:
    """One thread and one connection. ``problem`` says in a sentence why nothing is sent."""

    def __init__(
        self,
        address: str,
        token: str,
        spool: Spool,
        *,
        timeout: float = 30.0,
        pauses: tuple[float, float] = (0.5, 30.0),
        gather: float = _GATHER_SECONDS,
    ) -> None:
        """Begin to send.

        address: of the recording, such as ``https://cutline.example.org/api/recordings/12``.
        timeout: seconds that the server may take for an answer.
        pauses: the shortest and the longest pause before another attempt, in seconds.
        gather: seconds in which events gather before they are sent together; a request costs the
            server as much as some hundred events.
        """
        check(address, token)
        parts = urlsplit(address)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=timeout)
        self._path = parts.path.rstrip("/") + "/events"
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/x-ndjson",
        }
        self._spool = spool
        self._pauses = pauses
        self._gather = gather
        self._most_bytes = _MOST_BYTES
        self._failures = 0
        self._refused_in_a_row = 0
        self._has_more = threading.Event()
        self._ends = threading.Event()
        self._deadline = float("inf")
        self.problem: str | None = None
        self.refused = 0
        self._thread = threading.Thread(target=self._run, name="cutline sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that there is more to send."""
        self._has_more.set()

    def close(self, timeout: float) -> None:
        """Send what waits, for at most so many seconds, and end. The rest stays in the spool."""
        self._deadline = time.monotonic() + timeout
        self._ends.set()
        self._has_more.set()
        self._thread.join(timeout)
        if self._thread.is_alive() and (sock := self._connection.sock) is not None:
            sock.close()  # the thread may wait there for an answer that does not come

    def _run(self) -> None:
        try:
            while time.monotonic() < self._deadline:
                self._has_more.clear()
                data, behind = self._spool.read(self._most_bytes)
                if data:
                    if not self._sent(data, behind):
                        return
                    if len(data) < self._most_bytes // 2:
                        self._ends.wait(self._gather)
                elif self._ends.is_set():
                    return
                else:
                    self._has_more.wait()
                    self._ends.wait(self._gather)
        except Exception as error:  # a thread that ends unseen would be silence
            self._report(f"The events cannot be read from the spool: {error}.")
        finally:
            self._connection.close()

    def _sent(self, data: bytes, behind: Position) -> bool:
        """Send lines once. Return False if sending has no sense any more."""
        try:
            status, text = self._post(data)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            self._wait(f"The server does not answer: {str(error) or type(error).__name__}.")
            return True
        except ValueError:  # what it says may quote a header, so it is not repeated
            self._report("No request can be made for this address.")
            return False
        if 200 <= status < 300:
            self._spool.take(behind)
            self._failures, self._refused_in_a_row, self.problem = 0, 0, None
            self._most_bytes = min(_MOST_BYTES, 2 * self._most_bytes)
        elif status == _TOO_LARGE and self._made_smaller(data, behind):
            pass
        elif status >= 500 or status in _MAY_PASS:
            self._wait(f"The server answers with {status}: {text}")
        else:
            self._report(
                f"The server refuses the events with {status}: {text} They stay in the spool, and "
                "are tried again when the process starts the next time."
            )
            return False
        return True

    def _post(self, data: bytes) -> tuple[int, str]:
        if self._connection.sock is not None:
            try:
                return self._posted_once(data)
            except ConnectionError:  # the server has closed it while it was idle
                self._connection.close()
        return self._posted_once(data)

    def _posted_once(self, data: bytes) -> tuple[int, str]:
        self._connection.request("POST", self._path, data, self._headers)
        answer = self._connection.getresponse()
        text = answer.read(1000).decode(errors="replace").strip()
        if not answer.isclosed():  # the rest would be taken for the next answer
            self._connection.close()
        return answer.status, text

    def _made_smaller(self, data: bytes, behind: Position) -> bool:
        """Send less at a time. An event that is too large by itself is left out, and that said.

        Return False if that has been so for several in a row: then the limit is none for events.
        """
        if data.count(b"\n") > 1:
            self._most_bytes = max(1, len(data) // 2)
            return True
        if self._refused_in_a_row == _MOST_REFUSED:
            return False
        self._refused_in_a_row += 1
        self.refused += 1
        _LOG.warning("The server refuses an event as too large, so it is missing: %s", data[:100])
        self._spool.take(behind)
        return True

    def _wait(self, problem: str) -> None:
        if self._failures == 0:
            self._report(problem + " The events wait on disk.")
        shortest, longest = self._pauses
        pause = min(longest, shortest * 2 ** min(self._failures, 16))
        self._failures += 1
        left = self._deadline - time.monotonic()
        self._ends.wait(max(0.0, min(pause * random.uniform(0.5, 1.0), left)))
        if self._ends.is_set():
            time.sleep(max(0.0, min(0.1, left)))

    def _report(self, problem: str) -> None:
        self.problem = problem
        _LOG.warning("%s", problem)

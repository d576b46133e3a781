"""A browser without a screen: cookies, forms and websockets, at any of the web processes."""

import urllib.request
from contextlib import AbstractContextManager
from http.cookiejar import CookieJar
from random import Random
from urllib.parse import urlencode, urlsplit

from websockets.sync.client import ClientConnection, connect

from tests.campaign.system import System

TIMEOUT_SECONDS = 60


class Visitor:
    """Somebody with cookies of their own. Each request goes to one of the web processes."""

    def __init__(self, system: System, dice: Random) -> None:
        self._system = system
        self._dice = dice
        self._cookies = CookieJar()
        handler = urllib.request.HTTPCookieProcessor(self._cookies)
        self._opener = urllib.request.build_opener(handler)

    def get(self, path: str) -> str:
        """The page at a path, or at the path of a whole address. Raises: HTTPError."""
        return self._open(path, None)

    def post(self, path: str, **fields: object) -> str:
        """Send a form, and return the page that follows. Raises: HTTPError."""
        return self._open(path, urlencode(fields | {"csrfmiddlewaretoken": self._csrf}).encode())

    def socket(self, path: str) -> AbstractContextManager[ClientConnection]:
        """A websocket that is open in a ``with``."""
        port = self._dice.choice(self._system.ports)
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self._cookies)
        return connect(
            f"ws://127.0.0.1:{port}{path}",
            additional_headers={"Cookie": cookies},
            origin=f"http://127.0.0.1:{port}",
            max_size=None,
        )

    @property
    def _csrf(self) -> str:
        return next(cookie.value for cookie in self._cookies if cookie.name == "csrftoken")

    def _open(self, path: str, body: bytes | None) -> str:
        port = self._dice.choice(self._system.ports)
        address = f"http://127.0.0.1:{port}{urlsplit(path).path}"
        with self._opener.open(address, body, timeout=TIMEOUT_SECONDS) as answer:
            return answer.read().decode()

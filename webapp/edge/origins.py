"""Decide which pages may open a websocket; browsers let any page try, and send cookies along."""

from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
SCHEMES = {"ws": "http", "wss": "https"}

Origin = tuple[str, str, int | None]
"""Scheme, host and port, as browsers compare them."""


class SameOrigin:
    """An ASGI app that accepts websockets only from this server's pages."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        headers = dict(scope["headers"])
        origin = _origin(headers.get(b"origin", b"").decode("latin1"))
        app = self.app if origin is not None and origin in _ours(scope, headers) else _deny
        await app(scope, receive, send)


async def _deny(scope, receive, send) -> None:
    await WebsocketDenier()(scope, receive, send)


def _ours(scope, headers: dict[bytes, bytes]) -> set[Origin | None]:
    """Return the address that people type, and the address of this request."""
    host = headers.get(b"host", b"").decode("latin1")
    origins = {_origin(settings.PUBLIC_URL)}
    if validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        origins.add(_origin(f"{SCHEMES.get(scope.get('scheme', 'ws'), 'http')}://{host}"))
    return origins


def _origin(address: str) -> Origin | None:
    """Return an address's origin, or None if it is not the address of a page."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None

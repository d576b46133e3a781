"""Which pages may open a websocket: browsers let any page try, and send the cookies along."""

from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host

PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
SCHEMES = {"ws": "http", "wss": "https"}

Origin = tuple[str, str, int | None]
"""Scheme, host and port, as browsers compare them."""


class SameOrigin:
    """ASGI: takes websockets from pages of this server alone, and denies all others."""

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
    """The address that people type, and the one that this very request was sent to."""
    host = headers.get(b"host", b"").decode("latin1")
    found = {_origin(settings.PUBLIC_URL)}
    if validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        found.add(_origin(f"{SCHEMES.get(scope.get('scheme', 'ws'), 'http')}://{host}"))
    return found


def _origin(address: str) -> Origin | None:
    """Return None for what is no address of a page."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None

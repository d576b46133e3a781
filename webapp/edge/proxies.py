"""Decide which headers about a request's origin to trust.

A proxy names its client in headers, and anybody can send such headers. Those of a proxy in
TRUSTED_PROXIES are used. All others are removed, so that no code behind this layer uses them.
"""

import ipaddress
from typing import Any

from django.conf import settings

from webapp.env import Network

SCHEMES = {
    ("http", b"https"): "https",
    ("http", b"http"): "http",
    ("websocket", b"https"): "wss",
    ("websocket", b"wss"): "wss",
    ("websocket", b"http"): "ws",
    ("websocket", b"ws"): "ws",
}
FORWARDED = {
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-port",
    b"x-forwarded-proto",
    b"x-forwarded-ssl",
    b"x-real-ip",
    b"x-request-id",
}
REQUEST_ID = b"x-request-id"  # the only one that later layers read


class TrustedProxies:
    """An ASGI app that sets a request's client and scheme from a trusted proxy's headers."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = _checked(scope, settings.TRUSTED_PROXIES)
        await self.app(scope, receive, send)


def _checked(scope: dict[str, Any], trusted: tuple[Network, ...]) -> dict[str, Any]:
    """Return the scope that the server would have without a proxy in between."""
    checked = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in FORWARDED]}
    address = (scope.get("client") or ("",))[0]
    if not _is_in(address, trusted):
        return checked
    forwarded = _last_of_each(scope["headers"])
    checked["headers"] += [(REQUEST_ID, forwarded[REQUEST_ID])] if REQUEST_ID in forwarded else []
    checked["client"] = (_client(forwarded.get(b"x-forwarded-for", b""), trusted) or address, 0)
    scheme = forwarded.get(b"x-forwarded-proto", b"").strip().lower()
    checked["scheme"] = SCHEMES.get((scope["type"], scheme), scope.get("scheme", "http"))
    return checked


def _last_of_each(headers) -> dict[bytes, bytes]:
    """Join repeated headers as HTTP does; the nearest proxy's value is the last."""
    joined: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in FORWARDED:
            joined[name] = joined[name] + b"," + value if name in joined else value
    return joined


def _client(forwarded_for: bytes, trusted: tuple[Network, ...]) -> str | None:
    """Return the last address in ``X-Forwarded-For`` that does not belong to a trusted proxy."""
    addresses = [text.strip() for text in forwarded_for.decode("latin-1").split(",")]
    for address in reversed(addresses):
        if not _is_address(address):
            return None
        if not _is_in(address, trusted):
            return address
    return addresses[0]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_in(text: str, trusted: tuple[Network, ...]) -> bool:
    if not _is_address(text):
        return False
    address = ipaddress.ip_address(text)
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in network for network in trusted)

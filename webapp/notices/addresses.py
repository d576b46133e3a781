"""Decide to which addresses webhooks are sent: to public ones, and to those that a setting allows.

A name is resolved once for each attempt, and the attempt connects to what was checked. A name that
resolves to another address a moment later leads nowhere else.
"""

import ipaddress
import socket
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from snapshots.problems import Invalid
from webapp.notices.models import LONGEST_URL
from webapp.notices.outcomes import NotDelivered

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

TRANSLATED = tuple(
    map(
        ipaddress.ip_network,
        ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::ffff:0:0:0/96", "::/96"),
    )
)
"""Networks whose addresses carry an IPv4 address, to which a gateway would lead."""
SITE_LOCAL = ipaddress.ip_network("fec0::/10")
"""Private addresses of before 2004, which Python 3.11 takes for public ones."""


def checked_url(url: Any) -> str:
    """Return an address to which webhooks may be sent. Raises: Invalid."""
    try:
        text = str(url or "").strip()
        parts = urlsplit(text)
        problem = _problem(text, parts)
    except (ValueError, UnicodeError):  # a port or host that is none
        problem = "The URL cannot be read. It is like https://example.org/cutline."
    if problem:
        raise Invalid(problem, field="url")
    return text


def _problem(text: str, parts: SplitResult) -> str:
    """Return what is wrong with an address; empty if nothing is. Raises: ValueError."""
    if parts.scheme not in _schemes() or not parts.hostname:
        http = "" if settings.WEBHOOK_HTTP else "; WEBHOOK_HTTP would allow http"
        return f"The URL begins with https:// and a host{http}."
    if len(text) > LONGEST_URL:
        return f"The URL has more than {LONGEST_URL} characters."
    if not text.isascii() or not text.isprintable() or " " in text:
        return "The URL has characters that must be percent-encoded."
    if "@" in parts.netloc or parts.fragment:
        return "The URL has no user, password or fragment: what is sent is signed instead."
    port_of(parts)
    return _literal_problem(parts.hostname)


def _schemes() -> tuple[str, ...]:
    return ("https", "http") if settings.WEBHOOK_HTTP else ("https",)


def _literal_problem(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return ""
    return "" if is_allowed(address) else _refusal(host)


def port_of(parts: SplitResult) -> int:
    """Return the port of an address. Raises: ValueError if it is not a port."""
    return parts.port or (443 if parts.scheme == "https" else 80)


def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a host, all of which may be connected to. Raises: NotDelivered."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotDelivered(f"The name {host} cannot be resolved.") from None
    addresses = list(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in rows))
    if not all(is_allowed(ipaddress.ip_address(address)) for address in addresses):
        raise NotDelivered(_refusal(host))
    return addresses


def is_allowed(address: Address) -> bool:
    """Tell whether an address is public, or in WEBHOOK_PRIVATE_NETWORKS."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if any(address in network for network in settings.WEBHOOK_PRIVATE_NETWORKS):
        return True
    is_refused = any(address in network for network in (*TRANSLATED, SITE_LOCAL))
    return address.is_global and not address.is_multicast and not is_refused


def _refusal(host: str) -> str:
    return (
        f"{host} is not a public address. An operator can allow its network with "
        "WEBHOOK_PRIVATE_NETWORKS."
    )

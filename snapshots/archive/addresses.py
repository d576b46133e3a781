"""Which addresses a collector may ask.

A server that asks any address a person names can be led into networks where that person has no
business. So what people enter must be a host that ``COLLECTOR_HOSTS`` lists; the shell is free.
"""

from urllib.parse import urlsplit

from django.conf import settings

LONGEST = 300
SCHEMES = ("http", "https")


class NotAnAddress(ValueError):
    """The sentence says what is wrong with it."""


class Forbidden(ValueError):
    """The setting does not list the host."""


def checked(text: str) -> str:
    """The address without a slash at the end. Raises: NotAnAddress."""
    text = text.strip()
    if not text.isprintable() or len(text) > LONGEST or " " in text or "\\" in text:
        raise NotAnAddress(f"An address has at most {LONGEST} letters, and no spaces.")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NotAnAddress("Its host or port cannot be read.") from None
    if parts.scheme not in SCHEMES or not host:
        raise NotAnAddress("It is an address like http://jobmanager:8081.")
    if parts.username is not None or parts.password is not None:
        raise NotAnAddress("Leave out name and password: they would be kept and shown.")
    if parts.query or parts.fragment or ".." in parts.path:
        raise NotAnAddress("It ends where the REST API begins: no ?, no #, no dots.")
    return text.rstrip("/")


def require_listed(url: str) -> None:
    """url: as ``checked`` gives it. Raises: Forbidden."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = (parts.hostname or "").lower()
    listed = {entry.lower() for entry in settings.COLLECTOR_HOSTS}
    shown = f"[{host}]" if ":" in host else host
    if not listed & {shown, f"{shown}:{port}"}:
        names = ", ".join(sorted(listed)) or "none"
        raise Forbidden(
            f"This server does not ask {shown}:{port}. The setting COLLECTOR_HOSTS lists the "
            f"hosts that it asks: {names}."
        )

"""Check the addresses that a collector may poll.

A server that polls any address a person enters can be led into networks where that person has no
access. So people may only enter hosts that ``COLLECTOR_HOSTS`` lists; the shell is free.
"""

from urllib.parse import urlsplit

from django.conf import settings

LONGEST = 300
SCHEMES = ("http", "https")


class NotAnAddress(ValueError):
    """A text is not an address; the message says what is wrong with it."""


class Forbidden(ValueError):
    """The setting does not list the host."""


def checked(text: str) -> str:
    """Return the address without a slash at the end. Raises: NotAnAddress."""
    text = text.strip()
    if not text.isprintable() or len(text) > LONGEST or " " in text or "\\" in text:
        raise NotAnAddress(f"An address has at most {LONGEST} characters and no spaces.")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise NotAnAddress("Its host or port cannot be read.") from None
    if parts.scheme not in SCHEMES or not host:
        raise NotAnAddress("An address looks like http://jobmanager:8081.")
    if parts.username is not None or parts.password is not None:
        raise NotAnAddress("Leave out name and password: they would be stored and shown.")
    if parts.query or parts.fragment or ".." in parts.path:
        raise NotAnAddress("End it where the REST API begins: no ?, no #, no dots.")
    return text.rstrip("/")


def require_listed(url: str) -> None:
    """Check that the setting lists the host of a checked address. Raises: Forbidden."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = (parts.hostname or "").lower()
    listed = {entry.lower() for entry in settings.COLLECTOR_HOSTS}
    shown = f"[{host}]" if ":" in host else host
    if not listed & {shown, f"{shown}:{port}"}:
        names = ", ".join(sorted(listed)) or "none"
        raise Forbidden(
            f"This server does not poll {shown}:{port}. The setting COLLECTOR_HOSTS lists the "
            f"hosts that it polls: {names}."
        )

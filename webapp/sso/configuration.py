"""Check the settings of single sign-on, and say what of allauth it needs."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

APPS = ("allauth", "allauth.account", "allauth.socialaccount")
MIDDLEWARE = "allauth.account.middleware.AccountMiddleware"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def is_safe(address: str) -> bool:
    """Tell whether an address is https, or http on this machine."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK
    return bool(parts.hostname) and (parts.scheme == "https" or is_local)


def require_complete(issuer: str, client_id: str) -> None:
    """Refuse settings with which nobody could sign in. Raises: ImproperlyConfigured."""
    if not is_safe(issuer):
        raise ImproperlyConfigured(
            f"OIDC_ISSUER={issuer!r} is not an https address, such as https://login.example.org."
        )
    if "/.well-known/" in issuer:
        raise ImproperlyConfigured(
            f"OIDC_ISSUER={issuer!r} is the address of a document. Leave out /.well-known/…."
        )
    if not client_id:
        raise ImproperlyConfigured("OIDC_ISSUER is set, but OIDC_CLIENT_ID is not.")

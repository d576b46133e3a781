"""Decide whom an account at the OpenID provider signs in."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from webapp.accounts import audit, proving, services
from webapp.accounts.services import SignInRefused
from webapp.sso.models import Identity


def person(claims: dict[str, Any]) -> User:
    """Return the person of a checked ID token, linked and created as the settings allow.

    The subject decides once it is linked. Before that, the verified e-mail address does.
    Raises: SignInRefused.
    """
    linked = Identity.objects.filter(issuer=settings.OIDC_ISSUER, subject=claims["sub"])
    identity = linked.select_related("user").first()
    user = identity.user if identity else _linked_by_address(claims)
    if not user.is_active:
        raise SignInRefused("This account is closed.")
    proving.prove(user)
    return user


def verified_address(claims: dict[str, Any]) -> str:
    """Return the e-mail address that the provider vouches for. Raises: SignInRefused."""
    address = claims.get("email")
    if not isinstance(address, str) or not address.strip():
        raise SignInRefused(f"{settings.OIDC_NAME} did not say which e-mail address you have.")
    if claims.get("email_verified") not in (True, "true"):  # some providers send a text
        raise SignInRefused(
            f"{settings.OIDC_NAME} has not verified your e-mail address, so it signs nobody in."
        )
    return address.strip().lower()


def _linked_by_address(claims: dict[str, Any]) -> User:
    address = verified_address(claims)
    try:
        with transaction.atomic():
            user = User.objects.filter(username=address, email=address).first() or _new(address)
            if user.is_active:  # a closed account is linked to nothing
                _link(user, claims["sub"])
            return user
    except IntegrityError:  # another request has linked or created them meanwhile
        raise SignInRefused("The sign-in could not be completed. Please begin again.") from None


def _link(user: User, subject: str) -> None:
    """Link a person to an account at the provider, which may not have had another one.

    Raises: SignInRefused, where the provider may have given the address to somebody else.
    """
    if user.identities.filter(issuer=settings.OIDC_ISSUER).exists():
        raise SignInRefused(
            f"{user} is linked to another account of {settings.OIDC_NAME}. If the address belongs "
            f"to the same person, an operator runs “manage.py unlink_sso {user}”."
        )
    Identity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=subject)
    audit.note(audit.IDENTITY_LINKED, user, f"to {settings.OIDC_NAME}")


def _new(address: str) -> User:
    """Create a person if the settings allow their domain. Raises: SignInRefused."""
    domain = address.rpartition("@")[2]
    allowed = {name.lower() for name in settings.OIDC_NEW_PEOPLE}
    if domain not in allowed or address == services.OWNER:
        raise SignInRefused(
            f"Nobody here has the address {address}. Ask an operator for a sign-in link."
        )
    try:
        return services.get_or_create_user(address)
    except services.NotAnAddress as problem:
        raise SignInRefused(str(problem)) from None

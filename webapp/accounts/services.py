"""Identify people: by sign-in links for the pages, and by bearer tokens for the API.

Tokens carry 256 random bits, so they are looked up by their SHA-256. That leaks nothing through
timing, and needs no slow hash and no limit on attempts.
"""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from webapp.accounts import proving
from webapp.accounts.models import ApiToken, SignInLink, UnprovenAccount
from webapp.edge.optional_writes import optionally

OWNER = "owner@localhost"
TOKEN_PREFIX = "cut_"
LAST_USED_PRECISION = timedelta(minutes=1)
LONGEST_DAYS = 3650  # of a token that expires
USED = "This sign-in link has been used: a link works only once."


class NotAnAddress(ValueError):
    pass


class SignInRefused(Exception):
    """A sign-in is refused; the message says why and what to do."""


class TokenRefused(Exception):
    """A token is not valid; the message says why and what to do."""


def get_or_create_user(email: str) -> User:
    """Return the person with this address, created if necessary; OWNER becomes an operator.

    Raises: NotAnAddress.
    """
    email = checked_address(email)
    user, created = User.objects.get_or_create(username=email, defaults={"email": email})
    if created:
        user.is_staff = email == OWNER
        user.set_unusable_password()
        user.save()
    return user


@transaction.atomic
def create_unproven(email: str, invited_by: str) -> User:
    """Create an account for an invited address, which nobody has proven to have.

    Raises: NotAnAddress; IntegrityError if the address has an account.
    """
    email = checked_address(email)
    user = User(username=email, email=email)
    user.set_unusable_password()
    user.save(force_insert=True)
    UnprovenAccount.objects.create(user=user, invited_by=invited_by)
    return user


def checked_address(email: str) -> str:
    """Return an e-mail address as accounts have it. Raises: NotAnAddress."""
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise NotAnAddress(f"{email!r} is not an e-mail address.") from None
    return email


def make_sign_in_link(user: User) -> str:
    """Create a sign-in link and return its address; delete links that no longer work."""
    now = timezone.now()
    SignInLink.objects.filter(expires_at__lt=now).delete()
    token = secrets.token_urlsafe(32)
    expires_at = now + timedelta(seconds=settings.SIGN_IN_LINK_SECONDS)
    SignInLink.objects.create(user=user, token_hash=hashed(token), expires_at=expires_at)
    return f"{settings.PUBLIC_URL}/sign-in/{token}"


def invited(token: str) -> User:
    """Return the person whom a link would sign in; it stays unused. Raises: SignInRefused."""
    link = SignInLink.objects.select_related("user").filter(token_hash=hashed(token)).first()
    if link is None:
        raise SignInRefused("This sign-in link is unknown. Is it complete?")
    if link.expires_at <= timezone.now():
        raise SignInRefused("This sign-in link has expired: links work for an hour.")
    if link.used_at is not None:
        raise SignInRefused(USED)
    if not link.user.is_active:
        raise SignInRefused("This account is closed.")
    return link.user


@transaction.atomic
def redeem(token: str) -> User:
    """Return the person of an unused link, which is used then and proves their address.

    Raises: SignInRefused.
    """
    user = invited(token)
    unused = SignInLink.objects.filter(token_hash=hashed(token), used_at=None)
    # The update decides: of two requests with the same link, only one changes the row.
    if not unused.update(used_at=timezone.now()):
        raise SignInRefused(USED)
    proving.prove(user)
    return user


def make_token(
    user: User, name: str, *, scope: str = ApiToken.Scope.WRITE, days: int | None = None
) -> tuple[ApiToken, str]:
    """Create a token; return its row, and the token itself, which cannot be shown again.

    It expires after ``days``, or never if that is None.
    """
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=token[:12],
        token_hash=hashed(token),
        scope=scope,
        expires_at=None if days is None else timezone.now() + timedelta(days=days),
    )
    return row, token


def valid_token(token: str) -> ApiToken:
    """Return the row of a valid token, and note its use. Raises: TokenRefused."""
    row = ApiToken.objects.select_related("user").filter(token_hash=hashed(token)).first()
    if row is None:
        raise TokenRefused(
            "The token is unknown. Was it revoked, or is it incomplete? The header is "
            "“Authorization: Bearer TOKEN”; create tokens on the account page."
        )
    if row.is_expired:
        raise TokenRefused(
            f"The token “{row.name}” expired on {row.expires_at:%Y-%m-%d}. Create another on the "
            "account page."
        )
    if not row.user.is_active:
        raise TokenRefused("The account of this token is closed.")
    note_use(row)
    return row


def user_of_token(token: str) -> User | None:
    """Return the owner of a token, or None if the token is not valid."""
    try:
        return valid_token(token).user
    except TokenRefused:
        return None


def note_use(token: ApiToken) -> None:
    """Note a token's use to the minute; a write for every request would make readers wait."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_PRECISION:
        same = ApiToken.objects.filter(pk=token.pk)
        optionally(lambda: same.update(last_used_at=now))


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def token_in(pasted: str) -> str:
    """Return the token in a pasted link, or a bare token as it is."""
    return pasted.strip().rstrip("/").rpartition("/")[2]

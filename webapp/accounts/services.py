"""Who someone is: sign-in links for the pages, bearer tokens for the API.

Tokens carry 256 random bits, so they are found by their SHA-256 (nothing to compare in time that
tells on them) and need no slow hash and no limit on attempts.
"""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from webapp.accounts.models import ApiToken, SignInLink
from webapp.edge.optional_writes import optionally

OWNER = "owner@localhost"
TOKEN_PREFIX = "cut_"
LAST_USED_PRECISION = timedelta(minutes=1)
LONGEST_DAYS = 3650  # of a token with an end
USED = "This sign-in link has been used: a link works once."


class NotAnAddress(ValueError):
    pass


class SignInRefused(Exception):
    """The sentence says why, and what to do."""


class TokenRefused(Exception):
    """The sentence says why the token opens nothing, and what to do."""


def get_or_create_user(email: str) -> User:
    """Return the person with this address, made where there is none; OWNER is an operator.

    Raises: NotAnAddress.
    """
    email = email.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise NotAnAddress(f"{email!r} is not an e-mail address.") from None
    user, created = User.objects.get_or_create(username=email, defaults={"email": email})
    if created:
        user.is_staff = email == OWNER
        user.set_unusable_password()
        user.save()
    return user


def make_sign_in_link(user: User) -> str:
    """The address to open; links that no longer work are thrown away."""
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
        raise SignInRefused("This sign-in link is not known. Is it complete?")
    if link.expires_at <= timezone.now():
        raise SignInRefused("This sign-in link has expired: links work for an hour.")
    if link.used_at is not None:
        raise SignInRefused(USED)
    if not link.user.is_active:
        raise SignInRefused("This account is closed.")
    return link.user


def redeem(token: str) -> User:
    """Return the person of an unused link, which is used from now on. Raises: SignInRefused."""
    user = invited(token)
    unused = SignInLink.objects.filter(token_hash=hashed(token), used_at=None)
    # The update decides: of two requests with the same link, one changes the row.
    if not unused.update(used_at=timezone.now()):
        raise SignInRefused(USED)
    return user


def make_token(
    user: User, name: str, *, scope: str = ApiToken.Scope.WRITE, days: int | None = None
) -> tuple[ApiToken, str]:
    """Return the row and the token itself, which cannot be shown again.

    days: after which it ends; None for a token without an end.
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
    """Return the row of a token that opens something, and note its use. Raises: TokenRefused."""
    row = ApiToken.objects.select_related("user").filter(token_hash=hashed(token)).first()
    if row is None:
        raise TokenRefused(
            "The token is not known. Was it revoked, or is it not all there? The header is "
            "“Authorization: Bearer TOKEN”; tokens are made on the account page."
        )
    if row.is_expired:
        raise TokenRefused(
            f"The token “{row.name}” expired on {row.expires_at:%Y-%m-%d}. Make another on the "
            "account page."
        )
    if not row.user.is_active:
        raise TokenRefused("The account of this token is closed.")
    note_use(row)
    return row


def note_use(token: ApiToken) -> None:
    """To the minute: a write for every request would make readers wait."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_PRECISION:
        same = ApiToken.objects.filter(pk=token.pk)
        optionally(lambda: same.update(last_used_at=now))


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def token_in(pasted: str) -> str:
    """The token of a pasted link, or of a bare token."""
    return pasted.strip().rstrip("/").rpartition("/")[2]

"""Prove that the person with an address has the account that an invitation made for it."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from webapp.accounts import audit, closing
from webapp.accounts.models import UnprovenAccount


def inviter(user: User) -> str | None:
    """Return who invited the person, or None if the address is proven."""
    return UnprovenAccount.objects.filter(user=user).values_list("invited_by", flat=True).first()


@transaction.atomic
def prove(user: User) -> None:
    """Take an unproven account from whoever else opened it: end sessions, tokens and webhooks.

    It is called before the session begins for which the person has proven the address.
    """
    rows = UnprovenAccount.objects.select_for_update().filter(user=user)
    row = rows.first()
    if row is None:
        return
    ended: dict[str, Any] = {
        "sessions": closing.end_sessions(user),
        "tokens": user.api_tokens.count(),
        "webhooks": user.webhooks.count(),
    }
    user.api_tokens.all().delete()
    user.webhooks.all().delete()
    audit.note(audit.ADDRESS_PROVEN, user, str(user), invited_by=row.invited_by, **ended)
    row.delete()

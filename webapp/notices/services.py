"""Carry out what a person asks about notifications. Raises: problems.Problem."""

import base64
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction

from snapshots.problems import Conflict, Invalid, NotFound, TooMany
from webapp.accounts import audit
from webapp.notices import addresses, kinds, sending
from webapp.notices.models import Delivery, MailChoice, Notice, Webhook

MOST_WEBHOOKS = 20  # of one person or team
MOST_TESTS = 10  # of one webhook that wait


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


@transaction.atomic
def create(owner: User, by: User, url: Any, names: Any) -> Webhook:
    """Create a webhook. Raises: Invalid, TooMany."""
    User.objects.select_for_update().get(pk=owner.pk)  # the second request waits
    used = Webhook.objects.filter(owner=owner).count()
    if used >= MOST_WEBHOOKS:
        raise TooMany(
            f"There are {used} webhooks, as many as there may be. Delete one first.",
            limit=MOST_WEBHOOKS,
            used=used,
        )
    row = Webhook.objects.create(
        owner=owner,
        url=addresses.checked_url(url),
        kinds=kinds.checked(names),
        secret=new_secret(),
    )
    audit.note(audit.WEBHOOK_MADE, by, _named(row), person=owner, kinds=row.kinds)
    return row


@transaction.atomic
def change(row: Webhook, by: User, changes: Mapping[str, Any]) -> None:
    """Change ``url``, ``kinds`` or ``is_on`` of a webhook. Raises: Invalid."""
    checks = {"url": addresses.checked_url, "kinds": kinds.checked, "is_on": _switch}
    fields = {name: check(changes[name]) for name, check in checks.items() if name in changes}
    changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if not changed:
        return
    for name, value in changed.items():
        setattr(row, name, value)
    row.off_reason = ""
    row.save()
    audit.note(audit.WEBHOOK_CHANGED, by, _named(row), person=row.owner, changed=list(changed))


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Invalid("A webhook is on (true) or off (false).", field="is_on")
    return value


@transaction.atomic
def change_secret(row: Webhook, by: User) -> None:
    """Replace the secret of a webhook; the old one signs nothing from now on."""
    row.secret = new_secret()
    row.save(update_fields=["secret"])
    audit.note(audit.WEBHOOK_CHANGED, by, _named(row), person=row.owner, changed=["secret"])


@transaction.atomic
def remove(row: Webhook, by: User) -> None:
    audit.note(audit.WEBHOOK_REMOVED, by, _named(row), person=row.owner)
    row.delete()


@transaction.atomic
def send_test(row: Webhook) -> Delivery:
    """Queue a test for a webhook. Raises: Conflict if it is off or many tests wait."""
    if not row.is_on:
        raise Conflict("The webhook is switched off. Switch it on first.")
    waiting = row.deliveries.filter(notice__kind=kinds.TEST, state=Delivery.State.WAITING)
    if waiting.count() >= MOST_TESTS:
        raise Conflict(f"{MOST_TESTS} tests of this webhook wait already.")
    notice = Notice.objects.create(
        owner=row.owner,
        kind=kinds.TEST,
        key=secrets.token_hex(8),
        title="A test",
        sentence="This is a test of a webhook of Cutline.",
        path=f"/account/notifications/webhooks/{row.pk}",
    )
    return Delivery.objects.create(notice=notice, webhook=row)


def delivery_of(row: Webhook, pk: int) -> Delivery:
    """Return a delivery to a webhook. Raises: NotFound."""
    delivery = row.deliveries.filter(pk=pk).select_related("notice").first()
    if delivery is None:
        raise NotFound(f"There is no delivery {pk} to this webhook, or it is too old.")
    return delivery


def send_again(row: Webhook, delivery: Delivery) -> None:
    """Let a delivery be sent again. Raises: Conflict if the webhook is off."""
    if not row.is_on:
        raise Conflict("The webhook is switched off. Switch it on first.")
    sending.send_again(delivery)


def choose_mail(owner: User, names: Any) -> None:
    """Choose the kinds of events of which a person gets e-mail. Raises: Invalid."""
    MailChoice.objects.update_or_create(owner=owner, defaults={"kinds": kinds.checked(names)})


def _named(row: Webhook) -> str:
    """Return a webhook as the audit log shows it: without a path, which may hold a secret."""
    return f"webhook {row.pk} to {urlsplit(row.url).hostname}"

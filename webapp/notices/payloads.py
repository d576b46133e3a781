"""Build the API's answers about notifications."""

from django.contrib.auth.models import User
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from snapshots.payloads.dates import date
from snapshots.payloads.declaring import described, list_of
from snapshots.payloads.teams import OwningTeam, team_of
from webapp.notices import events, kinds, mail
from webapp.notices.models import Attempt, Delivery, Webhook


@described
class NoticeKind(TypedDict):
    """A kind of event of which people can be notified.

    Attributes:
        name: the word in this API, and the ``type`` of what a webhook gets.
        title: what happened, in words.
    """

    name: str
    title: str


NoticeKindList = list_of(NoticeKind, "NoticeKindList", is_paged=False)


@described
class MailSettings(TypedDict):
    """The e-mail that you get.

    Attributes:
        is_configured: whether this server sends e-mail at all.
        address: the address to which it goes; null where you have none.
        kinds: the names of the kinds of events of which you get e-mail.
    """

    is_configured: bool
    address: str | None
    kinds: list[str]


@described
class WebhookDetail(TypedDict):
    """An address to which events are posted.

    Attributes:
        id: the number of the webhook.
        url: the address.
        kinds: the names of the kinds of events that are posted.
        is_on: whether events are posted.
        off_reason: why the server switched it off; empty where it did not.
        created_at: when it was made, as ISO 8601 in UTC.
        team: the team whose events are posted; null where they are your own.
    """

    id: int
    url: str
    kinds: list[str]
    is_on: bool
    off_reason: str
    created_at: str
    team: OwningTeam | None


WebhookList = list_of(WebhookDetail, "WebhookList", is_paged=False)


@described
class WebhookSecret(TypedDict):
    """The secret of a webhook, with which a receiver checks signatures.

    Attributes:
        id: the number of the webhook.
        secret: the secret, ``whsec_`` and 32 bytes in base64. It is shown this once, and is empty
            in a repeated answer.
    """

    id: int
    secret: str


@described
class AttemptItem(TypedDict):
    """One try of a delivery.

    Attributes:
        at: when it ended, as ISO 8601 in UTC.
        status: the status of the answer; null where none came.
        error: why it failed; empty where it did not.
        milliseconds: how long it took.
    """

    at: str
    status: int | None
    error: str
    milliseconds: int


@described
class DeliveryItem(TypedDict):
    """An event on its way to a webhook.

    Attributes:
        id: the number of the delivery.
        kind: the kind of event, or ``test``.
        title: what happened, in a few words.
        state: ``waiting``, ``delivered`` or ``failed``.
        at: when it happened, as ISO 8601 in UTC.
        next_at: when it is tried next, as ISO 8601 in UTC; null where it is over.
        attempts: the tries, the newest first.
    """

    id: int
    kind: str
    title: str
    state: str
    at: str
    next_at: str | None
    attempts: list[AttemptItem]


DeliveryList = list_of(DeliveryItem, "DeliveryList")


def kind_items() -> list[NoticeKind]:
    return [{"name": kind.name, "title": kind.title} for kind in kinds.KINDS]


def mail_settings(user: User) -> MailSettings:
    return {
        "is_configured": mail.is_configured(),
        "address": mail.address_of(user) or None,
        "kinds": events.mailed_kinds(user),
    }


def webhook_detail(row: Webhook) -> WebhookDetail:
    return {
        "id": row.pk,
        "url": row.url,
        "kinds": row.kinds,
        "is_on": row.is_on,
        "off_reason": row.off_reason,
        "created_at": date(row.created_at),
        "team": team_of(row),
    }


def delivery_item(row: Delivery) -> DeliveryItem:
    return {
        "id": row.pk,
        "kind": row.notice.kind,
        "title": row.notice.title,
        "state": row.state,
        "at": date(row.notice.at),
        "next_at": date(row.next_at) if row.is_waiting else None,
        "attempts": [attempt_item(attempt) for attempt in row.attempts.all()],
    }


def attempt_item(row: Attempt) -> AttemptItem:
    return {
        "at": date(row.at),
        "status": row.status,
        "error": row.error,
        "milliseconds": row.milliseconds,
    }

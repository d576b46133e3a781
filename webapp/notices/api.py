"""The calls about notifications: webhooks with their deliveries, and e-mail."""

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Field, Path, Router, Schema

from snapshots import access
from snapshots.web.api.parameters import Holder, Limit, Offset
from snapshots.web.json import reply, reply_page
from webapp.accounts.auth import SignedInRequest
from webapp.edge.idempotency import DOCUMENTED, idempotent
from webapp.notices import payloads, services

router = Router()

WebhookId = Annotated[int, Path(description="The number of the webhook.")]
DeliveryId = Annotated[int, Path(description="The number of the delivery.")]


class NewWebhook(Schema):
    """A webhook to be made."""

    url: Any = Field(None, description="The address to which events are posted, with https.")
    kinds: Any = Field(None, description="The names of the kinds of events, as a list.")


class WebhookChange(Schema):
    """What changes about a webhook; what is left out stays."""

    url: Any = Field(None, description="The address to which events are posted, with https.")
    kinds: Any = Field(None, description="The names of the kinds of events, as a list.")
    is_on: Any = Field(None, description="Whether events are posted.")


class MailChange(Schema):
    """The kinds of events of which you get e-mail."""

    kinds: Any = Field(None, description="The names of the kinds of events, as a list.")


@router.get("/notifications/kinds", response=payloads.NoticeKindList)
def list_kinds(request: SignedInRequest) -> HttpResponse:
    """List the kinds of events of which you can be notified."""
    return reply({"items": payloads.kind_items()})


@router.get("/notifications/mail", response=payloads.MailSettings)
def get_mail(request: SignedInRequest) -> HttpResponse:
    """Return of which events you get e-mail, and whether this server sends any."""
    return reply(payloads.mail_settings(request.user))


@router.put("/notifications/mail", response=payloads.MailSettings)
def choose_mail(request: SignedInRequest, body: MailChange) -> HttpResponse:
    """Choose of which events you get e-mail."""
    services.choose_mail(request.user, body.kinds)
    return reply(payloads.mail_settings(request.user))


@router.get("/webhooks", response=payloads.WebhookList)
def list_webhooks(request: SignedInRequest) -> HttpResponse:
    """List your webhooks and those of the teams that you own, without their secrets."""
    rows = access.webhooks(request.user)
    return reply({"items": [payloads.webhook_detail(row) for row in rows]})


@router.post("/webhooks", response={201: payloads.WebhookSecret}, openapi_extra=DOCUMENTED)
@idempotent(left_out=("secret",))
def create_webhook(request: SignedInRequest, body: NewWebhook, team: Holder) -> HttpResponse:
    """Make a webhook, of a team only if you own it. The secret in the answer is not shown again.

    A repetition with the same `Idempotency-Key` gets an empty secret: replace it to get one.
    """
    owner = access.webhook_holder(request.user, team)
    row = services.create(owner, request.user, body.url, body.kinds)
    return reply({"id": row.pk, "secret": row.secret}, 201)


@router.get("/webhooks/{int:id}", response=payloads.WebhookDetail)
def get_webhook(request: SignedInRequest, id: WebhookId) -> HttpResponse:
    """Return a webhook, without its secret."""
    return reply(payloads.webhook_detail(access.webhook(request.user, id)))


@router.patch("/webhooks/{int:id}", response=payloads.WebhookDetail)
def change_webhook(request: SignedInRequest, id: WebhookId, body: WebhookChange) -> HttpResponse:
    """Change the address or the kinds of a webhook, or switch it on or off."""
    row = access.webhook(request.user, id)
    services.change(row, request.user, body.dict(exclude_unset=True))
    return reply(payloads.webhook_detail(row))


@router.delete("/webhooks/{int:id}", response={204: None})
def delete_webhook(request: SignedInRequest, id: WebhookId) -> HttpResponse:
    """Delete a webhook with its log. What waits is not sent any more."""
    services.remove(access.webhook(request.user, id), request.user)
    return HttpResponse(status=204)


@router.post("/webhooks/{int:id}/secret", response=payloads.WebhookSecret)
def change_secret(request: SignedInRequest, id: WebhookId) -> HttpResponse:
    """Replace the secret of a webhook. The old one signs nothing from now on."""
    row = access.webhook(request.user, id)
    services.change_secret(row, request.user)
    return reply({"id": row.pk, "secret": row.secret})


@router.post("/webhooks/{int:id}/test", response={202: payloads.DeliveryItem})
def send_test(request: SignedInRequest, id: WebhookId) -> HttpResponse:
    """Send a test to a webhook. A worker sends it within seconds."""
    delivery = services.send_test(access.webhook(request.user, id))
    return reply(payloads.delivery_item(delivery), 202)


@router.get("/webhooks/{int:id}/deliveries", response=payloads.DeliveryList)
def list_deliveries(
    request: SignedInRequest, id: WebhookId, limit: Limit, offset: Offset
) -> HttpResponse:
    """List what was sent to a webhook in the last 30 days, with each try, newest first."""
    rows = access.webhook(request.user, id).deliveries.select_related("notice")
    return reply_page(rows.prefetch_related("attempts"), offset, limit, payloads.delivery_item)


@router.post(
    "/webhooks/{int:id}/deliveries/{int:delivery}/again", response={202: payloads.DeliveryItem}
)
def send_again(request: SignedInRequest, id: WebhookId, delivery: DeliveryId) -> HttpResponse:
    """Send an event to a webhook again, with the same ``webhook-id``."""
    row = access.webhook(request.user, id)
    chosen = services.delivery_of(row, delivery)
    services.send_again(row, chosen)
    return reply(payloads.delivery_item(chosen), 202)

"""Show and change of what a person is notified: webhooks with their log, and e-mail."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from snapshots import access
from snapshots.problems import Conflict, Problem
from snapshots.web.pages.rendering import ask_to_delete, back, page
from snapshots.web.tables.sending import show
from webapp.accounts.auth import SignedInRequest
from webapp.notices import events, kinds, mail, services
from webapp.notices.models import Delivery, Webhook

DELIVERIES_ON_A_PAGE = 50
SHOWN_MAILS = 10


@page
@require_safe
def notifications(request: SignedInRequest) -> HttpResponseBase:
    return render_notifications(request)


def render_notifications(request: SignedInRequest, *, status=200, **more) -> HttpResponseBase:
    user = request.user
    mails = Delivery.objects.filter(notice__owner=user, webhook=None).select_related("notice")
    context = {
        "kinds": kinds.KINDS,
        "mailed": events.mailed_kinds(user),
        "mail_is_on": mail.is_configured(),
        "mail_address": mail.address_of(user),
        "mails": mails.prefetch_related("attempts")[:SHOWN_MAILS],
        "all_mails": mails.prefetch_related("attempts"),
        "webhooks": access.webhooks(user),
        "teams": access.led_teams(user),
        "chosen": [],
        **more,
    }
    return show(request, "notices/notifications.html", context, status=status)


@page
@require_POST
def choose_mail(request: SignedInRequest) -> HttpResponseBase:
    services.choose_mail(request.user, request.POST.getlist("kinds"))
    messages.success(request, "Your choice of e-mail is kept.")
    return redirect("notifications")


@page
@require_POST
def create_webhook(request: SignedInRequest) -> HttpResponseBase:
    """Make a webhook and show its secret at once, which a redirect could not show."""
    url, names = request.POST.get("url", ""), request.POST.getlist("kinds")
    team = request.POST.get("team", "")
    owner = access.webhook_holder(request.user, team)
    try:
        row = services.create(owner, request.user, url, names)
    except Problem as problem:
        typed = {"url": url, "chosen": names, "team": team}
        return render_notifications(request, status=problem.status, problem=problem.detail, **typed)
    return render_webhook(request, row, secret=row.secret)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: SignedInRequest, pk: int) -> HttpResponseBase:
    """Show a webhook with what was sent to it, and change it."""
    row = access.webhook(request.user, pk)
    if request.method != "POST":
        return render_webhook(request, row)
    changes = {
        "url": request.POST.get("url", ""),
        "kinds": request.POST.getlist("kinds"),
        "is_on": "is_on" in request.POST,
    }
    try:
        services.change(row, request.user, changes)
    except Problem as problem:
        return render_webhook(
            request, row, status=problem.status, problem=problem.detail, url=changes["url"]
        )
    messages.success(request, "The webhook is changed.")
    return redirect("webhook", pk)


def render_webhook(
    request: SignedInRequest, row: Webhook, *, status=200, **more
) -> HttpResponseBase:
    rows = row.deliveries.select_related("notice").prefetch_related("attempts")
    context = {
        "webhook": row,
        "url": row.url,
        "kinds": kinds.KINDS,
        "page": Paginator(rows, DELIVERIES_ON_A_PAGE).get_page(request.GET.get("page")),
        **more,
    }
    return show(request, "notices/webhook.html", context, status=status)


@page
@require_POST
def change_secret(request: SignedInRequest, pk: int) -> HttpResponseBase:
    row = access.webhook(request.user, pk)
    services.change_secret(row, request.user)
    return render_webhook(request, row, secret=row.secret)


@page
@require_POST
def send_test(request: SignedInRequest, pk: int) -> HttpResponseBase:
    row = access.webhook(request.user, pk)
    try:
        services.send_test(row)
    except Conflict as conflict:
        return back(request, f"/account/notifications/webhooks/{pk}", conflict)
    messages.success(request, "The test will be sent within seconds. Reload to see how it went.")
    return redirect("webhook", pk)


@page
@require_POST
def send_again(request: SignedInRequest, pk: int, delivery: int) -> HttpResponseBase:
    row = access.webhook(request.user, pk)
    try:
        services.send_again(row, services.delivery_of(row, delivery))
    except Conflict as conflict:
        return back(request, f"/account/notifications/webhooks/{pk}", conflict)
    messages.success(request, "It will be sent again within seconds. Reload to see how it went.")
    return redirect("webhook", pk)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def delete_webhook(request: SignedInRequest, pk: int) -> HttpResponseBase:
    row = access.webhook(request.user, pk)
    if request.method == "POST":
        services.remove(row, request.user)
        messages.success(request, "The webhook is deleted.")
        return redirect("notifications")
    consequence = "Its log goes too, and what waits is not sent any more."
    return ask_to_delete(request, row.url, consequence, f"/account/notifications/webhooks/{row.pk}")

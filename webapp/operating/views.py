"""Serve probes, Prometheus and operators: /livez, /readyz, /metrics, /operator."""

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from snapshots import access, problems
from snapshots.web.pages.rendering import page, wants_list_alone
from snapshots.web.tables.sending import show
from webapp.accounts.auth import bearer_user
from webapp.operating import checks, observed
from webapp.operating.report import report
from webapp.operating.state_metrics import StateCollector

for collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, StateCollector()):
    observed.registry.register(collector)


@never_cache
@require_safe
def livez(request: HttpRequest) -> JsonResponse:
    """Answer as long as this process does, whatever else is down."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 503 while this process cannot serve; strangers learn which part failed, not why."""
    parts = {check.name: check.status for check in checks.ready()}
    ok = "failed" not in parts.values()
    body = {"status": "ok" if ok else "failed", **parts}
    return JsonResponse(body, status=200 if ok else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer Prometheus, which carries METRICS_TOKEN, or an operator."""
    try:
        _require_reader(request)
    except problems.Problem as problem:
        return problems.response(problem.as_json())
    return HttpResponse(generate_latest(observed.registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


@page
@require_safe
def operator(request: HttpRequest) -> HttpResponseBase:
    access.require_operator(request.user)
    name = "operating/health.html" if wants_list_alone(request) else "operating/operator.html"
    return show(request, name, {"health": report()})


def _require_reader(request: HttpRequest) -> None:
    """Check who reads the metrics.

    Raises: Unauthorized without an identity, NotFound for people who are not operators.
    """
    if _has_metrics_token(request):
        return
    user = bearer_user(request) if "Authorization" in request.headers else request.user
    if user is None or not user.is_authenticated:
        raise problems.Unauthorized("Send METRICS_TOKEN, or an operator's token, as a bearer.")
    access.require_operator(user)


def _has_metrics_token(request: HttpRequest) -> bool:
    given = request.headers.get("Authorization", "").encode()
    wanted = f"Bearer {settings.METRICS_TOKEN}".encode()
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(given, wanted)

"""Show the audit log to operators."""

from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from snapshots.problems import Invalid
from webapp.accounts.audit import ACTIONS
from webapp.accounts.models import action_words
from webapp.operating.audit_filter import AuditFilter, as_csv
from webapp.operating.pages import operator_page

ENTRIES_ON_A_PAGE = 100
PARAMETERS = ("person", "action", "since", "until")


@operator_page
@require_safe
def audit_log(request: HttpRequest) -> HttpResponse:
    """Show the entries that pass the filter; with ``format=csv`` send them as a file."""
    try:
        chosen, refusal = AuditFilter.of_query(request.GET.dict()), None
    except Invalid as invalid:
        chosen, refusal = AuditFilter(), invalid
    if request.GET.get("format") == "csv" and refusal is None:
        return _file(chosen)
    query = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    context = {
        "page": Paginator(chosen.entries(), ENTRIES_ON_A_PAGE).get_page(request.GET.get("page")),
        "query": query,
        "refusal": refusal,
        "actions": [(action, action_words(action)) for action in ACTIONS],
        "csv": "?" + urlencode({**query, "format": "csv"}),
    }
    status = refusal.status if refusal else 200
    return render(request, "operating/audit.html", context, status=status)


def _file(chosen: AuditFilter) -> HttpResponse:
    answer = HttpResponse(as_csv(chosen.entries()), content_type="text/csv; charset=utf-8")
    name = f"cutline-audit-{timezone.now():%Y-%m-%d}.csv"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer

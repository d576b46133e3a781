"""Show the audit log to operators."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from snapshots.problems import Invalid
from snapshots.web.tables.sending import show
from webapp.accounts.audit import ACTIONS
from webapp.accounts.models import action_words
from webapp.operating.audit_filter import AuditFilter
from webapp.operating.pages import operator_page

ENTRIES_ON_A_PAGE = 100
PARAMETERS = ("person", "action", "since", "until")


@operator_page
@require_safe
def audit_log(request: HttpRequest) -> HttpResponseBase:
    """Show the entries that pass the filter."""
    try:
        chosen, refusal = AuditFilter.of_query(request.GET.dict()), None
    except Invalid as invalid:
        chosen, refusal = AuditFilter(), invalid
    query = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    context = {
        "page": Paginator(chosen.entries(), ENTRIES_ON_A_PAGE).get_page(request.GET.get("page")),
        "query": query,
        "refusal": refusal,
        "actions": [(action, action_words(action)) for action in ACTIONS],
    }
    status = refusal.status if refusal else 200
    return show(request, "operating/audit.html", context, status=status)

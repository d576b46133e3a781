"""Answer requests that failed: for a passing cause say so, for any other report a fault."""

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from snapshots import passing, problems
from snapshots.problems import Problem

logger = logging.getLogger(__name__)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer 503 or 507 if a later attempt may succeed, else 500. Django's ``handler500``."""
    error = sys.exception()
    problem = passing.problem_of(error)
    if problem is None:
        return server_error(request)
    logger.warning("%s %s: %s (%s)", request.method, request.path, problem.status, error)
    answer = refusal(request, problem)
    answer._has_been_logged = True  # type: ignore[attr-defined]  # Django would add a traceback
    return answer


def refusal(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Answer with the problem; a page for it needs neither database nor session."""
    body = problem.as_json()
    if request.path_info.startswith("/api/"):
        return problems.response(body)
    page = render_to_string("refusal.html", {"problem": body})
    return HttpResponse(page, status=body["status"], headers=problems.headers(body))

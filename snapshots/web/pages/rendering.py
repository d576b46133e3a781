"""What pages share: problems shown as pages, the question before something is deleted."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from snapshots import access
from snapshots.problems import Problem, problem
from snapshots.store.errors import StoreError


def page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Answer every Problem of a view with a page of its status, unless a call of the API asks."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, *args, **kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except Problem as refusal:
            if getattr(request, "is_call", False):
                raise
            return problem_page(request, refusal.as_json())
        except StoreError as error:
            again = _read_again(request, kwargs.get("pk"))
            body = problem(error.code, error.title, 409, str(error), again=again)
            return problem_page(request, body)

    return answer


def _read_again(request: HttpRequest, pk: int | None) -> int | None:
    """Return the recording of a page if its upload can be read again, and by this person."""
    match = request.resolver_match
    if pk is None or match is None or not match.route.startswith("recordings/<int:pk>"):
        return None
    row = access.recordings(request.user).filter(pk=pk).exclude(upload="").first()
    return pk if row is not None and access.may_change(request.user, row) else None


def wants_list_alone(request: HttpRequest) -> bool:
    """Return whether htmx asks for the list alone; after "back" it asks for the whole page."""
    htmx = request.htmx  # type: ignore[attr-defined]  # django-htmx sets it
    return bool(htmx) and not htmx.history_restore_request


def problem_page(request: HttpRequest, body: dict[str, Any]) -> HttpResponse:
    """Show a problem, which is JSON as in ``problems.py``."""
    answer = render(
        request, "snapshots/parts/problem.html", {"problem": body}, status=body["status"]
    )
    if "retry_after" in body:
        answer["Retry-After"] = str(body["retry_after"])
    return answer


def ask_to_delete(
    request: HttpRequest,
    name: str,
    consequence: str,
    address: str,
    original: str | None = None,
    also: str = "",
    says: str = "",
) -> HttpResponse:
    """Ask whether something is to be deleted.

    Args:
        request: request of the page that deletes.
        name: name of what is to be deleted.
        consequence: sentence about what goes and what stays.
        address: address of the page to which "Keep it" leads.
        original: address of the uploaded file, if there is one.
        also: what a check box offers to delete too; the form then sends ``also``.
        says: what it says, as HTML or text; empty if its name is enough.
    """
    context = {
        "name": name,
        "consequence": consequence,
        "address": address,
        "original": original,
        "also": also,
        "says": says,
        "sent": {key: text for key, text in request.POST.items() if key != "csrfmiddlewaretoken"},
    }
    return render(request, "snapshots/parts/delete.html", context)


def back(request: HttpRequest, address: str, refusal: Problem) -> HttpResponse:
    """Return to a page with the reason why the request is not possible."""
    messages.error(request, refusal.detail)
    return redirect(address)

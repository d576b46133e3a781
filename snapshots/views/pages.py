"""What every page does: a problem below a view becomes a page that says so."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from snapshots.problems import Conflict, Problem


def page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view with every Problem answered by a page of its status, never a traceback."""

    @never_cache
    @wraps(view)
    def answer(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Problem as problem:
            return problem_page(request, problem)

    return answer


def problem_page(request: HttpRequest, problem: Problem) -> HttpResponse:
    context = {"problem": problem.as_json()}
    return render(request, "snapshots/problem.html", context, status=problem.status)


def back(request: HttpRequest, to: str, conflict: Conflict) -> HttpResponse:
    """To ``to``, with the sentence why what was asked for is not possible now."""
    messages.error(request, conflict.detail)
    return redirect(to)

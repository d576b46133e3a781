"""The operator's pages; everybody else gets 404."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponseBase

from snapshots import access
from snapshots.web.pages.rendering import page


def operator_page(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Wrap a view as ``page`` does, and answer 404 to those who are not operators."""

    @page
    @wraps(view)
    def answer(request: HttpRequest, *args, **kwargs) -> HttpResponseBase:
        access.require_operator(request.user)
        return view(request, *args, **kwargs)

    return answer

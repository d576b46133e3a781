"""Ask for a sign-in wherever a page is not public."""

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import resolve_url
from django_htmx.http import HttpResponseClientRedirect

from snapshots import access

# The API, /metrics and the recorder are listed because they answer 401 themselves, in their own
# format.
PUBLIC = (
    "/sign-in",
    "/teams/join",
    "/public",
    "/static/",
    "/healthz",
    "/livez",
    "/readyz",
    "/metrics",
    "/account/recorder",
    "/api/",
)


def is_public(path: str) -> bool:
    return any(path == public or path.startswith(public.rstrip("/") + "/") for public in PUBLIC)


def login_required(get_response):
    def middleware(request):
        if is_public(request.path_info) or request.user.is_authenticated:
            return get_response(request)
        if isinstance(request.user, access.Visitor):
            return get_response(request)
        if request.htmx:  # a redirect would put the sign-in page inside this page
            return HttpResponseClientRedirect(resolve_url(settings.LOGIN_URL))
        return redirect_to_login(request.get_full_path())

    return middleware

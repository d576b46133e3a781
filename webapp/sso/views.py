"""Begin and end a sign-in through the OpenID provider."""

import logging

from allauth.core import ratelimit
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from requests import RequestException

from webapp.accounts import audit, views
from webapp.accounts.forms import SignInForm
from webapp.sso import flow

logger = logging.getLogger(__name__)

TOO_MANY = "Too many sign-ins were begun from your address. Please wait a minute."


@never_cache
@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """Show a page that leads to the provider; the content policy lets no form leave this site."""
    next_page = views.next_page(request)
    if request.user.is_authenticated:
        return redirect(next_page)
    if not ratelimit.consume(request, action="login"):
        return views.render_sign_in(request, SignInForm(), sso_refusal=TOO_MANY, status=429)
    request.session.set_expiry(60 * flow.STATE_MINUTES)  # a stranger's session is not kept long
    try:
        address = flow.address_to_sign_in(request, next_page)
    except (ProviderException, RequestException) as error:
        return failed(request, error)
    context = {"address": address, "name": settings.OIDC_NAME, "title": "Sign in"}
    return render(request, "sso/leaving.html", context)


@never_cache
@require_safe
def callback(request: HttpRequest) -> HttpResponse:
    """End the sign-in to which the provider sends the browser back."""
    try:
        return OAuth2CallbackView.adapter_view(flow.Exchange)(request)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        logger.exception("The OpenID provider's answer cannot be read")
        return failed(request, error)


def signed_in(request: HttpRequest, user: User, next_page: str) -> HttpResponse:
    """Begin a session of the person, of which nothing of the stranger's is part."""
    request.session.flush()
    views.begin_session(request, user, f"through {settings.OIDC_NAME}")
    request.session[views.BY_PROVIDER] = True
    ours = url_has_allowed_host_and_scheme(next_page, {request.get_host()}, request.is_secure())
    return redirect(next_page if ours else settings.LOGIN_REDIRECT_URL)


def signed_out(request: HttpRequest) -> HttpResponse:
    """Lead to where the provider ends its own session, after that of Cutline has ended."""
    try:
        address = flow.address_to_sign_out(request)
    except (ProviderException, RequestException) as error:
        logger.warning("The sign-out at the provider failed: %s: %s", type(error).__name__, error)
        sentence = (
            f"You are signed out here. {settings.OIDC_NAME} gave no answer that can be used, so "
            "that you may still be signed in there."
        )
        return views.render_sign_in(request, SignInForm(), sso_refusal=sentence)
    if not address:
        return redirect(settings.LOGIN_URL)
    context = {"address": address, "name": settings.OIDC_NAME, "title": "Sign out"}
    return render(request, "sso/leaving.html", context)


def refused(request: HttpRequest, sentence: str) -> HttpResponse:
    audit.note_refusal(sentence)
    return views.render_sign_in(request, SignInForm(), sso_refusal=sentence, status=422)


def failed(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say that the provider is to blame; the operator's log says of what."""
    logger.warning("Single sign-on failed: %s: %s", type(error).__name__, error)
    sentence = (
        f"{settings.OIDC_NAME} cannot sign you in at the moment. Try again later, or ask an "
        "operator for a sign-in link."
    )
    if isinstance(error, ProviderException):
        audit.note_refusal(str(error))
        sentence = f"{settings.OIDC_NAME} gave an answer that cannot be trusted. {error}"
    return views.render_sign_in(request, SignInForm(), sso_refusal=sentence, status=503)

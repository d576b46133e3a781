"""Sign people in and out."""

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from webapp.accounts import audit, services
from webapp.accounts.forms import SignInForm

BY_PROVIDER = "by_provider"  # in a session that began at the OpenID provider


@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        if request.user.is_authenticated:
            return redirect(settings.LOGIN_REDIRECT_URL)
        return render_sign_in(request, SignInForm())
    form = SignInForm(request.POST)
    if not form.is_valid():
        return render_sign_in(request, form, status=422)
    return redeem(request, form, services.token_in(form.cleaned_data["link"]))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def follow_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show whom the link signs in, with a button, so that a preview does not use the link up."""
    if request.method == "POST":
        return redeem(request, SignInForm(), token)
    try:
        person = services.invited(token)
    except services.SignInRefused as refusal:
        return render_sign_in(request, SignInForm(), refusal=str(refusal), status=422)
    context = {"person": person, "next": next_page(request)}
    return render(request, "accounts/confirm_sign_in.html", context)


def redeem(request: HttpRequest, form: SignInForm, token: str) -> HttpResponse:
    try:
        user = services.redeem(token)
    except services.SignInRefused as refusal:
        audit.note_refusal(str(refusal))
        return render_sign_in(request, form, refusal=str(refusal), status=422)
    begin_session(request, user)
    return redirect(next_page(request))


def begin_session(request: HttpRequest, user: User, how: str = "") -> None:
    """Sign a person in; ``how`` is what the audit log says beside it."""
    request.session.set_expiry(None)  # a sign-in that was broken off has shortened it
    login(request, user)
    request.session["address"] = audit.client_address(request)
    request.session.clear_expired()
    audit.note(audit.SIGNED_IN, user, how)


def render_sign_in(request, form, *, refusal="", sso_refusal="", status=200) -> HttpResponse:
    context = {
        "form": form,
        "refusal": refusal,
        "next": next_page(request),
        "sso": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "sso_refusal": sso_refusal,
    }
    return render(request, "accounts/sign_in.html", context, status=status)


def next_page(request: HttpRequest) -> str:
    """Return the page to which the person was going; never one on another site."""
    page = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure())
    return page if ours else settings.LOGIN_REDIRECT_URL


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, and the one at the OpenID provider if that signed the person in."""
    audit.note(audit.SIGNED_OUT, request.user)
    is_sso = settings.OIDC_ISSUER and request.session.get(BY_PROVIDER, False)
    logout(request)
    if is_sso:
        from webapp.sso import views as sso  # allauth is there only with the setting

        return sso.signed_out(request)
    return redirect(settings.LOGIN_URL)

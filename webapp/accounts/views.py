from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts import services
from webapp.accounts.forms import SignInForm, TokenForm


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
@require_GET
def follow_link(request: HttpRequest, token: str) -> HttpResponse:
    return redeem(request, SignInForm(), token)


def redeem(request: HttpRequest, form: SignInForm, token: str) -> HttpResponse:
    try:
        user = services.redeem(token)
    except services.SignInRefused as refusal:
        return render_sign_in(request, form, refusal=str(refusal), status=422)
    login(request, user)
    return redirect(next_page(request))


def render_sign_in(request, form, *, refusal="", status=200) -> HttpResponse:
    context = {"form": form, "refusal": refusal, "next": next_page(request)}
    return render(request, "accounts/sign_in.html", context, status=status)


def next_page(request: HttpRequest) -> str:
    """Where the person was going; never another site."""
    page = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure())
    return page if ours else settings.LOGIN_REDIRECT_URL


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect(settings.LOGIN_URL)


@never_cache
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    return render_account(request, TokenForm())


@never_cache
@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    """Shows the token in its answer: it is kept nowhere, so there is nothing to redirect to."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return render_account(request, form, status=422)
    row, token = services.make_token(request.user, form.cleaned_data["name"])
    return render_account(request, TokenForm(), new_row=row, new_token=token)


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.delete()
    messages.success(request, f"The token {token.name} is revoked.")
    return redirect("account")


def render_account(request, form, *, status=200, **new) -> HttpResponse:
    context = {"form": form, "tokens": request.user.api_tokens.all(), **new}
    return render(request, "accounts/account.html", context, status=status)

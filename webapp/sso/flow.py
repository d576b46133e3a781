"""Follow the authorisation-code flow with allauth, and check more than it does.

allauth keeps the state and the PKCE verifier in the session, and exchanges the code. What it leaves
open is closed here: the nonce, the signature of the ID token, and the issuer's own name. allauth
would then make accounts of its own; instead the person is signed in as every other.
"""

import secrets
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlencode, urlsplit

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import AuthProcess, ProviderException
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from webapp.accounts.services import SignInRefused
from webapp.sso import people, tokens
from webapp.sso.configuration import is_safe

PROVIDER = "sso"  # its name in the states that allauth keeps
STATE_MINUTES = 10  # allauth keeps a state as long as this
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
BEGIN_AGAIN = (
    f"This sign-in was not begun in this browser, or more than {STATE_MINUTES} minutes ago. "
    "Please begin again."
)
CLAIMS = ("sub", "nonce", "email", "email_verified")


class Provider(OpenIDConnectProvider):
    """The OpenID provider that the settings name."""

    def get_oauth2_adapter(self, request: HttpRequest) -> "Exchange":
        return Exchange(request)


class Exchange(OpenIDConnectOAuth2Adapter):
    """Talks to the OpenID provider during one request."""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, PROVIDER)

    @property
    def openid_config(self) -> dict[str, Any]:
        """Return the provider's description of itself.

        Raises: ProviderException, RequestException.
        """
        if not hasattr(self, "_openid_config"):
            address = f"{settings.OIDC_ISSUER}/.well-known/openid-configuration"
            self._openid_config = _checked(_fetched(address))
        return self._openid_config

    def get_callback_url(self, request: HttpRequest, app) -> str:
        return settings.PUBLIC_URL + reverse("sso-callback")

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        return SocialToken(token=str(data["access_token"]))  # stored nowhere, so its end is idle

    def complete_login(self, request: HttpRequest, app, token, **kwargs) -> SocialLogin:
        """Return whom the provider names. Raises: ProviderException, RequestException."""
        claims = tokens.verified_claims(
            kwargs["response"].get("id_token"),
            _fetched(self.openid_config["jwks_uri"]),
            issuer=self.openid_config["issuer"],
            client_id=app.client_id,
        )
        if "email" not in claims:
            claims |= self._address(token.token, claims["sub"])
        known = {name: claims[name] for name in CLAIMS if name in claims}
        account = SocialAccount(uid=claims["sub"], provider=PROVIDER, extra_data=known)
        return SocialLogin(account=account, provider=self.get_provider())

    def _address(self, access_token: str, subject: str) -> dict[str, Any]:
        """Return the e-mail address from the provider's userinfo, where the token has none.

        Raises: ProviderException if the userinfo is of somebody else.
        """
        address = self.openid_config.get("userinfo_endpoint")
        if not address:
            return {}
        user = _fetched(address, {"Authorization": f"Bearer {access_token}"})
        if not isinstance(user, dict) or user.get("sub") != subject:
            raise ProviderException("The userinfo belongs to another subject than the ID token.")
        return {name: user[name] for name in ("email", "email_verified") if name in user}


class Adapter(DefaultSocialAccountAdapter):
    """Ends allauth's flow with a person of Cutline, or with the reason why there is none."""

    def get_provider(self, request, provider, client_id=None) -> Provider:
        return Provider(request, app=_app())

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> NoReturn:
        from webapp.sso import views

        claims, state = sociallogin.account.extra_data, sociallogin.state
        try:
            if not secrets.compare_digest(str(claims.get("nonce")), str(state.get("nonce"))):
                raise SignInRefused("The ID token answers another sign-in. Please begin again.")
            user = people.person(claims)
        except SignInRefused as refusal:
            raise ImmediateHttpResponse(views.refused(request, str(refusal))) from None
        raise ImmediateHttpResponse(views.signed_in(request, user, state.get("next", "")))

    def on_authentication_error(
        self, request, provider, error=None, exception=None, extra_context=None
    ) -> NoReturn:
        from webapp.sso import views

        if exception is not None:
            raise ImmediateHttpResponse(views.failed(request, exception))
        has_state = "state" in (extra_context or {})
        sentence = _provider_said(request, error) if has_state else BEGIN_AGAIN
        raise ImmediateHttpResponse(views.refused(request, sentence))


def address_to_sign_in(request: HttpRequest, next_page: str) -> str:
    """Return the provider's address at which a sign-in begins, and remember its state.

    Raises: ProviderException, RequestException.
    """
    nonce = secrets.token_urlsafe(32)
    answer = Provider(request, app=_app()).redirect(
        request,
        AuthProcess.LOGIN,
        next_url=next_page,
        auth_params={"nonce": nonce},
        nonce=nonce,
    )
    return answer["Location"]


def address_to_sign_out(request: HttpRequest) -> str:
    """Return the provider's address at which its session ends; empty if it announces none.

    No ID token is kept that could say whose session it is, so the provider may ask the person.
    Raises: ProviderException, RequestException.
    Source: OpenID Connect RP-Initiated Logout 1.0, section 2.
    """
    endpoint = Exchange(request).openid_config.get("end_session_endpoint")
    if endpoint is None:
        return ""
    if not isinstance(endpoint, str) or not is_safe(endpoint):
        raise ProviderException("The provider's end_session_endpoint is not an https address.")
    back = {
        "client_id": settings.OIDC_CLIENT_ID,
        "post_logout_redirect_uri": settings.PUBLIC_URL + reverse("sign-in"),
    }
    parts = urlsplit(endpoint)
    return parts._replace(query=urlencode([*parse_qsl(parts.query), *back.items()])).geturl()


def _app() -> SocialApp:
    """Return what allauth must know about the provider; it is stored nowhere."""
    return SocialApp(
        provider=Provider.id,
        provider_id=PROVIDER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={
            "server_url": settings.OIDC_ISSUER,
            "oauth_pkce_enabled": True,
            "scope": ["openid", "email"],
        },
    )


def _fetched(address: str, headers: dict[str, str] | None = None) -> Any:
    """Return JSON from the provider. Raises: RequestException."""
    with get_adapter().get_requests_session() as session:
        answer = session.get(address, headers=headers)
        answer.raise_for_status()
        return answer.json()


def _checked(document: Any) -> dict[str, Any]:
    """Return a provider's description that is its own and complete. Raises: ProviderException."""
    issuer = document.get("issuer") if isinstance(document, dict) else None
    if not isinstance(issuer, str) or issuer.rstrip("/") != settings.OIDC_ISSUER:
        raise ProviderException(f"The provider calls itself {issuer!r}, not as OIDC_ISSUER says.")
    for name in ENDPOINTS:
        if not isinstance(document.get(name), str) or not is_safe(document[name]):
            raise ProviderException(f"The provider's {name} is not an https address.")
    return document


def _provider_said(request: HttpRequest, error: str | None) -> str:
    if error == AuthError.CANCELLED:
        return f"The sign-in was cancelled at {settings.OIDC_NAME}."
    reason = request.GET.get("error_description") or request.GET.get("error") or "no code"
    return f"{settings.OIDC_NAME} refused the sign-in: {reason[:200]}."

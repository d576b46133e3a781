"""Check ID tokens as OpenID Connect Core 1.0, section 3.1.3.7, asks.

allauth leaves the signature unchecked if the token comes from the provider itself, which only TLS
would then vouch for.
"""

from typing import Any

import jwt
from allauth.socialaccount.providers.base import ProviderException

from webapp.sso.models import LONGEST_SUBJECT

ALGORITHMS = [
    *["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
]
"""Signatures with a public key. With the others, whoever knows the client could sign."""
LEEWAY_SECONDS = 60  # by which the two clocks may differ
REQUIRED = ["exp", "iat", "iss", "aud", "sub"]


class TokenNotValid(ProviderException):
    """The provider's ID token is not valid; the message says why."""


def verified_claims(token: Any, keys: Any, *, issuer: str, client_id: str) -> dict[str, Any]:
    """Return the claims of an ID token. Raises: TokenNotValid.

    Args:
        token: the token as the provider sent it.
        keys: the provider's JSON Web Key Set.
        issuer: the issuer as the provider's own document spells it.
        client_id: this server's name at the provider.
    """
    if not isinstance(token, str):
        raise TokenNotValid("The answer has no ID token.")
    try:
        claims = jwt.decode(
            token,
            _key_of(token, keys),
            algorithms=ALGORITHMS,
            audience=client_id,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": REQUIRED},
        )
    except jwt.PyJWTError as error:
        raise TokenNotValid(f"The ID token is not valid: {error}.") from None
    _require_for_us(claims, client_id)
    return claims


def _key_of(token: str, keys: Any) -> jwt.PyJWK:
    """Return the key that the token names, or the only one. Raises: TokenNotValid, PyJWTError."""
    if not isinstance(keys, dict):
        raise TokenNotValid("The provider's keys are not a JSON Web Key Set.")
    usable = jwt.PyJWKSet.from_dict(keys).keys
    name = jwt.get_unverified_header(token).get("kid")
    matching = [key for key in usable if name in (None, key.key_id)]
    if len(matching) != 1:
        raise TokenNotValid("The ID token is signed with a key that the provider does not list.")
    return matching[0]


def _require_for_us(claims: dict[str, Any], client_id: str) -> None:
    """Refuse a token that was issued to another client, or has no usable subject.

    Raises: TokenNotValid.
    """
    several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if several else client_id) != client_id:
        raise TokenNotValid("The ID token was issued to another client.")
    if not 0 < len(claims["sub"]) <= LONGEST_SUBJECT:
        raise TokenNotValid(f"The ID token's subject has not 1 to {LONGEST_SUBJECT} characters.")

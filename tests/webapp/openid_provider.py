"""A small OpenID provider that runs as a real HTTP server in the tests.

It checks what a provider checks: the client, its secret, the redirect address, and that the PKCE
verifier belongs to the challenge. A test changes its ``answers`` to make it misbehave.
"""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "cutline", "a secret of the tests"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Answers:
    """What the provider answers; by default, what a good provider does.

    Attributes:
        claims: claims of the ID token that differ from the usual ones; None leaves one out.
        userinfo: claims at the userinfo endpoint, which has the subject of the token by itself.
        document: members of the discovery document that differ.
        key: the key that signs; ``None`` for a token without a signature.
        headers: members of the token's header that differ.
        is_down: whether every address answers 503.
        token_answer: the body of the token endpoint, where it is not the usual one.
        code_error: the error with which the browser is sent back.
    """

    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    key: Any = KEY
    headers: dict[str, Any] = field(default_factory=dict)
    is_down: bool = False
    token_answer: bytes | None = None
    code_error: str = ""


class OpenIdProvider:
    """Serves until ``stop`` is called."""

    def __init__(self) -> None:
        self.answers = Answers()
        self.requested: dict[str, dict[str, str]] = {}
        handler = type("Bound", (Handler,), {"provider": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        } | self.answers.document

    def authorize(self, asked: dict[str, str]) -> str:
        """Return the address to which the browser is sent back."""
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        if self.answers.code_error:
            back = {"error": self.answers.code_error}
        else:
            back = {"code": secrets.token_urlsafe(8)}
            self.requested[back["code"]] = asked
        return f"{asked['redirect_uri']}?{urlencode(back | {'state': asked['state']})}"

    def token(self, sent: dict[str, str]) -> tuple[int, bytes]:
        if self.answers.token_answer is not None:
            return 200, self.answers.token_answer
        asked = self.requested.pop(sent.get("code", ""), None)
        if asked is None or not _is_proven(asked, sent):
            return 400, json.dumps({"error": "invalid_grant"}).encode()
        body = {"access_token": "access", "token_type": "Bearer", "id_token": self.id_token(asked)}
        return 200, json.dumps(body).encode()

    def id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            "email": "ada@example.org",
            "email_verified": True,
        } | self.answers.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        algorithm = "RS256" if self.answers.key is not None else "none"
        headers = {"kid": "1"} | self.answers.headers
        return jwt.encode(kept, self.answers.key, algorithm, headers=headers)


class Handler(BaseHTTPRequestHandler):
    provider: OpenIdProvider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if self.provider.answers.is_down:
            self.answer(503, b"")
        elif parts.path == "/.well-known/openid-configuration":
            self.answer(200, json.dumps(self.provider.document()).encode())
        elif parts.path == "/keys":
            key = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
            self.answer(200, json.dumps({"keys": [key | {"kid": "1", "alg": "RS256"}]}).encode())
        elif parts.path == "/userinfo":
            assert self.headers["Authorization"] == "Bearer access"
            answers = self.provider.answers
            user = {"sub": answers.claims.get("sub", "subject-1")} | answers.userinfo
            self.answer(200, json.dumps(user).encode())
        else:
            self.answer(302, b"", self.provider.authorize(dict(parse_qsl(parts.query))))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(*self.provider.token(dict(parse_qsl(body))))

    def answer(self, status: int, body: bytes, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_) -> None:
        pass


def _is_proven(asked: dict[str, str], sent: dict[str, str]) -> bool:
    digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return (
        challenge == asked["code_challenge"]
        and sent.get("redirect_uri") == asked["redirect_uri"]
        and (sent.get("client_id"), sent.get("client_secret")) == (CLIENT, SECRET)
    )

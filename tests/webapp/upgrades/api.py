"""The HTTP API of some version of Cutline, of which a caller uses what that version knows."""

import json
import re
import time
import urllib.error
import urllib.request
import uuid
from typing import Any

from tests.webapp.over_http import form

PATIENCE_SECONDS = 600
OPEN = ("queued", "running")


class Api:
    """One person's calls. ``refused``: the calls that were not answered with 2xx, as sentences."""

    def __init__(self, origin: str, token: str) -> None:
        self.origin, self._token = origin, token
        self.refused: list[str] = []
        document = self.call("GET", "/api/openapi.json")
        self._known = {
            (method.upper(), re.compile(re.sub(r"\{[^}]*\}", "[^?]+", path) + "$"))
            for path, methods in document["paths"].items()
            for method in methods
        }

    def knows(self, method: str, path: str) -> bool:
        bare = path.partition("?")[0]
        return any(each == method and pattern.match(bare) for each, pattern in self._known)

    def get(self, path: str) -> Any:
        return self.asked("GET", path)

    def post(self, path: str, body: Any = None) -> Any:
        raw = json.dumps(body).encode() if body is not None else b""
        return self.asked("POST", path, raw, {"Content-Type": "application/json"})

    def upload(self, content: bytes, filename: str, **fields: str) -> Any:
        boundary = uuid.uuid4().hex
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self.asked(
            "POST", "/api/recordings", form(boundary, content, filename, fields), kind
        )

    def asked(self, method: str, path: str, body: bytes | None = None, headers=None) -> Any:
        """Return the answer; None if this version does not know the call, or refuses it."""
        if not self.knows(method, path):
            return None
        try:
            return self.call(method, path, body, headers)
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            self.refused.append(f"{method} {path} {error.code}: {said[:300]}")
            return None

    def call(self, method: str, path: str, body: bytes | None = None, headers=None) -> Any:
        """Return the JSON of an answer, or else its headers. Raises: HTTPError."""
        own = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        request = urllib.request.Request(self.origin + path, body, own, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            raw = answer.read()
            is_json = answer.headers.get_content_type() == "application/json"
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return json.loads(raw) if is_json and raw else headers

    def wait_for_jobs(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(job["state"] in OPEN for job in self.call("GET", "/api/jobs?limit=100")["items"]):
            assert time.monotonic() < deadline, "jobs are still under way"
            time.sleep(0.5)

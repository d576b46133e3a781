"""The API of a running stack, called over HTTP like other programs do."""

import http.client
import json
import re
import time
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any

from tests.stack import Stack

PATIENCE_SECONDS = 300


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


def sign_in(stack: Stack) -> CookieJar:
    """Follow a sign-in link like a browser, and return the cookies."""
    cookies = CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    link = stack.manage("sign_in_link")
    page = browser.open(link).read().decode()
    csrf = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    browser.open(link, urllib.parse.urlencode({"csrfmiddlewaretoken": csrf}).encode())
    return cookies


class Api:
    def __init__(self, stack: Stack, email: str = "owner@localhost") -> None:
        self.stack = stack
        self.port = stack.port
        self.headers = {"Authorization": f"Bearer {stack.token(email)}"}

    def call(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, f"/api{path}", body, {**self.headers, **headers})
            answer = connection.getresponse()
            raw = answer.read()
            return Answer(answer.status, json.loads(raw) if raw else None, dict(answer.headers))
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def raw(self, path: str) -> bytes:
        """Return an answer that is not JSON."""
        request = urllib.request.Request(f"{self.stack.url}/api{path}", headers=self.headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def post(self, path: str, body: Any = None) -> Answer:
        raw = json.dumps(body).encode()
        return self.call("POST", path, raw, **{"Content-Type": "application/json"})

    def upload(self, content: bytes, name: str = "log.jsonl", **fields: str) -> Answer:
        boundary = uuid.uuid4().hex
        body = form(boundary, content, name, fields)
        kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return self.call("POST", "/recordings", body, **kind)

    def ended(self, job: int, patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Return the job once it has ended. Raises: AssertionError after these seconds."""
        deadline = time.monotonic() + patience
        while (found := self.get(f"/jobs/{job}"))["state"] in ("queued", "running"):
            assert time.monotonic() < deadline, f"the job is still under way: {found}"
            time.sleep(0.05)
        return found

    def ingested(self, content: bytes, name: str = "log.jsonl", **fields: str) -> int:
        """Return the id of the recording once it is ready."""
        accepted = self.upload(content, name, **fields)
        assert accepted.status == 202, accepted
        job = self.ended(accepted.body["job"])
        assert job["state"] == "done", job
        return accepted.body["id"]


def form(boundary: str, content: bytes, name: str, fields: dict[str, str]) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
        for field, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    return "".join(parts).encode() + head.encode() + content + f"\r\n--{boundary}--\r\n".encode()

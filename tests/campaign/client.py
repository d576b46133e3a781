"""The API as a patient program calls it: any web process, and no answer is an answer too."""

import http.client
import json
import time
import uuid
from collections.abc import Mapping
from random import Random
from typing import Any

from tests.campaign.system import System
from tests.webapp.over_http import Answer, form

TIMEOUT_SECONDS = 60
PATIENCE_SECONDS = 300
JOB_SECONDS = 1_500  # a job may be put back a few times, on a machine that does much else
PASSING = {429, 503, 507}  # come again later
JSON = "application/json"


class Client:
    """Not safe for threads. ``faults``: what an answer must never be, as sentences."""

    def __init__(self, system: System, token: str, dice: Random) -> None:
        self._system = system
        self._dice = dice
        self._headers = {"Authorization": f"Bearer {token}"}
        self.unanswered = 0
        self.put_off = 0
        self.faults: list[str] = []

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "",
        more: Mapping[str, str] | None = None,
    ) -> Answer | None:
        """The answer; None where the connection broke or nobody answered in time.

        ``kind`` is the type of the body, ``more`` are further headers.
        """
        port = self._dice.choice(self._system.ports)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        headers = self._headers | ({"Content-Type": kind} if kind else {}) | dict(more or {})
        try:
            connection.request(method, f"/api{path}", body, headers)
            answer = connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            return None
        finally:
            connection.close()
        return self._checked(f"{method} {path}", answer, raw)

    def _checked(self, request: str, answer: http.client.HTTPResponse, raw: bytes) -> Answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        is_json = "json" in headers.get("content-type", "")
        if answer.status in PASSING:
            self.put_off += 1
        if answer.status in (500, 502, 504) or (answer.status >= 400 and not is_json):
            self.faults.append(f"{request} answered {answer.status}: {raw[:300]!r}")
        return Answer(answer.status, json.loads(raw) if raw and is_json else None, headers)

    def get(self, path: str) -> Any:
        """The body of a 200, asked for until it comes; None for a 404."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            answer = self.call("GET", path)
            if answer is not None and answer.status == 200:
                return answer.body
            if answer is not None and answer.status == 404:
                return None
            time.sleep(0.5)
        raise TimeoutError(f"GET {path} had no answer for {PATIENCE_SECONDS} s")

    def post(self, path: str, body: Any = None) -> Answer | None:
        return self.call("POST", path, json.dumps(body).encode(), JSON)

    def insist(self, *request: Any) -> Answer:
        """The first answer that says more than to come again; the same request is sent until then.

        Raises: TimeoutError.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            answer = self.call(*request)
            if answer is not None and answer.status not in PASSING and not is_under_way(answer):
                return answer
            time.sleep(0.5)
        raise TimeoutError(f"{request[0]} {request[1]} had no answer for {PATIENCE_SECONDS} s")

    def make(self, path: str, body: Any = None) -> Any:
        """What a POST made, which is repeated with one key until it is answered.

        Raises: AssertionError if it is refused, TimeoutError.
        """
        key = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self.insist("POST", path, json.dumps(body).encode(), JSON, key)
        assert answer.status in (201, 202), f"POST {path} answered {answer.status}: {answer.body}"
        return answer.body

    def listed(self, path: str) -> list[Any]:
        """All items of a list, page by page."""
        items: list[Any] = []
        while True:
            page = self.get(f"{path}?limit=100&offset={len(items)}")
            items += page["items"]
            if len(items) >= page["total"] or not page["items"]:
                return items

    def upload(self, content: bytes, name: str) -> Answer | None:
        boundary = uuid.uuid4().hex
        body = form(boundary, content, "log.jsonl", {"name": name})
        return self.call("POST", "/recordings", body, f"multipart/form-data; boundary={boundary}")

    def ended(self, job: int) -> dict[str, Any] | None:
        """The job, when it has ended; None where it is gone. Raises: TimeoutError."""
        deadline = time.monotonic() + JOB_SECONDS
        while time.monotonic() < deadline:
            found = self.get(f"/jobs/{job}")
            if found is None or found["state"] not in ("queued", "running"):
                return found
            time.sleep(0.3)
        raise TimeoutError(f"job {job} did not end: {found}")


def is_under_way(answer: Answer) -> bool:
    """Tell whether the first request with the same key is still being answered."""
    return answer.status == 409 and answer.body["type"] == "/problems/request-under-way"

"""People who come and go: an invitation, a session, a token, a webhook, the end of an account."""

import json
import re
import time
from dataclasses import dataclass
from random import Random

from tests.campaign.client import Client
from tests.campaign.system import System
from tests.soak.hour import PATIENCE_SECONDS, expected
from tests.soak.visitor import Visitor
from tests.webapp.receiver import Receiver

KINDS = ["job.done", "job.failed", "verdict.not-consistent"]


@dataclass
class People:
    """Those of one hour. ``team``: of the owner, who invites them."""

    number: int
    system: System
    client: Client
    dice: Random
    team: int

    def come_and_go(self) -> None:
        """One accepts, works a little, and leaves for good. One never answers."""
        self._invited("never")
        visitor = Visitor(self.system, self.dice)
        link = self._invited("guest")
        visitor.get(link)
        visitor.post(link)
        for page in ("/", "/jobs", f"/teams/{self.team}", "/account"):
            visitor.get(page)
        with visitor.socket("/ws/jobs"):
            self._use_a_token(visitor)
        visitor.post("/sign-out")
        self._delete(self.address("guest"))

    def address(self, name: str) -> str:
        return f"{name}{self.number}@example.org"

    def _invited(self, name: str) -> str:
        """Invite somebody, and return the path of the link."""
        body = {"address": self.address(name), "role": "editor"}
        answer = self.client.post(f"/teams/{self.team}/invitations", body)
        return expected(answer, 201).body["link"]

    def _use_a_token(self, visitor: Visitor) -> None:
        page = visitor.post("/account/tokens", name="nightly", scope="read", days="")
        token = re.search(r"\bcut_[\w-]{20,}", page)[0]
        guest = Client(self.system, token, self.dice)
        expected(guest.call("GET", "/recordings"), 200)
        [held] = json.loads(visitor.get("/api/account/tokens"))["items"]
        visitor.post(f"/account/tokens/{held['id']}/revoke")
        expected(guest.call("GET", "/recordings"), 401)

    def _delete(self, address: str) -> None:
        found = self.client.get(f"/operator/people?q={address}")["items"]
        at = f"/operator/people/{found[0]['id']}"
        expected(self.client.call("PATCH", at, b'{"is_active": false}', "application/json"), 200)
        expected(self.client.call("DELETE", at), 204)


class Notified:
    """A webhook of the owner, from ``open`` to ``close``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._receiver = Receiver()

    def open(self) -> None:
        body = {"url": self._receiver.url, "kinds": KINDS}
        self._at = f"/webhooks/{expected(self._client.post('/webhooks', body), 201).body['id']}"
        expected(self._client.post(f"{self._at}/test"), 202)

    def close(self) -> None:
        """Wait until nothing is to be posted any more, and delete the webhook."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(row["state"] == "waiting" for row in self._deliveries()):
            assert time.monotonic() < deadline, self._deliveries()
            time.sleep(0.5)
        assert self._receiver.received, "No webhook came."
        expected(self._client.call("DELETE", self._at), 204)
        self._receiver.stop()

    def _deliveries(self) -> list[dict]:
        return self._client.get(f"{self._at}/deliveries?limit=100")["items"]

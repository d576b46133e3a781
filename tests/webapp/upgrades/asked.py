"""Open a folder as ``make run`` does, ask it everything, and write the answers as JSON.

    python -m tests.webapp.upgrades.asked FACTS ANSWERS [--all]

FACTS is the ``facts.json`` of a package. Without ``--all``, of each kind of address one is asked
for each format. The answers come from Django's client, without a worker.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from tests.webapp.upgrades import asking
from tests.webapp.upgrades.contents import IN_PIECES, REST, SECOND
from webapp import launch

HOST = "127.0.0.1"
LINK = re.compile(r'(?:href|data-url)="(/[^"#]*)')
OWNED = re.compile(r"(?:/api)?/(?:recordings|archive)/\d+")


def main() -> None:
    facts = json.loads(Path(sys.argv[1]).read_text())
    launch.migrate()
    answers = Answers(facts, is_whole="--all" in sys.argv)
    answers.ask_calls()
    answers.ask_pages()
    answers.go_on()
    found = {"said": answers.said, "statuses": answers.statuses, "went_on": answers.went_on}
    Path(sys.argv[2]).write_text(json.dumps(found))


class Answers:
    """What today's version answers.

    Attributes:
        said: the JSON of each answer to a call that the older version answered, too.
        statuses: the status of each answer, and what it says if it is no success.
        went_on: what came of going on with what the older version had begun.
    """

    def __init__(self, facts: dict[str, Any], *, is_whole: bool) -> None:
        self.said: dict[str, Any] = {}
        self.statuses: dict[str, tuple[int, str]] = {}
        self.went_on: dict[str, Any] = {}
        self._facts, self._is_whole = facts, is_whole
        token = facts["tokens"]["owner@localhost"]
        self._api = _client(authorization=f"Bearer {token}")
        self._browser = _client()
        name, _, value = facts["session"].partition("=")
        self._browser.cookies[name] = value

    def ask_calls(self) -> None:
        """Ask again what the older version was asked, and all that today's version knows."""
        seen: dict[str, Any] = {}

        def get(address: str) -> Any:
            if address not in seen:
                seen[address] = self._asked(address, "")
            return seen[address]

        for call in self._of_each_kind(self._facts["said"]):
            address, _, body = call.partition(" ")
            found = self._asked(address, body) if body else get(address)
            if found is not None:
                self.said[call] = found
        if self._is_whole:
            for address in asking.addresses(get("/api/openapi.json"), get):
                get(address)

    def _asked(self, address: str, body: str) -> Any:
        post: Callable[..., Any] = self._api.post
        answer = post(address, body, "application/json") if body else self._api.get(address)
        content = b"".join(answer)
        success = answer.status_code < 400
        self.statuses[f"{address} {body}".strip()] = (
            answer.status_code,
            "" if success else content.decode(errors="replace"),
        )
        is_json = answer.get("Content-Type", "").startswith("application/json")
        return json.loads(content) if success and is_json else None

    def ask_pages(self) -> None:
        """Ask every page to which pages lead the person whose session was kept."""
        browser = self._browser
        waiting, kinds = ["/"], {"/"}
        while waiting:
            address = waiting.pop(0)
            answer = browser.get(address)
            content = b"".join(answer).decode(errors="replace")
            status = answer.status_code
            self.statuses[f"page {address}"] = status, "" if status < 400 else content
            for found in LINK.findall(content):
                if (kind := self._kind(found)) not in kinds and not kind.startswith("/static"):
                    kinds.add(kind)
                    waiting.append(found.replace("&amp;", "&"))

    def go_on(self) -> None:
        """Send what is missing of an upload and of an open recording, and follow links."""
        facts = self._facts
        second = _client(authorization=f"Bearer {facts['tokens'][SECOND]}")
        self.went_on["second token"] = second.get("/api/recordings").status_code
        if "upload" in facts:
            self.went_on["upload"] = self._finish(f"/api{facts['upload']}")
        if "open" in facts:
            address = f"/api/recordings/{facts['open']}"
            sent = self._api.post(f"{address}/events", REST, "application/x-ndjson")
            closed = self._api.post(f"{address}/close")
            self.went_on["open"] = [sent.json()["events"], closed.status_code]
        for name, made in (("short", facts.get("short")), ("public", facts.get("public"))):
            if made:
                path = urlsplit(made["link"]).path
                person = self._browser if name == "short" else _client()
                self.went_on[name] = person.get(path, follow=True).status_code

    def _finish(self, address: str) -> list[int]:
        """Send the rest of an upload in pieces; return where it was, and the last status."""
        tus = {"Tus-Resumable": "1.0.0"}
        offset = int(self._api.head(address, headers=tus)["Upload-Offset"])
        headers = tus | {"Upload-Offset": str(offset)}
        kind = "application/offset+octet-stream"
        answer = self._api.patch(address, IN_PIECES[offset:], kind, headers=headers)
        return [offset, answer.status_code]

    def _of_each_kind(self, addresses: Iterable[str]) -> Iterator[str]:
        kinds: set[str] = set()
        for address in addresses:
            if (kind := self._kind(address)) not in kinds:
                kinds.add(kind)
                yield address

    def _kind(self, address: str) -> str:
        """Return what addresses have in common that ask the same; those of recordings differ in
        their subjects if all are asked."""
        if self._is_whole and address.startswith("/api/"):
            return address
        owned = OWNED.match(address)
        bare = address.partition("?")[0].partition(" ")[0]
        end = owned.end() if owned else 0
        return (bare[:end] if self._is_whole else "") + re.sub(
            r"\d+", "N", bare[end:] if self._is_whole else bare
        )


def _client(**headers: str) -> Any:
    return Client(raise_request_exception=False, headers={"host": HOST, **headers})


if __name__ == "__main__":
    main()

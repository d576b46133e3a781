"""The workbench of an open recording follows what comes, until somebody looks at something else."""

import json

import pytest
from playwright.sync_api import expect

from tests.web.api.test_open_recordings import HEADER, lines
from tests.webapp.over_http import Api

TICK = {"kind": "internal", "process": "A"}


@pytest.fixture
def grows(stack):
    """Return an open recording's number, and a function that sends it so many more events."""
    api = Api(stack)
    pk = api.post("/recordings", {"open": True, "header": HEADER}).body["id"]
    sent = []

    def send(count: int) -> None:
        some = [TICK | {"index": len(sent) + n, "at": 1000 * (len(sent) + n)} for n in range(count)]
        sent.extend(some)
        answer = api.call(
            "POST",
            f"/recordings/{pk}/events",
            lines(*some),
            **{"Content-Type": "application/x-ndjson"},
        )
        assert answer.status == 200, json.dumps(answer.body)

    send(40)
    yield pk, send
    api.call("DELETE", f"/recordings/{pk}")


def test_the_workbench_follows_the_head_until_one_looks_elsewhere(page, grows):
    pk, send = grows
    page.goto(f"/recordings/{pk}")
    page.locator("#workbench.is-ready").wait_for()
    live, readout = page.locator("#wb-live"), page.locator("#wb-readout")
    expect(live).to_have_attribute("aria-pressed", "true")
    expect(readout).to_contain_text("event 40 / 40")
    send(10)
    expect(readout).to_contain_text("event 50 / 50")
    expect(page.locator("#wb-coming")).to_contain_text("50 events have come.")
    page.keyboard.press("ArrowLeft")
    expect(live).to_have_attribute("aria-pressed", "false")
    send(10)
    expect(readout).to_contain_text("/ 60")
    expect(readout).not_to_contain_text("event 60")
    page.keyboard.press("v")
    expect(live).to_have_attribute("aria-pressed", "true")
    expect(readout).to_contain_text("event 60 / 60")

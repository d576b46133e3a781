"""What a regional failure did, on the page of a simulated job of SeaTunnel, in a browser."""

import pytest
from playwright.sync_api import expect

from tests.stack import PICTURES
from tests.webapp.over_http import Api

WAYS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]
FLOW = {
    "vertices": [
        {"id": "orders", "kind": "source", "parallelism": 2, "records": 50},
        {"id": "clean", "kind": "operator", "parallelism": 2},
        {"id": "lines", "kind": "sink", "parallelism": 2},
    ],
    "edges": [
        {"source": "orders", "target": "clean", "exchange": "rebalance"},
        {"source": "clean", "target": "lines", "exchange": "hash"},
    ],
}
RUN = {
    "protocol": "seatunnel",
    "checkpoints": {"interval": 15_000},
    "failover": "region",
    "failures": [{"process": "clean[0]", "at": 25_000}, {"process": "lines[0]", "at": 43_000}],
}


@pytest.fixture(scope="module")
def failing(stack) -> str:
    """Return the address of the page of a job of which a part goes back, and then all of it."""
    api = Api(stack)
    topology = api.post("/topologies", {"name": "orders", "dataflow": FLOW}).body["id"]
    accepted = api.post(f"/topologies/{topology}/simulate", RUN)
    assert accepted.status == 202, accepted
    assert api.ended(accepted.body["job"])["state"] == "done"
    return f"/recordings/{accepted.body['id']}/checkpoints"


def test_each_failure_says_who_went_back_what_was_skipped_and_what_came_twice(failing, page):
    page.goto(failing)
    first, second = (page.get_by_role("region", name=f"Failure {n}") for n in (1, 2))
    expect(first).to_contain_text("of its vertex and of those before it went back to checkpoint 1")
    expect(first).to_contain_text("came again and were skipped")
    expect(first).to_contain_text("lines shows every write: no record was written again")
    expect(second).to_contain_text("all 7 tasks went back")
    expect(second).to_contain_text("are there twice")
    expect(page.get_by_role("button", name="Compare failover strategies")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), WAYS)
def test_the_page_is_pictured_and_nothing_is_wider_than_it(failing, page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(failing)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"failovers-{scheme}-{width}.png", full_page=True)

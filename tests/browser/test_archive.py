"""The archive in a browser: filtered, zoomed, opened; wide and narrow, light and dark."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.conftest import watch_for_errors
from tests.web.flink_server import RecordedFlink, Server

FILL = """
from bench.synthetic_archive import fill
from django.contrib.auth.models import User
print(fill(User.objects.get(username="owner@localhost"), 3000).pk)
"""
FOLLOW = """
import json
from django.contrib.auth.models import User
from snapshots.archive import collecting
job = collecting.poll(User.objects.get(username="owner@localhost"), "{url}").jobs[0]
print(json.dumps([job.pk, job.checkpoints.count()]))
"""


@pytest.fixture(scope="module")
def many(server, signed_in_state) -> int:
    """A job with 3,000 checkpoints."""
    return int(server.manage("shell", "--verbosity", "0", "-c", FILL))


def drawn(page) -> None:
    page.locator("[data-trend] .main-svg").first.wait_for()


def test_a_filter_draws_again_and_an_outlier_opens_its_checkpoint(page, many):
    page.goto(f"/archive/{many}")
    drawn(page)
    expect(page.get_by_role("heading", name="The last 60")).to_be_visible()
    page.locator("#f-status").select_option("failed")
    expect(page.locator("#archive-body")).to_contain_text(re.compile(r"\d+ of 3,000 checkpoints"))
    expect(page).to_have_url(re.compile("status=failed"))
    drawn(page)
    page.locator("#f-failing").fill("asynchronous")
    expect(page.locator("#archive-body")).not_to_contain_text("Checkpoint expired")
    page.locator("#archive-body").get_by_role("link", name=re.compile(r"^\d+$")).first.click()
    expect(page.locator("[data-gantt] .main-svg").first).to_be_visible()
    expect(page.locator("#tasks tbody tr")).to_have_count(50)


def test_zooming_asks_for_that_time_alone(page, many):
    page.goto(f"/archive/{many}")
    drawn(page)
    box = page.locator("[data-trend] .nsewdrag").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from=2026-"))
    expect(page.locator("#archive-body")).to_contain_text(re.compile(r"[56]\d\d of 3,000"))


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_pages_fit_and_complain_of_nothing(
    browser, server, signed_in_state, shared_data, many, width, scheme
):
    flink = RecordedFlink(shared_data / "flink" / "failures" / "rest")
    flink.count = 10
    with Server(flink) as url:
        job, count = json.loads(
            server.manage("shell", "--verbosity", "0", "-c", FOLLOW.format(url=url))
        )
    assert count >= 10  # another test may have brought further ones
    context = browser.new_context(
        base_url=server.url,
        storage_state=signed_in_state,
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    page = context.new_page()
    errors = watch_for_errors(page)
    pages = {
        "archive": "/archive",
        "archive-job": f"/archive/{many}",
        "archive-checkpoint": f"/archive/{job}/checkpoints/0/3",
        "archive-compare": f"/archive/{many}/compare",
    }
    for name, address in pages.items():
        page.goto(address)
        if name == "archive-job":
            drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width, address
    context.close()
    assert not errors

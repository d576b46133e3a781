"""The archive in a browser: filtered, zoomed, opened; wide and narrow, light and dark."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.archive.flink_server import RecordedFlink, Server
from tests.browser.looks import looking
from tests.conftest import watch_for_errors

FILL = """
from bench.synthetic_archive import fill
from django.contrib.auth.models import User
print(fill(User.objects.get(username="owner@localhost"), 3000).pk)
"""
PLOT = "document.querySelector('[data-figure=trends] .js-plotly-plot')"
FOLLOW = """
import json
from django.contrib.auth.models import User
from snapshots.archive import collecting
job = collecting.poll(User.objects.get(username="owner@localhost"), "{url}").jobs[0]
print(json.dumps([job.pk, job.checkpoints.count()]))
"""


@pytest.fixture(scope="module")
def many(server, signed_in_state) -> int:
    """Make a job with 3,000 checkpoints and return its id."""
    return int(server.manage("shell", "--verbosity", "0", "-c", FILL))


def drawn(page, name: str = "trends"):
    """Wait until Plotly has drawn a figure of the server, and return its element."""
    figure = page.locator(f"[data-figure={name}] .js-plotly-plot")
    figure.locator(".main-svg").first.wait_for()
    return figure


def test_the_newest_of_a_filter_and_a_sort_of_checkpoints_wins(page, many):
    held = []
    page.goto(f"/archive/{many}")
    page.route(re.compile("status=failed"), lambda route: held.append(route), times=1)  # noqa: PLW0108, as above
    with page.expect_request(re.compile("status=failed")):
        page.locator("#f-status").select_option("failed")
    page.get_by_role("columnheader", name="Took").get_by_role("link").click()
    expect(page).to_have_url(re.compile("status=failed.*sort="))
    held.pop().continue_()
    page.wait_for_timeout(1000)
    expect(page.get_by_role("columnheader", name="Took")).to_have_attribute(
        "aria-sort", re.compile("ending")
    )
    expect(page.locator("#checkpoints .checkpoint-status").first).to_have_text("failed")
    page.locator("#f-status").select_option("completed")
    expect(page).to_have_url(re.compile("status=completed.*sort="))


def test_a_filter_draws_again_and_an_outlier_opens_its_checkpoint(page, many):
    page.goto(f"/archive/{many}")
    drawn(page)
    expect(page.get_by_role("heading", name="The last 60")).to_be_visible()
    page.locator("#f-status").select_option("failed")
    expect(page.locator("#archive-body")).to_contain_text(
        re.compile(r"\d+\s+of\s+3,000\s+checkpoints")
    )
    expect(page).to_have_url(re.compile("status=failed"))
    drawn(page)
    page.locator("#f-failing").fill("asynchronous")
    expect(page.locator("#archive-body")).not_to_contain_text("Checkpoint expired")
    page.locator("#archive-body").get_by_role("link", name=re.compile(r"^\d+$")).first.click()
    drawn(page, "checkpoint-figure")
    expect(page.locator("#tasks tbody tr")).to_have_count(50)


def test_zooming_asks_for_that_time_alone(page, many):
    page.goto(f"/archive/{many}")
    drawn(page)
    box = page.locator("[data-figure=trends] .nsewdrag").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from=2026-"))
    expect(page.locator("#archive-body")).to_contain_text(re.compile(r"[56]\d\d\s+of\s+3,000"))


def test_figures_have_the_colours_of_the_page_and_change_with_its_theme(page, many):
    page.goto(f"/archive/{many}")
    drawn(page, "slowest-figure")
    look = "plot => JSON.stringify([plot.data, plot.layout])"
    figure = drawn(page)
    before = figure.evaluate(look)
    assert "var(" not in before
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.evaluate("document.dispatchEvent(new Event('themechange'))")
    page.wait_for_function(f"before => ({look})({PLOT}) !== before", arg=before)


def test_the_phases_of_a_checkpoint_stand_in_the_legend_of_its_figure(page, many):
    page.goto(f"/archive/{many}?jump=2000")
    figure = drawn(page, "checkpoint-figure")
    expect(figure.locator(".legend")).to_contain_text("start delay")


def test_going_back_draws_what_stood_there(page, many):
    page.goto(f"/archive/{many}")
    drawn(page)
    page.locator("#f-status").select_option("failed")
    expect(page).to_have_url(re.compile("status=failed"))
    page.locator("#f-status").select_option("completed")
    expect(page).to_have_url(re.compile("status=completed"))
    page.go_back()
    expect(page.locator("#f-status")).to_have_value("failed")
    expect(page.locator("#archive-body tbody td[data-label=Status]").last).to_contain_text("failed")
    drawn(page)


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), pytest.param(1280, "dark", marks=pytest.mark.long)]
)
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
    with looking(browser, server.url, signed_in_state, (scheme, width)) as page:
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
    assert not errors


def test_the_pages_of_a_collected_job_follow_the_collector_or_stay_pinned(
    page, server, shared_data
):
    flink = RecordedFlink(shared_data / "flink" / "failures" / "rest")
    flink.key = "f" * 32
    flink.job = flink.job | {"jid": flink.key, "name": "followed"}
    with Server(flink) as url:

        def polled(count: int) -> int:
            flink.count = count
            found = server.manage("shell", "--verbosity", "0", "-c", FOLLOW.format(url=url))
            return json.loads(found)[0]

        job = polled(3)
        page.goto(f"/archive/{job}")
        bars, state = page.locator(".archive-strip a"), page.locator("[data-live-state]")
        expect(bars).to_have_count(3)
        last = page.locator(".archive-strip a").last
        last.focus()
        polled(5)
        expect(bars).to_have_count(5)
        expect(state).to_have_text("Checkpoint 5 is the newest.")
        expect(page.locator(".archive-strip a:focus")).to_have_attribute("title", re.compile("^3 "))
        page.get_by_role("button", name="Pin").click()
        polled(6)
        expect(state).to_have_text("There is news. Newest: checkpoint 6")
        expect(bars).to_have_count(5)
        page.get_by_role("button", name="Follow newest").click()
        expect(bars).to_have_count(6)
        bars.last.click()
        expect(page.get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")
        polled(7)
        expect(state).to_have_text("There is news. Newest: checkpoint 7")
        page.get_by_role("button", name="Follow newest").click()
        expect(page).to_have_url(re.compile("/checkpoints/0/7[?]follow=yes$"))
        polled(8)
        expect(page).to_have_url(re.compile("/checkpoints/0/8[?]follow=yes$"))
        page.locator("#notes summary").click()
        page.get_by_label("Text of the note").fill("It was slow.")
        polled(9)
        expect(state).to_have_text("There is news. Newest: checkpoint 9")
        expect(page.get_by_label("Text of the note")).to_have_value("It was slow.")
        page.goto(f"/archive/{job}/checkpoints/0/2")
        page.get_by_role("button", name="Follow newest").click()
        expect(page).to_have_url(re.compile("/checkpoints/0/9[?]follow=yes$"))

"""The lists in a browser, and a picture of every page for the documentation."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import looking
from tests.conftest import watch_for_errors
from tests.stack import PICTURES

WAYS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]


def test_the_list_is_filtered_and_sorted_in_place(furnished, page):
    page.goto("/")
    page.evaluate("window.sameDocument = true")
    page.get_by_label("Filter recordings").fill("friday")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=friday"))
    page.get_by_label("Filter recordings").fill("")
    page.get_by_role("link", name="Size").click()
    expect(page.get_by_role("columnheader", name="Size")).to_have_attribute(
        "aria-sort", "descending"
    )
    expect(page.locator("#list tbody tr").first).to_contain_text("checkpoints of friday")
    page.get_by_label("Filter recordings").fill("o")
    expect(page).to_have_url(re.compile("q=o"))
    expect(page).to_have_url(re.compile("sort=-size"))
    assert page.evaluate("window.sameDocument")


def test_the_newest_of_a_filter_and_a_sort_wins(furnished, page):
    """The answers to a filter, and then to a sort, are late; each request asks for both."""
    held = []

    def hold(route) -> None:
        held.append(route)

    page.goto("/")
    page.route(re.compile(r"q=friday"), hold, times=1)
    with page.expect_request(re.compile("q=friday")):
        page.get_by_label("Filter recordings").fill("friday")
    page.get_by_role("link", name="Size").click()
    size = page.get_by_role("columnheader", name="Size")
    expect(size).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile("q=friday.*sort=-size"))
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.route(re.compile("sort="), hold, times=1)  # the first of the two, whichever it is
    page.get_by_label("Filter recordings").fill("")
    page.get_by_role("link", name="Size").click()
    expect(size).to_have_attribute("aria-sort", "ascending")
    expect(page).to_have_url(re.compile("q=&.*sort=size"))
    assert len(held) == 2


REFRESH = """() => {
  const page = [...document.scripts].find(({ src }) => src.endsWith("views/recordings/index.js"));
  return import(new URL("../jobs/watch.js", page.src)).then(({ refreshList }) => refreshList());
}"""


def test_a_list_that_is_loaded_again_does_not_undo_a_filter(furnished, page):
    """The list is loaded again when a job has ended, before and while somebody filters it."""
    held, asked = [], []
    friday = page.locator("#list tbody tr", has_text="friday")
    rows = page.locator("#list tbody tr")
    page.goto("/")
    page.on("request", lambda each: asked.append(each.url) if each.headers.get("hx-request") else 0)
    page.route(re.compile(r"/$"), lambda route: held.append(route), times=1)  # noqa: PLW0108, Playwright marks it
    with page.expect_request(re.compile(r"/$")):
        page.evaluate(REFRESH)
    page.get_by_label("Filter recordings").fill("friday")
    expect(rows).to_have_count(1)
    release(page, held)
    expect(rows).to_have_count(1)
    page.get_by_label("Filter recordings").fill("")
    expect(rows).not_to_have_count(1)

    page.route(re.compile(r"q=friday"), lambda route: held.append(route), times=1)  # noqa: PLW0108, as above
    with page.expect_request(re.compile("q=friday")):
        page.get_by_label("Filter recordings").fill("friday")
    page.evaluate(REFRESH)
    with page.expect_response(re.compile("q=friday")):
        release(page, held)
    expect(rows).to_have_count(1)
    expect(friday).to_be_visible()
    expect(page).to_have_url(re.compile("q=friday"))
    assert len([url for url in asked if "q=friday" in url]) == 3, "again, with the filter"
    assert "q=friday" in asked[-1]


def release(page, held: list) -> None:
    """Let the request that is held be answered, and wait until a late answer would be shown."""
    held.pop().continue_()
    page.wait_for_timeout(1000)


def test_a_list_is_filtered_by_team_in_place(furnished, page):
    page.goto("/topologies")
    page.evaluate("window.sameDocument = true")
    page.get_by_label("Whose").select_option("payments")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list tbody tr")).to_contain_text("shared")
    expect(page).to_have_url(re.compile("team="))
    assert page.evaluate("window.sameDocument")


def test_the_button_share_says_who_can_open_the_page(furnished, page):
    page.goto(furnished["sharing"].removesuffix("/sharing"))
    page.get_by_role("link", name="Share").click()
    dialog = page.get_by_role("dialog", name="Who can open it")
    expect(dialog).to_contain_text("The 2 people of the team payments can open this link.")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.goto(furnished["workbench"])
    page.locator("#workbench.is-ready").wait_for()
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Copy a link to this view").click()
    expect(dialog).to_contain_text("Everyone who signs in to this server")


def test_the_header_of_a_long_list_stays_in_view(furnished, page):
    page.goto("/")
    head = page.locator("#list thead th").first
    assert head.evaluate("cell => getComputedStyle(cell).position") == "sticky"


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), WAYS)
def test_every_page_is_pictured(furnished, browser, server, signed_in_state, scheme, width):
    with looking(browser, server.url, signed_in_state, (scheme, width)) as page:
        errors = watch_for_errors(page)
        for name, address in furnished.items():
            page.goto(address)
            if name == "checkpoint":
                page.locator("[data-figure] .main-svg").first.wait_for()
            if name == "proof" and page.get_by_role("button", name="Reorder the run").count():
                page.get_by_role("button", name="Reorder the run").click()
            if name == "proof":
                page.locator("#proof.is-ready").wait_for()
            if name.startswith("snapshot"):
                page.locator("[data-figure] .main-svg").first.wait_for()
            if name.startswith("workbench"):
                page.locator("#workbench.is-ready").wait_for()
                page.wait_for_load_state("networkidle")  # its panels ask one after the other
            page.evaluate("document.fonts.ready")
            wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wider <= 0, f"{name} is {wider} px too wide at {width}"
            page.screenshot(path=PICTURES / f"{name}-{scheme}-{width}.png")
    assert not errors, errors

"""A short link brings a view to a colleague, a public link to somebody without an account."""

from playwright.sync_api import expect

from snapshots.domain.simulators.samples import two_banks
from tests.browser.test_snapshot_page import uploaded
from tests.webapp.over_http import Api


def test_links_made_in_the_dialog_show_the_view_until_they_are_withdrawn(stack, page, stranger):
    address = uploaded(page, two_banks(), "linked.jsonl")
    page.goto(f"{address}?axis=order&t=7&cut=2.5&channels=B&tab=states")
    page.locator("#workbench.is-ready").wait_for()
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("link", name="Who can open it, and other links").click()
    dialog = page.locator(".sharing-dialog")
    dialog.get_by_label("A short link to exactly this page").fill("for Monday")
    dialog.get_by_role("button", name="Make and copy it").click()
    short = dialog.locator("[data-short-answer] code").text_content()
    dialog.get_by_label("Name of the public link").fill("for the vendor")
    dialog.get_by_role("button", name="Make a public link").click()
    public = page.locator("#made-link").text_content()

    page.goto(short)
    page.locator("#workbench.is-ready").wait_for()
    expect(page.locator("#wb-verdict")).to_contain_text("Your cut")
    expect(page.locator("#wb-contents-filter")).to_have_value("B")

    stranger.goto(public)
    stranger.locator("#workbench.is-ready").wait_for()
    expect(stranger.locator("#wb-contents-filter")).to_have_value("B")
    expect(stranger.locator("#wb-verdict")).to_contain_text("Your cut")
    expect(stranger.get_by_text("Share", exact=True)).to_have_count(0)

    api = Api(stack)
    [link] = api.get(f"{address}/public-links")["items"]
    assert (link["name"], link["uses"]) == ("for the vendor", 1)
    assert api.call("DELETE", f"/public-links/{link['id']}").status == 204
    expect(stranger.locator(".messages")).to_contain_text("This public link does not work.")
    stranger.reload()
    expect(stranger.locator("main")).to_contain_text("withdrawn or expired")

"""Be the process and the other pages for learners, in a browser."""

from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}


def test_who_plays_by_the_rules_ends_with_a_consistent_snapshot(page):
    page.goto("/learn")
    page.get_by_role("link", name="Be the process").click()
    expect(page.get_by_role("heading", name="You are about to send 30 to A (m1).")).to_be_visible()
    for choices in ([], [], [], ["record your state", "to A", "to C"], ["note m3"], [], [], []):
        for choice in choices:
            page.get_by_role("checkbox", name=choice).check()
        page.get_by_role("button", name="Go on").click()
    expect(page.locator("#answer")).to_contain_text("Your snapshot is consistent: it holds 300")
    expect(page.locator(".played-picture .cut")).to_be_visible()
    page.get_by_role("link", name="Take back").click()
    expect(page.get_by_text("event 8 of B")).to_be_visible()


def test_a_wrong_decision_is_explained_on_request_and_nothing_sticks_out_on_a_phone(page):
    page.set_viewport_size(PHONE)
    page.goto("/learn/process?seed=4&d=-.-.-.rac.-")
    expect(page.locator(".played-fault")).to_have_count(0)
    page.get_by_role("link", name="Say which rule is broken").click()
    expect(page.locator(".played-fault")).to_have_text(
        "Marker-receiving rule: the state of a channel is what comes after you record and before "
        "its marker, and m3 is such a message: note it."
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

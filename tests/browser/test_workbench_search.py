"""The search box of the workbench, on the sample of the two banks."""

import re

import pytest
from playwright.sync_api import expect

MARKED = """expected => {
  const canvas = document.querySelector("#wb-overview-moving");
  const { data, width, height } = canvas.getContext("2d")
    .getImageData(0, 0, canvas.width, canvas.height);
  const style = getComputedStyle(document.documentElement);
  const [r, g, b] = style.getPropertyValue("--color-marker").match(/\\d+/g).map(Number);
  let marks = 0, inside = false;
  for (let x = 0; x < width; x += 1) {
    const i = ((height - 6) * width + x) * 4;
    const [dr, dg, db] = [data[i] - r, data[i + 1] - g, data[i + 2] - b].map(Math.abs);
    const isMark = dr + dg + db < 9;
    if (isMark && !inside) marks += 1;
    inside = isMark;
  }
  return marks === expected;
}"""


@pytest.fixture
def banks(samples, page):
    """Return the workbench of the two banks."""
    page.goto("/")
    page.goto(
        page.get_by_role("link", name=re.compile("two banks", re.I)).first.get_attribute("href")
    )
    page.locator("#workbench.is-ready").wait_for()
    return page


def count(page):
    return page.locator(".palette-count")


def details(page):
    return page.locator("#wb-details")


def test_a_value_is_found_and_enter_goes_from_hit_to_hit(banks):
    banks.keyboard.press("Home")
    banks.keyboard.press("/")
    banks.keyboard.type("value:1,000")
    expect(count(banks)).to_have_text("4")
    titles = ("A: send", "B: send", "B: receive", "A: receive", "A: send")
    for number, title in zip((1, 2, 3, 4, 1), titles, strict=True):
        banks.keyboard.press("Enter")
        expect(count(banks)).to_have_text(f"{number} of 4")
        expect(details(banks).locator("h3")).to_have_text(title)
        expect(details(banks)).to_contain_text("1,000")
    banks.keyboard.press("Shift+Enter")
    expect(count(banks)).to_have_text("4 of 4")
    expect(details(banks).locator("h3")).to_have_text("A: receive")


def test_hits_are_marked_in_the_overview_until_the_box_closes(banks):
    assert banks.evaluate(MARKED, 0)
    banks.keyboard.press("/")
    banks.keyboard.type("kind:record_state")
    expect(count(banks)).to_have_text("2")
    banks.wait_for_function(MARKED, arg=2)
    banks.keyboard.press("Escape")
    banks.wait_for_function(MARKED, arg=0)


def test_one_box_finds_names_events_and_commands(banks):
    banks.get_by_role("button", name="Find").click()
    banks.keyboard.type("channel b->a")
    banks.keyboard.press("Enter")
    expect(details(banks)).to_contain_text("channel B->A")
    banks.keyboard.press("/")
    banks.keyboard.type("time:noon")
    expect(banks.locator(".palette-list")).to_contain_text("“noon” is no instant")
    banks.keyboard.press("Control+a")
    banks.keyboard.type("nowhere")
    expect(banks.locator(".palette-list")).to_contain_text("Nothing was found.")
    expect(count(banks)).to_have_text("none")

"""What the space-time diagram shows first: the worst finding, what crosses the cut, all lanes."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.browser.test_workbench import open_view, until_plotly_has_drawn

ORPHAN = ["A sends m1 (1,000)", "B receives m1"]
LOST = ["B sends m2 (500)", "A receives m2"]

NOTES = (
    "(document.getElementById('wb-spacetime').layout?.annotations ?? []).map(({ text }) => text)"
)
NAMES = "document.getElementById('wb-spacetime').data.map(({ name }) => name)"
BOXES = """() => {
  const plot = document.getElementById("wb-spacetime");
  const boxes = [...plot.querySelectorAll(".annotation .bg")]
    .map((it) => it.getBoundingClientRect());
  const { xaxis, yaxis, _size } = plot._fullLayout;
  const { x, y } = plot.data.find(({ name }) => name === "witness");
  const { left, top } = plot.getBoundingClientRect();
  const ends = x.map((at, i) => [
    left + _size.l + xaxis.d2p(at), top + _size.t + yaxis.d2p(y[i])]);
  const [[x0, y0], [x1, y1]] = ends;
  const along = Array.from(
    { length: 101 }, (_, i) => [x0 + ((x1 - x0) * i) / 100, y0 + ((y1 - y0) * i) / 100]);
  const [a, b] = boxes;
  return {
    inView: ends.every(([px]) => px > left + _size.l && px < left + _size.l + _size.w),
    covers: boxes.some((box) => along.some(([px, py]) =>
      px > box.left && px < box.right && py > box.top && py < box.bottom)),
    overlap: a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom,
  };
}"""
RANGE = "document.getElementById('wb-spacetime').layout.xaxis.range"
KINDS = "document.getElementById('wb-spacetime').data.map(({ type }) => type)"


def test_dense_messages_are_a_density_and_what_crosses_the_cut_is_counted(samples, page):
    page.goto("/")
    open_sample(page, "Fifty processes")
    page.keyboard.press("End")
    page.locator(".wb-overview canvas").dblclick()
    until_plotly_has_drawn(page)
    notice = page.locator("#wb-window-notice")
    expect(notice).to_contain_text(
        re.compile(r"\d+ lines: what crosses the cut of s1; 1,\d+ messages as a density")
    )
    assert "heatmap" in page.evaluate(KINDS)
    for _ in range(8):
        page.keyboard.press("w")
    expect(notice).not_to_contain_text("density")
    page.wait_for_function(f"() => !{KINDS}.includes('heatmap')")


def test_all_lanes_fit_on_request_by_key_and_by_button(samples, page):
    page.goto("/")
    open_sample(page, "Fifty processes")
    until_plotly_has_drawn(page)
    notice = page.locator("#wb-window-notice")
    expect(notice).to_contain_text("of 50: shift and wheel")
    page.keyboard.press("Shift+L")
    expect(notice).not_to_contain_text("of 50: shift and wheel")
    page.wait_for_function(
        "() => document.getElementById('wb-spacetime')._fullLayout.yaxis.tickvals.length === 50"
    )
    page.get_by_role("button", name="Lanes as before").click()
    expect(notice).to_contain_text("of 50: shift and wheel")
    page.keyboard.press("?")
    expect(page.locator("#wb-help")).to_contain_text("Fit all lanes")


def test_the_diagram_has_half_of_the_height_below_the_head(samples, page):
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    until_plotly_has_drawn(page)
    top = page.locator(".wb-overview").bounding_box()["y"]
    height = page.locator("#wb-spacetime").bounding_box()["height"]
    assert height >= (page.viewport_size["height"] - top) / 2


def expect_witness(page, texts: list[str]) -> None:
    page.wait_for_function(f"texts => String({NOTES}) === String(texts)", arg=texts)
    assert {"veil", "witness", "ends"} <= set(page.evaluate(NAMES))
    assert page.evaluate(BOXES) == {"inView": True, "covers": False, "overlap": False}


def expect_no_witness(page) -> None:
    page.wait_for_function(f"() => {NOTES}.length === 0")
    assert "veil" not in page.evaluate(NAMES)


def test_the_page_opens_at_the_worst_finding_and_n_leads_to_the_next(samples, page):
    page.goto("/")
    open_sample(page, "Snapshots by the clock")
    until_plotly_has_drawn(page)
    expect_witness(page, ORPHAN)
    page.keyboard.press("n")
    expect_witness(page, LOST)
    expect(page.locator("#wb-message")).to_contain_text("Snapshot s2")
    expect(page.locator("#wb-verdict")).to_contain_text("m2")
    page.keyboard.press("n")
    expect_witness(page, ORPHAN)
    page.keyboard.press("Shift+N")
    expect_witness(page, LOST)
    page.keyboard.press("?")
    expect(page.locator("#wb-help")).to_contain_text("Next finding")
    expect(page.locator("#wb-help")).to_contain_text("Previous finding")


def test_a_click_on_a_witness_shows_it_and_escape_or_a_click_elsewhere_ends_that(samples, page):
    page.goto("/")
    open_sample(page, "Snapshots by the clock")
    until_plotly_has_drawn(page)
    page.locator(".wb-overview canvas").dblclick()
    page.keyboard.press("Escape")
    expect_no_witness(page)
    page.locator("#wb-verdict").get_by_role("button", name="m1").click()
    expect_witness(page, ORPHAN)
    page.keyboard.press("Escape")
    expect_no_witness(page)
    page.locator("#wb-verdict").get_by_role("button", name="m1").click()
    expect_witness(page, ORPHAN)
    page.locator("#wb-states-body").get_by_role("button", name="B").click()
    expect_no_witness(page)
    page.locator("#wb-verdict").get_by_role("button", name="m1").click()
    expect_witness(page, ORPHAN)
    page.locator("#wb-spacetime-moving").click(position={"x": 300, "y": 20})
    expect_no_witness(page)


def test_an_address_that_says_another_view_is_kept(samples, page):
    page.goto("/")
    open_sample(page, "Snapshots by the clock")
    until_plotly_has_drawn(page)
    address = page.url.partition("?")[0]
    open_view(page, f"{address}?from=1000&to=20000&t=3000")
    until_plotly_has_drawn(page)
    assert page.evaluate(NOTES) == []
    open_view(page, f"{address}?snapshot=s2&message=m2%40B-%3EA")
    until_plotly_has_drawn(page)
    expect_witness(page, LOST)


def test_a_consistent_snapshot_opens_at_its_span(samples, page):
    """Fifty processes: s1 takes 20.3 ms of 63 ms. Two banks have so few events that all are in
    view."""
    page.goto("/")
    open_sample(page, "Fifty processes")
    until_plotly_has_drawn(page)
    left, right = page.evaluate(RANGE)
    assert 20_300 < right - left < 35_000
    assert page.evaluate(NOTES) == []

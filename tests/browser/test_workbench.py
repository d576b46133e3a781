"""The workbench in a browser, on the sample of the two banks."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import hold_plotly
from tests.browser.looks import LOOKS
from tests.conftest import watch_for_errors
from tests.stack import PICTURES
from tests.webapp.serving import wait_until

LAYERS = 6  # of Plotly: what is still of each chart, what moves in the diagram and in the topology
ON_THE_WAY = """() => {
  const [PROCESSES, DRAWN] = [2, "g.trace path.point"];
  const inView = (name) => {
    const plot = document.getElementById(`wb-${name}-marks`);
    const { left } = plot.getBoundingClientRect();
    return [...plot.querySelectorAll(DRAWN)].filter((it) => it.getBoundingClientRect().left > left);
  };
  const { data } = document.getElementById("wb-topology-marks");
  const contents = data.findLast(({ mode }) => mode === "text");
  return {
    spacetime: inView("spacetime").length,
    topology: inView("topology").length - PROCESSES,
    contents: contents.text.join(),
  };
}"""
WATCH_MARKS = """() => {
  window.seen = { spacetime: new Set(), topology: new Set() };
  const watch = () => {
    for (const [name, places] of Object.entries(window.seen)) {
      const { data } = document.getElementById(`wb-${name}-marks`);
      for (const { ids, x, y } of data) {
        ids?.forEach((id, i) => places.add(`${id} ${x[i]} ${y[i]}`));
      }
    }
    requestAnimationFrame(watch);
  };
  watch();
}"""


@pytest.fixture
def banks(samples, page):
    """Return the drawn workbench of the two banks, with all of it in view."""
    page.goto("/")
    page.goto(
        page.get_by_role("link", name=re.compile("two banks", re.I)).first.get_attribute("href")
    )
    wait_until_drawn(page)
    page.locator("#wb-overview-moving").dblclick()  # the whole recording is in view
    return page


def wait_until_drawn(page) -> None:
    page.locator("#workbench.is-ready").wait_for()
    expect(page.locator("#wb-states-body [data-role=recorded]").first).not_to_be_empty()


def until_plotly_has_drawn(page) -> None:
    """Wait until Plotly has drawn all charts."""
    expect(page.locator(".js-plotly-plot")).to_have_count(LAYERS, timeout=60_000)


def open_view(page, url: str) -> None:
    page.goto("about:blank")
    page.goto(url)
    wait_until_drawn(page)


def channel(page, name: str, role: str = "now"):
    return page.locator(f'#wb-contents-list li[data-channel="{name}"] dd[data-role={role}]')


def state(page, process: str, role: str = "now"):
    return page.locator(f'#wb-states-body tr[data-process="{process}"] [data-role={role}]')


def handle(page, process: str):
    return page.get_by_role("slider", name=f"Cut at {process}", exact=True)


def address(page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def wait_for_address(page, name: str, value: str | None = None) -> None:
    page.wait_for_function(
        "([name, value]) => { const had = new URLSearchParams(location.search).get(name);"
        " return value === null ? had !== null : had === value; }",
        arg=[name, value],
    )


def make_an_orphan(page) -> None:
    """Drag A's position back to its start, before it sends what B has received."""
    page.keyboard.press("c")
    handle(page, "A").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#wb-verdict .verdict")).to_have_text("not consistent")


def test_the_two_banks_show_the_answer_of_the_textbook(banks):
    for role in ("recorded", "recomputed"):
        expect(state(banks, "A", role)).to_have_text("9,000")
        expect(state(banks, "B", role)).to_have_text("3,000")
    expect(channel(banks, "A->B", "recorded")).to_have_text("empty")
    recorded = channel(banks, "B->A", "recorded").locator(".wb-value")
    assert recorded.all_inner_texts() == ["1,000", "2,000"]
    expect(channel(banks, "B->A", "recomputed")).to_have_count(0)  # it says the same
    expect(banks.locator("#wb-verdict .verdict")).to_have_text("consistent")


def test_money_in_processes_and_channels_stays_what_it_was_at_the_start(banks):
    expect(banks.locator("#wb-states-totals")).to_contain_text("= 15,000, as at the start")


def test_dragging_the_cut_with_the_pointer_makes_an_orphan_and_says_which(banks):
    banks.get_by_role("button", name="Drag the cut").click()
    box = handle(banks, "A").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    banks.mouse.move(*middle)
    banks.mouse.down()
    banks.mouse.move(banks.locator("#wb-spacetime").bounding_box()["x"] + 40, middle[1], steps=8)
    banks.mouse.up()
    verdict = banks.locator("#wb-verdict")
    expect(verdict.locator(".verdict")).to_have_text("not consistent")
    expect(verdict).to_contain_text(
        re.compile(r"B has received \S+ \(1,000\) inside this cut, but A sends it only after")
    )
    expect(banks.locator("#wb-states-totals")).to_contain_text("at the start 15,000")


def test_the_nearest_consistent_cut_repairs_it(banks):
    make_an_orphan(banks)
    banks.get_by_role("button", name="Nearest consistent cut").click()
    expect(banks.locator("#wb-verdict .verdict")).to_have_text("consistent")
    expect(banks.locator("#wb-states-totals")).to_contain_text("as at the start")


def test_the_orphan_is_a_link_to_the_message(banks):
    make_an_orphan(banks)
    banks.locator("#wb-verdict .wb-link").nth(1).click()
    expect(banks.locator("#wb-details")).to_contain_text("1,000")
    expect(banks.locator("#wb-details")).to_contain_text("A->B")


def test_escape_ends_the_cut_and_the_snapshot_speaks_again(banks):
    make_an_orphan(banks)
    banks.keyboard.press("Escape")
    expect(handle(banks, "A")).to_be_hidden()
    expect(banks.locator("#wb-verdict .verdict")).to_have_text("consistent")


def test_the_server_says_the_same_of_the_dragged_cut(banks):
    make_an_orphan(banks)
    positions = [int(handle(banks, name).get_attribute("aria-valuenow")) for name in "AB"]
    token = banks.locator("[name=csrfmiddlewaretoken]").first.input_value()
    answer = banks.request.post(
        f"/api{urlsplit(banks.url).path}/cuts",
        data={"positions": positions},
        headers={"X-CSRFToken": token, "Referer": banks.url},
    ).json()
    assert answer["consistent"] is False
    assert state(banks, "A").inner_text() == f"{answer['states']['A']:,}"
    for name, values in answer["channels"].items():
        shown = channel(banks, name).locator(".wb-value").all_inner_texts()
        assert shown == [f"{value:,}" for value in values]


def test_a_copied_link_opens_the_same_view(banks):
    make_an_orphan(banks)
    banks.locator("#wb-contents-list").get_by_role("button", name="B->A", exact=True).click()
    banks.locator("body").press("w")
    wait_for_address(banks, "channel", "B->A")
    wait_for_address(banks, "cut")
    expect(banks.locator("#wb-verdict .verdict")).to_have_text("not consistent")
    link, before = banks.url, banks.locator("#wb-verdict").inner_text()
    open_view(banks, link)
    expect(banks.locator("#wb-verdict")).to_have_text(before, use_inner_text=True)
    expect(banks.locator("#wb-contents-list li.is-selected")).to_have_attribute(
        "data-channel", "B->A"
    )
    assert {name: address(banks)[name] for name in ("from", "to", "cut", "channel")} == {
        name: parse_qs(urlsplit(link).query)[name] for name in ("from", "to", "cut", "channel")
    }


def test_a_link_to_an_event_selects_it_and_brings_it_into_view(banks):
    open_view(banks, f"{urlsplit(banks.url).path}?event=0@B")
    expect(banks.locator("#wb-details")).to_contain_text("B: ")
    expect(banks.locator("#wb-details")).to_contain_text("step")


def go_to_the_start(page) -> None:
    page.keyboard.press("Home")
    expect(page.locator("#wb-scrub")).to_have_js_property("value", "0")


def test_playing_moves_the_cursor_and_pausing_holds_it(banks):
    go_to_the_start(banks)
    banks.keyboard.press("Space")
    expect(banks.get_by_role("button", name="Pause")).to_be_visible()
    expect(banks.locator("#wb-scrub")).not_to_have_js_property("value", "0")
    banks.keyboard.press("Space")
    expect(banks.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_arrows_step_from_event_to_event_and_back(banks):
    banks.keyboard.press("Home")
    readout = banks.locator("#wb-readout")
    banks.keyboard.press("o")
    expect(banks.get_by_role("button", name="Order")).to_have_attribute("aria-pressed", "true")
    banks.keyboard.press("Home")
    expect(readout).to_contain_text("event 0 /")
    banks.keyboard.press("ArrowRight")
    banks.keyboard.press("ArrowRight")
    expect(readout).to_contain_text("event 2 /")
    banks.keyboard.press("ArrowLeft")
    expect(readout).to_contain_text("event 1 /")


def test_shift_and_arrow_step_to_a_marker(banks):
    banks.keyboard.press("t")
    row = banks.locator("[data-panel=spacetime] .wb-table tr", has_text="marker_send").first
    sent_at = row.locator("td").nth(2).inner_text()
    banks.keyboard.press("t")
    go_to_the_start(banks)
    banks.keyboard.press("Shift+ArrowRight")
    wait_for_address(banks, "t", sent_at)


def test_the_list_of_keys_and_the_palette_open_and_close(banks):
    banks.keyboard.press("?")
    expect(banks.locator("#wb-help")).to_be_visible()
    banks.keyboard.press("Escape")
    expect(banks.locator("#wb-help")).to_be_hidden()
    banks.keyboard.press("Control+k")
    banks.keyboard.type("channel b->a")
    banks.keyboard.press("Enter")
    expect(banks.locator("#wb-details")).to_contain_text("channel B->A")


def test_every_chart_has_a_table(banks):
    banks.keyboard.press("t")
    for panel in ("spacetime", "depth", "topology"):
        banks.locator(f"[data-panel={panel}] .wb-table tbody tr").first.wait_for()
    expect(banks.locator("[data-panel=spacetime] .wb-table")).to_contain_text("record_state")
    banks.keyboard.press("t")
    expect(banks.locator("[data-panel=spacetime] .wb-table")).to_be_hidden()


@pytest.mark.parametrize("kind", ["PNG", "SVG", "CSV"])
def test_a_chart_can_be_downloaded(banks, kind):
    banks.locator("[data-panel=spacetime]").get_by_label("Download this chart").click()
    with banks.expect_download() as download:
        banks.get_by_role("button", name=f"Download as {kind}").click()
    content = Path(download.value.path()).read_bytes()
    assert content.startswith({"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"process,index"}[kind])


def test_without_javascript_the_title_and_the_tables_are_there(samples, browser, signed_in_state):
    context = browser.new_context(
        base_url=samples.url, storage_state=signed_in_state, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/")
    page.goto(
        page.get_by_role("link", name=re.compile("two banks", re.I)).first.get_attribute("href")
    )
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("two banks", re.I))
    expect(page.locator("#wb-snapshots .verdict").first).to_have_text("consistent")
    expect(page.locator("#wb-states-body")).to_contain_text("10000")
    context.close()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_it_works_at_every_width_and_in_both_themes(
    samples, browser, signed_in_state, scheme, width
):
    """Take the pictures of the documentation."""
    context = browser.new_context(
        base_url=samples.url,
        storage_state=signed_in_state,
        viewport={"width": width, "height": 844 if width == 390 else 800},
        color_scheme=scheme,
        has_touch=width == 390,
    )
    page = context.new_page()
    errors = watch_for_errors(page)
    page.goto("/")
    open_view(
        page,
        page.get_by_role("link", name=re.compile("two banks", re.I)).first.get_attribute("href"),
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 390:
        page.get_by_role("tab", name="States").click()
        expect(state(page, "A", "recorded")).to_be_visible()
        page.get_by_role("tab", name="Channels").click()
        small = page.locator(".wb-transport .btn").evaluate_all(
            "buttons => buttons.filter((b) => b.getBoundingClientRect().height < 40).length"
        )
        assert small == 0
    page.get_by_role("button", name="Next event").click()
    page.get_by_role("button", name="Previous event").click()
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"workbench-{scheme}-{width}.png")
    assert not errors
    context.close()


def test_the_page_answers_before_plotly_is_there_which_then_draws(banks):
    held = hold_plotly(banks)
    address = banks.url
    banks.goto("about:blank")
    banks.goto(address, wait_until="commit")  # the page is loaded only with all that it fetches
    wait_until_drawn(banks)
    banks.keyboard.press("w")
    expect(banks.locator(".js-plotly-plot")).to_have_count(0)
    wait_until(lambda: held)
    while held:
        held.pop().continue_()
    until_plotly_has_drawn(banks)


def test_what_moves_while_the_replay_plays_are_traces_of_plotly(banks):
    """A message passes from lane to lane, and along its channel in the topology."""
    until_plotly_has_drawn(banks)
    banks.evaluate(WATCH_MARKS)
    banks.keyboard.press("Home")
    banks.keyboard.press(" ")
    banks.wait_for_function(
        "() => Object.values(window.seen).every((places) => places.size > 5)", timeout=60_000
    )


def test_what_has_arrived_is_on_its_way_no_more(banks):
    """A message and a marker are under way at 2.9 ms, and nothing is at the end."""
    open_view(banks, f"{banks.url.partition('?')[0]}?t=2900")
    until_plotly_has_drawn(banks)
    some = {"spacetime": 2, "topology": 2, "contents": "1,000"}
    wait_until(lambda: banks.evaluate(ON_THE_WAY) == some)
    banks.keyboard.press("End")
    none = {"spacetime": 0, "topology": 0, "contents": ""}
    wait_until(lambda: banks.evaluate(ON_THE_WAY) == none)


def test_plotly_draws_a_zoom_and_each_page_that_turns(banks):
    until_plotly_has_drawn(banks)
    for act in (lambda: banks.keyboard.press("w"), lambda: banks.keyboard.press(" ")):
        before = ticks_of(banks)
        banks.locator("#wb-speed").select_option("5")
        act()
        wait_until(lambda before=before: ticks_of(banks) != before)


def ticks_of(page) -> list[float]:
    """Return the range of the time axis as Plotly has drawn it."""
    return page.evaluate("document.getElementById('wb-spacetime')._fullLayout.xaxis.range")


def test_a_selected_event_shows_its_past_and_future(banks):
    """B's third event receives m1. Four events are before it, two of them A's."""
    open_view(banks, f"{banks.url.partition('?')[0]}?event=2@B")
    said = banks.locator("#wb-cones")
    expect(said).to_contain_text("4 events happened before it, in 1 other process.")
    expect(said).to_contain_text("concurrent")
    banks.keyboard.press("Escape")
    expect(said).to_be_empty()

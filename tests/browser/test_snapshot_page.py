"""The snapshot page in a browser: the figure, the link to the workbench, restore."""

import itertools
import re

import pytest
from playwright.sync_api import expect

from snapshots.domain.model import shapes
from snapshots.readers.logs.native import write_lines
from tests.builders import simulated
from tests.damage import lose_recorded_message

# A narrow figure with the axis of all pages and one number, which is wider than the figure.
NARROW = """async () => {
  const script = document.querySelector('script[src$="views/snapshot/index.js"]').src;
  const { axisLine, figureLayout, pageColour, quietAxis } =
    await import(script.replace("views/snapshot/index.js", "lib/figure-style.js"));
  const { readPlotly } = await import(script.replace("views/snapshot/index.js", "lib/plotly.js"));
  const Plotly = await readPlotly(document.querySelector("[data-plotly]").dataset.plotly);
  const root = document.body.appendChild(document.createElement("div"));
  await Plotly.newPlot(root, [{ type: "scatter", x: [0, 1], y: [0, 1] }], {
    ...figureLayout(pageColour),
    width: 200, height: 120, margin: { l: 10, r: 10, t: 5, b: 40 },
    xaxis: { ...quietAxis(pageColour), ...axisLine(pageColour), range: [0, 1], tickvals: [0.5],
      ticktext: ["9".repeat(80)], title: { text: "events", standoff: 4 } },
  });
  return root.querySelector(".xtitle").getAttribute("y");
}"""


_BLANK_LINES = itertools.count(1)


def uploaded(page, log, name: str) -> str:
    """Return the address of a ready recording of the log, in a file that no other upload had."""
    page.goto("/")
    content = b"".join(write_lines(log.header, log.events)) + b"\n" * next(_BLANK_LINES)
    page.set_input_files(
        "#upload-file", {"name": name, "mimeType": "text/plain", "buffer": content}
    )
    page.wait_for_url(re.compile(r"/recordings/\d+"), timeout=60_000)
    page.locator("#workbench").wait_for(timeout=60_000)
    return re.search(r"/recordings/\d+", page.url).group()


@pytest.fixture(scope="module")
def two_banks(samples):
    """Return the address of the sample."""
    code = (
        "from snapshots.models import Recording; print(Recording.objects.get(slug='two-banks').pk)"
    )
    return f"/recordings/{samples.manage('shell', '--verbosity', '0', '-c', code)}"


def test_the_two_banks_are_as_the_paper_has_them(two_banks, page):
    page.goto(f"{two_banks}/snapshots/s1")
    expect(page.locator("h1 + .verdict")).to_have_text("consistent")
    states = page.locator("#states tbody tr")
    expect(states).to_have_text([re.compile("A.*9,000.*9,000", re.S), re.compile("B.*3,000", re.S)])
    row = page.locator("#channels tbody tr")
    expect(row).to_have_count(1)
    expect(row.locator("ol").first.locator("li")).to_have_text(["1,000", "2,000"])
    empty = page.get_by_role("region", name="Channel contents")
    empty.get_by_text("1 channel empty").click()
    expect(empty.get_by_text("A->B", exact=True)).to_be_visible()
    expect(page.get_by_text("as at the start")).to_be_visible()
    expect(page.locator("[data-figure=timeline-figure] .scatterlayer path")).not_to_have_count(0)


def test_no_title_of_an_axis_is_without_a_place(two_banks, page):
    """Plotly writes y="-Infinity" where all numbers of an axis are hidden, as too wide."""
    page.goto(f"{two_banks}/snapshots/s1")
    assert 0 < float(page.evaluate(NARROW)) < 200


def test_restore_reports_that_the_end_is_the_same(two_banks, page):
    page.goto(f"{two_banks}/snapshots/s1")
    page.get_by_role("button", name=re.compile("^Restore")).click()
    report = page.get_by_label("Restore report")
    expect(report).to_contain_text("ends as the original did", timeout=60_000)
    expect(report).to_contain_text(re.compile(r"\d+ events replayed, \d+ events skipped"))
    page.reload()
    expect(report).to_be_visible()


def test_a_click_on_a_witness_opens_the_workbench_there(stack, page):
    damaged = lose_recorded_message(simulated())
    address = uploaded(page, damaged.log, "lost.jsonl")
    page.goto(f"{address}/snapshots/{damaged.snapshot}")
    page.get_by_role("link", name=damaged.message, exact=True).first.click()
    page.locator("#workbench.is-ready").wait_for()
    expect(page.locator("body")).to_contain_text(damaged.message)
    expect(page).to_have_url(re.compile("message="))


def test_a_snapshot_that_does_not_end_says_why_before_what_follows(samples, page):
    log = simulated(shapes.ring(3), silent=frozenset({"p2"}))
    address = uploaded(page, log, "silent.jsonl")
    page.goto(f"{address}/snapshots")
    page.get_by_role("link", name="s1", exact=True).click()
    expect(page.locator("h1 + .verdict")).to_have_text(re.compile("incomplete"))
    cause = page.get_by_role("region", name="Why it does not end").locator("li").first
    expect(cause.locator(".badge")).to_have_text("L2")
    expect(cause).to_contain_text("p2 never records, although a marker reached it on p1->p2")
    expect(cause.locator("li")).to_have_text(
        ["Therefore p3 never records.", "Therefore p3->p1 stays open."]
    )

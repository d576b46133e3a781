"""What stands where in the workbench: details, sums, axes, labels, the strip, and undo."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.browser.test_workbench import (
    banks,
    handle,
    make_an_orphan,
    until_plotly_has_drawn,
    wait_until_drawn,
)

__all__ = ["banks"]

OVERLAPS = """() => {
  const all = [...document.querySelectorAll("#wb-topology-marks text")];
  const texts = all.filter((it) => it.textContent);
  const boxes = texts.map((it) => [it.textContent, it.getBoundingClientRect()]);
  return boxes.flatMap(([name, a], i) => boxes.slice(i + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1
      && a.top < b.bottom - 2 && b.top < a.bottom - 2)
    .map(([other]) => `${name} over ${other}`));
}"""


def box(page, selector: str) -> dict[str, float]:
    return page.locator(selector).bounding_box()


@pytest.mark.long
def test_details_and_sums_are_above_the_transport_bar(banks):
    bar = box(banks, ".wb-transport")["y"]
    totals = box(banks, "#wb-states-totals")
    assert totals["y"] + totals["height"] <= bar
    banks.goto(f"{banks.url.partition('?')[0]}?event=2@B")
    wait_until_drawn(banks)
    details = banks.locator("#wb-details")
    expect(details).to_contain_text("step")
    for part in ("#wb-details", "#wb-cones", "#wb-states-totals"):
        expect(banks.locator(part)).to_be_in_viewport(ratio=1)
        assert box(banks, part)["y"] + box(banks, part)["height"] <= bar, part
    banks.get_by_label("Close the details").click()
    expect(details).to_be_hidden()


@pytest.mark.long
def test_the_axes_of_diagram_and_depth_line_up(banks):
    until_plotly_has_drawn(banks)
    places = [
        banks.locator(f"#{chart} .xtick text").evaluate_all(
            "ticks => ticks.map((it) => [it.textContent, Math.round(it.getBoundingClientRect().x)])"
        )
        for chart in ("wb-spacetime", "wb-depth")
    ]
    assert places[0]
    assert places[0] == places[1]


def test_control_z_undoes_the_cut_step_by_step_and_back(banks):
    banks.keyboard.press("c")
    handle(banks, "A").focus()
    start = int(handle(banks, "A").get_attribute("aria-valuenow"))
    for _ in range(2):
        banks.keyboard.press("ArrowLeft")
    expect(handle(banks, "A")).to_have_attribute("aria-valuenow", str(start - 2))
    banks.keyboard.press("Control+z")
    expect(handle(banks, "A")).to_have_attribute("aria-valuenow", str(start - 1))
    banks.keyboard.press("Control+Shift+z")
    expect(handle(banks, "A")).to_have_attribute("aria-valuenow", str(start - 2))
    banks.keyboard.press("Escape")
    expect(handle(banks, "A")).to_be_hidden()
    banks.keyboard.press("Control+z")
    expect(handle(banks, "A")).to_have_attribute("aria-valuenow", str(start - 2))


def test_a_cut_at_a_snapshot_is_named_and_its_processes_record_here(banks):
    banks.keyboard.press("c")
    expect(banks.locator("#wb-verdict")).to_contain_text("which is that of snapshot s1")
    phases = banks.locator("#wb-states-body td:last-child")
    expect(phases).to_have_text(["records here", "records here"])
    notice = banks.locator("#wb-topology-notice")
    expect(notice).to_contain_text("2 records here")
    banks.keyboard.press("Escape")
    make_an_orphan(banks)
    expect(banks.locator("#wb-verdict")).not_to_contain_text("which is that of")


@pytest.mark.parametrize(
    "sample", ["Splits change hands", pytest.param("Fifty processes", marks=pytest.mark.long)]
)
def test_names_and_phases_of_the_topology_overprint_nothing(learn, sample):
    open_sample(learn, sample)
    until_plotly_has_drawn(learn)
    assert learn.evaluate(OVERLAPS) == []


@pytest.mark.long
def test_no_axis_is_without_a_place_for_its_title(samples, learn):
    """Plotly writes y="-Infinity" where all numbers of an axis are hidden, as too wide."""
    open_sample(learn, "Fifty processes")
    address_of_sample = learn.url.partition("?")[0]
    learn.set_viewport_size({"width": 390, "height": 844})
    learn.goto("about:blank")
    learn.goto(f"{address_of_sample}?axis=order&from=3995.2&to=4000.05")
    learn.locator("#workbench.is-ready").wait_for()
    until_plotly_has_drawn(learn)
    assert learn.locator('[y="-Infinity"]').count() == 0
    assert learn.locator("#wb-spacetime .xtick text").count() > 0


def test_the_readout_is_whole_at_ten_million_events(banks):
    """Let the page believe that the recording of the two banks is that large."""
    banks.add_init_script(
        """const parse = JSON.parse;
        JSON.parse = (text) => {
          const value = parse(text);
          if (value?.recording?.counts) value.recording.counts.events = 10_000_000;
          return value;
        };"""
    )
    banks.reload()
    wait_until_drawn(banks)
    banks.keyboard.press("End")
    readout = banks.locator("#wb-readout")
    expect(readout).to_contain_text("/ 10,000,000")
    assert readout.evaluate("it => it.scrollWidth <= it.clientWidth")


def a_log_with_wrong_states() -> list[dict]:
    """Return a log of one process whose snapshot says another count than its last event."""
    header = {
        "kind": "header",
        "format": "cutline",
        "version": 1,
        "name": "two fields",
        "time_unit": "us",
    }
    return [
        header | {"processes": [{"id": "p", "state": {"a": 0, "same": 1}}], "channels": []},
        {"process": "p", "kind": "internal", "at": 10, "state": {"a": 5, "same": 1}},
        {
            "process": "p",
            "kind": "record_state",
            "at": 20,
            "snapshot": "s1",
            "state": {"a": 7, "same": 1, "new": None},
        },
        {
            "process": "p",
            "kind": "record_state",
            "at": 30,
            "snapshot": "s2",
            "state": {"a": 5, "same": 1},
        },
    ]


def test_states_that_are_objects_show_their_difference_and_failures_are_in_sight(
    samples, page, tmp_path
):
    log = tmp_path / "fields.jsonl"
    log.write_text("\n".join(map(json.dumps, a_log_with_wrong_states())))
    said = samples.manage("ingest", log, "--wait")
    number = re.search(r"recording (\d+)", said)[1]
    page.goto(f"/recordings/{number}")
    page.locator("#workbench.is-ready").wait_for()
    difference = page.locator('#wb-states-body [data-difference="p"]')
    expect(difference.locator("li")).to_have_text(
        ["a recorded 7, recomputed 5", "new recorded null, recomputed absent"]
    )
    expect(page.locator("#wb-strip-count")).to_have_text("1 of 2")
    expect(page.locator("#wb-strip-failed")).to_have_text("1 with findings")
    page.locator("#wb-strip-tools").get_by_label("Next snapshot").click()
    expect(page.locator("#wb-strip-count")).to_have_text("2 of 2")
    expect(difference).to_be_hidden()
    expect(page.locator("#wb-states-body [data-role=recomputed]")).to_have_text("the same")
    page.locator("#wb-strip-failed").click()
    expect(page.locator("#wb-strip-count")).to_have_text("1 of 2")


def a_log_with_snapshots(count: int) -> list[dict]:
    """Return a log of one process that recorded so many snapshots, the last of them wrongly."""
    header, *_ = a_log_with_wrong_states()
    states = [0] * (count - 1) + [1]
    return [
        header | {"name": f"{count} snapshots"},
        *(
            {
                "process": "p",
                "kind": "record_state",
                "at": 10 * number,
                "snapshot": f"s{number}",
                "state": {"a": state, "same": 1},
            }
            for number, state in enumerate(states)
        ),
    ]


def test_a_strip_of_many_snapshots_shows_a_part_and_leads_to_the_others(samples, page, tmp_path):
    log = tmp_path / "many.jsonl"
    log.write_text("\n".join(map(json.dumps, a_log_with_snapshots(620))))
    number = re.search(r"recording (\d+)", samples.manage("ingest", log, "--wait"))[1]
    page.goto(f"/recordings/{number}?snapshot=s300")
    page.locator("#workbench.is-ready").wait_for()
    strip, count = page.locator("#wb-snapshots"), page.locator("#wb-strip-count")
    expect(count).to_have_text("301 of 620")
    expect(page.locator("#wb-verdict")).to_contain_text("No witness against it.")
    expect(page.locator('[data-process="p"] td').nth(3)).not_to_have_text("")
    expect(strip.locator(".wb-chip")).to_have_count(200)
    strip.get_by_role("button", name="220 after").click()
    expect(strip.locator(".wb-chip b").first).to_have_text("s400")
    strip.get_by_role("button", name="400 before").click()
    expect(strip.locator(".wb-chip b").last).to_have_text("s399")
    page.locator("#wb-strip-failed").click()
    expect(count).to_have_text("620 of 620")
    expect(page.locator("#wb-verdict")).to_contain_text("p recorded the state")
    expect(strip.locator(".wb-chip")).to_have_count(20)


def test_the_diagram_is_whole_in_a_small_window_and_no_chart_is_too_low(samples, page):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/")
    open_sample(page, "Splits change hands")
    assert page.evaluate("getComputedStyle(workbench).getPropertyValue('--lanes')") == "9"
    bar = box(page, ".wb-transport")["y"]
    for panel in ("spacetime", "depth", "topology"):
        place = box(page, f"[data-panel={panel}]")
        assert panel != "spacetime" or place["y"] + place["height"] <= bar
        assert place["height"] > 100, panel

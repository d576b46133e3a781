"""The lanes of tasks and of the coordinator: what each task is doing, and what they say."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.browser.looks import LOOKS
from tests.stack import PICTURES

DRAWN = "() => Boolean(document.querySelector('#wb-spacetime').data)"
CRASH = re.compile("counted twice", re.I)
TRACES = """name => {
  const { data } = document.querySelector("#wb-spacetime");
  const own = (data ?? []).filter((trace) => trace.name === name);
  return own.map(({ x, y }) => ({ x: [...x], y: [...y] }));
}"""
SAID = """() => {
  const { data } = document.querySelector("#wb-spacetime-marks");
  const own = (data ?? []).filter(({ name }) => name === "said");
  return own.flatMap(({ text }) => text ?? []).join(" ");
}"""


@pytest.fixture
def crash(samples, page):
    """Return the workbench of a run of Flink with a failure."""
    page.goto("/")
    open_sample(page, CRASH)
    seek(page, 0)
    return page


def bands(page, name: str) -> list[tuple[float, float, float]]:
    """Return slot, begin and end of each band."""
    found = page.evaluate(TRACES, name)
    return [
        (trace["y"][place], trace["x"][place], trace["x"][place + 1])
        for trace in found
        for place in range(0, len(trace["x"]), 3)
    ]


def seek(page, at: int) -> None:
    address = re.sub(r"[?#].*", "", page.url)
    page.goto(f"{address}?t={at}&from=0&to=175000")
    page.locator("#workbench.is-ready").wait_for()
    page.wait_for_function(DRAWN)


def test_a_task_that_is_down_is_not_drawn_as_running(crash):
    down = [band for band in bands(crash, "down") if band[2] > band[1]]
    assert len({slot for slot, *_ in down}) == 6  # the failure takes all tasks down
    for slot, begin, end in down:
        for other, since, until in bands(crash, "running"):
            assert other != slot or until <= begin or since >= end
    assert bands(crash, "aligning")
    assert bands(crash, "copying")
    assert bands(crash, "restoring")
    assert all(slot != int(slot) for slot, *_ in bands(crash, "uploading"))  # beside the band


def test_the_topology_draws_a_task_that_is_down_as_down(crash):
    seek(crash, 75_000)
    expect(crash.locator("#wb-topology-notice")).to_contain_text("6 down")
    seek(crash, 60_000)
    expect(crash.locator("#wb-topology-notice")).not_to_contain_text("down")


def test_signals_lead_from_and_to_the_lane_of_the_coordinator_at_the_top(crash):
    names = crash.evaluate("document.querySelector('#wb-spacetime').layout.yaxis.ticktext")
    assert names[0] == "coordinator"
    for name in ("trigger", "notify"):
        lines = bands(crash, name)
        assert lines
        assert all(slot == 0 for slot, *_ in lines)
    acks = crash.evaluate(TRACES, "ack")[0]
    assert {acks["y"][place] for place in range(1, len(acks["y"]), 3)} == {0}
    assert acks["x"][0::3] == acks["x"][1::3]  # no log says when one arrives


def test_at_the_cursor_stands_for_whom_the_coordinator_waits(crash):
    seek(crash, 68_300)
    crash.wait_for_function(f"() => ({SAID})().includes('3 of 6')")
    said = crash.evaluate(SAID).replace("<br>", " ")
    assert said == "checkpoint 2: 3 of 6 acknowledged; waited for: count[1], sink[0], sink[1]"
    seek(crash, 75_000)
    crash.wait_for_function(f"() => ({SAID})().includes('given')")
    said = crash.evaluate(SAID).replace("<br>", " ")
    pk = re.search(r"/recordings/(\d+)", crash.url)[1]
    crash.goto(f"/recordings/{pk}/checkpoints?checkpoint=2")
    expect(crash.locator(".checkpoint-acknowledged")).to_have_text(said)


def test_the_switch_is_in_the_link_and_is_remembered(crash):
    button = crash.locator("#wb-control")
    expect(button).to_have_attribute("aria-pressed", "true")
    crash.locator("#wb-spacetime-moving").focus()
    crash.keyboard.press("u")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(crash).to_have_url(re.compile("control=0"))
    crash.wait_for_function(f"() => !({TRACES})('ack').length")
    assert bands(crash, "down")
    crash.goto("/")
    open_sample(crash, CRASH)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(crash).not_to_have_url(re.compile("control=0"))


def test_a_recording_without_tasks_has_neither_bands_nor_their_key(samples, page):
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    expect(page.locator("#wb-control-key")).to_have_count(0)
    page.wait_for_function(DRAWN)
    assert not bands(page, "running")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
@pytest.mark.parametrize("sample", ["counted twice", "that overtake", "splits change"])
def test_the_lanes_fit_and_are_pictured(samples, page, width, scheme, sample):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/")
    open_sample(page, re.compile(sample, re.I))
    page.wait_for_function(DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"control-{sample.split()[1]}-{scheme}-{width}.png")


def test_the_plan_of_a_job_is_pictured_and_led_to(samples, page):
    page.goto("/")
    open_sample(page, re.compile("splits change", re.I))
    page.get_by_label("More about this recording").click()
    page.get_by_role("link", name="Plan and start of the job").click()
    expect(page.locator(".plan-vertices tbody tr")).to_have_count(3)
    page.wait_for_function(
        "() => Boolean(document.querySelector('[data-figure] .figure-plot')?.data)"
    )
    names = page.evaluate(
        "[...document.querySelector('[data-figure] .figure-plot').data].map(({ name }) => name)"
    )
    assert {"waits", "states handed out", "RUNNING", "timer of checkpoints"} <= set(names)
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=PICTURES / f"plan-{scheme}-{width}.png", full_page=True)

"""A document that is opened from the disk, without a network, checks itself in the browser."""

import json
import re

import pytest

from snapshots.domain.simulators.samples import two_banks
from tests.browser.test_hostile_text import CANARY, TRACES
from tests.browser.test_snapshot_page import uploaded
from tests.conftest import TELL_VIOLATIONS
from tests.hostile.payloads import HANDLER
from tests.hostile.places import exported
from tests.webapp.over_http import Api

DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.DOTALL)

COLOUR_OF_TEXT = """() => getComputedStyle(document.querySelector(".js-plotly-plot .xtick text"))
  .fill.match(/[\\d.]+/g).slice(0, 3).map(Number)"""


@pytest.fixture
def reader(browser):
    """Return a page without a network, and the lists of what it asked for and what went wrong."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked, wrong = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page, asked, wrong
    context.close()


def test_a_document_holds_offline_and_names_the_claim_of_a_changed_number(
    stack, page, reader, tmp_path
):
    address = uploaded(page, two_banks(), "kept.jsonl")
    page.goto(f"{address}/notes")
    for place in ("snapshot:s1", "event:B:2", "cut:A=3:B=2"):
        form = page.locator("form:has(> .entry-input)")
        form.locator("[name=place]").evaluate("(box, place) => { box.value = place; }", place)
        form.locator("[name=text]").fill("<img src=x onerror=alert(1)> <script>1</script>")
        form.get_by_role("button", name="Write").click()
        page.locator(".entry").first.wait_for()
    page.get_by_text("Save as").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="HTML").click()
    document = tmp_path / "document.html"
    saved.value.save_as(document)

    opened, asked, wrong = reader
    opened.goto(document.as_uri())
    opened.locator("#check-summary[data-outcome]").wait_for()
    assert set(opened.locator("[data-outcome]").evaluate_all(
        "items => items.map(item => item.dataset.outcome)"
    )) == {"holds"}  # fmt: skip
    assert opened.locator(".js-plotly-plot").count() == 3
    assert (asked, wrong) == ([document.as_uri()], [])
    opened.emulate_media(color_scheme="dark")
    opened.reload()
    opened.locator(".js-plotly-plot .xtick text").first.wait_for()
    dark = opened.evaluate(COLOUR_OF_TEXT)
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    light = opened.evaluate(COLOUR_OF_TEXT)
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert sum(dark) > sum(light), "text on paper is darker than text on a dark page"
    assert opened.evaluate(COLOUR_OF_TEXT) == dark

    text = document.read_text()
    data = json.loads(DATA.search(text)[2])
    data["logs"][next(iter(data["logs"]))]["messages"][1][0]["received"] -= 1
    changed = json.dumps(data).replace("<", "\\u003c")
    document.write_text(DATA.sub(lambda found: found[1] + changed + found[3], text))
    opened.goto(document.as_uri())
    opened.locator("#check-summary[data-outcome=differs]").wait_for()
    assert "does not receive what B->A carries" in opened.locator(".differences").first.inner_text()


@pytest.mark.long
def test_hostile_text_in_an_exported_file_does_nothing(stack, reader, tmp_path):
    files = exported(Api(stack), tmp_path)
    opened, asked, happened = reader
    opened.add_init_script(TELL_VIOLATIONS)
    opened.add_init_script(CANARY)
    opened.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    opened.on("popup", lambda popup: happened.append(popup.url))
    for file in files:
        asked.clear()
        opened.goto(file.as_uri())
        opened.locator("#check-summary[data-outcome=holds]").wait_for()
        assert opened.locator(".js-plotly-plot").count() > 1
        for summary in opened.locator("details > summary").all():
            summary.click()
        assert "canary(1)" in opened.locator("main").inner_text()
        faults = [fault for fault in opened.evaluate(TRACES) if not is_own(fault)]
        assert (faults, happened, asked) == ([], [], [file.as_uri()])
    opened.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", HANDLER[0])
    opened.evaluate("() => new Promise((done) => setTimeout(done))")  # the policy tells in a task
    assert happened, "a payload that got through is seen"


def is_own(trace):
    """Tell whether an element is the policy of the file, or a link within it."""
    return trace.startswith(('<meta http-equiv="Content-Security-Policy"', '<a href="#'))

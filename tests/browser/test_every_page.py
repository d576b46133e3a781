"""Every page, wide and narrow, light and dark: without scrolling sideways and light on the wire.

In many of them axe-core looks for faults that it calls serious or critical, which takes longest.
"""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import URLPattern, resolve

import snapshots.urls
import webapp.accounts.urls
import webapp.links.urls
import webapp.notices.urls
import webapp.operating.urls
import webapp.teams.urls
from bench.browser import OBSERVE, watch_weights
from tests.browser.every_page import ADDRESSES, ALIKE, EXAMINED
from tests.conftest import watch_for_errors
from tests.each_time import mostly_long

AXE = Axe().axe_script
# All rules on wide pages in light colours. On narrow pages in dark colours those rules that may say
# something else there: about colours, and about what only narrow pages show. The size of what a
# pointer hits is checked by axe-core only where it is asked to.
COLOURS = ["color-contrast", "link-in-text-block"]
NARROW = [
    *("scrollable-region-focusable", "button-name", "link-name", "label"),
    *("select-name", "aria-hidden-focus", "nested-interactive", "target-size"),
]
VARIANTS = {
    "quick": [(1280, "light", None), (390, "dark", [*NARROW, *COLOURS])],
    "whole": [(width, scheme, None) for width in (1280, 390) for scheme in ("light", "dark")],
}
FAULTS = """rules => axe.run(document, {
  resultTypes: ["violations"],
  ...(rules ? { runOnly: rules } : { rules: { "target-size": { enabled: true } } }),
}).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => `${id}, ${nodes.length} times, first ${nodes[0].html.slice(0, 160)}`))"""
# The page of the API repeats two templates hundreds of times, of which the first few are enough.
SHORTEN = """() => document.querySelectorAll(
  ".api-fields > div:nth-of-type(n + 3), .stack > section.panel:nth-of-type(n + 4)"
).forEach((part) => part.remove())"""
# Rows out of view are measured as they are when they come into view.
LAY_OUT = """() => document.querySelectorAll(".wb-contents > li").forEach((row) => {
  row.style.contentVisibility = "visible";
})"""
WIDER = "document.documentElement.scrollWidth - innerWidth"
# Tables that scroll inside a page which has room for them, but for editors beside a drawing.
SCROLLING = """() => [...document.querySelectorAll("main .table-wrap:not(.editor-rows)")]
  .filter((wrap) => !wrap.closest(".workbench"))
  .filter((wrap) => wrap.scrollHeight > wrap.clientHeight + 1)
  .filter((wrap) => getComputedStyle(wrap).overflowY !== "visible")
  .map((wrap) => `${wrap.className}: ${wrap.scrollHeight} in ${wrap.clientHeight} px`)"""
KILOBYTE = 1000
MOST = {"workbench": 1700 * KILOBYTE}
MOST_ELSEWHERE = 250 * KILOBYTE
PLOTLY = 1240 * KILOBYTE  # which the browser keeps for a year
MOST_SHIFT = 0.05  # of what stands in view, while the page loads

# Addresses that show no page of their own: forms that are sent, downloads, and machines.
NO_PAGES = {
    *("ingest-again", "close-recording", "original", "compare-failovers", "change-collector"),
    "cancel-job",
    *("follow-link", "sign-out", "create-token", "revoke-token", "end-other-sessions"),
    "recorder",
    *("live-command", "draw-dataflow"),
    *(
        "end-session",
        "allow-person",
        "allow-team",
        "move",
        "smallest-part-file",
        "change-entry",
        "change-review",
        "entry",
        "with-notes",
        "archived-with-notes",
        None,
    ),
    *("notes-document", "archived-notes-document", "post-mortem"),
    *("short-link", "delete-short-link", "make-public-link", "show-review"),
    *("withdraw-public-link", "team-public-links"),
    *("invite", "withdraw", "change-role", "remove-member", "rename-team"),
    *("choose-mail", "create-webhook", "change-webhook-secret", "test-webhook", "send-again"),
}
SITE = (
    snapshots.urls,
    webapp.accounts.urls,
    webapp.links.urls,
    webapp.notices.urls,
    webapp.operating.urls,
    webapp.teams.urls,
)


def test_every_page_of_the_site_is_visited():
    numbered = {name: re.sub(r"\{\w+\}", "1", address) for name, address in ADDRESSES.items()}
    visited = {resolve(address.partition("?")[0]).url_name for address in numbered.values()}
    patterns = [
        pattern
        for module in SITE
        for pattern in module.urlpatterns
        if isinstance(pattern, URLPattern)
    ]
    assert {pattern.name for pattern in patterns} - visited == NO_PAGES


@pytest.fixture(scope="module")
def walker(browser, server, signed_in_state):
    """Provide one page that goes from address to address. Any error in its console fails a test."""
    context = browser.new_context(base_url=server.url, storage_state=signed_in_state)
    page = context.new_page()
    page.add_init_script(f"({OBSERVE})()")
    errors = watch_for_errors(page)
    yield page
    context.close()
    assert not errors


def open_page(page, name: str, address: str) -> None:
    page.goto(address)
    if name.startswith("workbench") and page.locator("#workbench").count():
        page.locator("#workbench.is-ready").wait_for()
    page.evaluate("document.fonts.ready")


@pytest.mark.parametrize(
    "variants", ["quick", pytest.param("whole", marks=pytest.mark.long)], ids=str
)
@pytest.mark.parametrize("name", mostly_long(ADDRESSES, set(ADDRESSES) - ALIKE))
def test_a_page_is_light_stands_still_and_has_no_serious_fault(furnished, walker, name, variants):
    walker.set_viewport_size({"width": 1280, "height": 800})
    walker.emulate_media(color_scheme="light")
    problems = problems_of_loading(walker, name, furnished[name])
    for figure in walker.locator(".figure").all():
        figure.locator(".main-svg").first.wait_for()
        figure.hover()  # it then has buttons of its own
    if name == "api":
        walker.evaluate(SHORTEN)
    walker.evaluate(LAY_OUT)
    is_examined = name in EXAMINED or variants == "whole"
    if is_examined:
        walker.evaluate(AXE)
    for width, scheme, rules in VARIANTS[variants]:
        walker.set_viewport_size({"width": width, "height": 800})
        walker.emulate_media(color_scheme=scheme)
        found = faults_of_layout(walker) + (walker.evaluate(FAULTS, rules) if is_examined else [])
        problems += [f"{width}, {scheme}: {each}" for each in found]
    assert not problems, "\n".join(problems)


def problems_of_loading(page, name: str, address: str) -> list[str]:
    """Open a page with an empty cache. Return what is too heavy or moves while it loads."""
    weights, session = watch_weights(page)
    session.send("Network.clearBrowserCache")
    open_page(page, name, address)
    page.wait_for_load_state("networkidle")
    session.detach()
    shift = page.evaluate("window.observed.shift")
    drawn = PLOTLY if page.locator("[data-plotly], link[href*=plotly]").count() else 0
    most = MOST.get(name.partition("-")[0], MOST_ELSEWHERE + drawn)
    problems = [f"moves by {shift} while it loads"] if shift > MOST_SHIFT else []
    if not 0 < sum(weights.values()) <= most:
        problems.append(f"weighs too much:\n{heaviest(weights)}")
    return problems


def faults_of_layout(page) -> list[str]:
    """Return what scrolls that should not."""
    wider = page.evaluate(WIDER)
    return [
        *([f"{wider} px too wide"] if wider > 0 else []),
        *(f"a table scrolls: {each}" for each in page.evaluate(SCROLLING)),
    ]


def heaviest(weights: dict[str, int]) -> str:
    rows = sorted(weights.items(), key=lambda row: -row[1])[:8]
    return "\n".join(f"{size:>9,} {address}" for address, size in rows)

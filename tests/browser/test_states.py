"""Process states and global states in a browser: what is lit, and what may occur."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample

# The stroke of the circle with a name, as the page draws it, in each diagram.
STROKES = """(name) => [...document.querySelectorAll(".process-diagram text.name")]
  .filter((text) => text.textContent === name)
  .map((text) => getComputedStyle(text.previousElementSibling).stroke)"""


@pytest.fixture
def graph(samples, page):
    """Return the graph of global states of the run of the paper's figure 5."""
    page.goto("/learn")
    open_sample(page, "A state that never occurred")
    page.get_by_label("More about this recording").click()
    page.get_by_role("link", name="Graph of global states").click()
    page.get_by_role("link", name="s1", exact=True).click()
    return page


def lit(page) -> list[str]:
    """Return the names of the lit states, in the order of the processes."""
    names = page.locator(".process-diagram circle.is-current + text.name")
    return names.all_text_contents()


def test_the_states_of_the_processes_light_up_event_by_event(graph):
    graph.get_by_role("link", name="Process states").click()
    expect(graph.locator("main [role=status]")).to_contain_text("in the state that is lit")
    assert lit(graph) == ["A", "D"]
    graph.get_by_role("link", name="From the start").click()
    expect(graph.get_by_role("heading", name="After 0 of 4 events")).to_be_visible()
    assert lit(graph) == ["A", "C"]
    assert graph.evaluate(STROKES, "A") != graph.evaluate(STROKES, "B")
    graph.get_by_role("link", name="Next event").click()
    expect(graph.locator("main [role=status]")).to_contain_text("p sends M on c.")
    assert lit(graph) == ["B", "C"]
    expect(graph.locator(".process-rows .is-last")).to_have_text(re.compile("A → B: send M on c"))
    graph.get_by_role("link", name="Back", exact=True).click()
    expect(graph.get_by_role("heading", name="After 0 of 4 events")).to_be_visible()
    assert lit(graph) == ["A", "C"]


def test_the_lit_states_are_the_cut_that_the_workbench_then_shows(graph):
    graph.get_by_role("link", name="Process states").click()
    graph.get_by_role("link", name="This cut in the workbench").click()
    graph.locator("#workbench.is-ready").wait_for()
    expect(graph.locator("#wb-verdict")).to_contain_text("Your cut")
    expect(graph).to_have_url(re.compile("cut="))


def tried(graph, event: str):
    """Return the answer to an event that is tried in state 0."""
    graph.get_by_role("link", name=re.compile("^State 0:")).click()
    expect(graph.get_by_role("heading", name="Try an event in state 0")).to_be_visible()
    graph.get_by_label("Event", exact=True).select_option(event)
    graph.get_by_role("button", name="Try it").click()
    return graph.locator(".states-tried")


def test_an_event_that_cannot_occur_is_refused_with_the_reason(graph):
    answer = tried(graph, "q receives M from c")
    expect(answer).to_have_attribute("data-may", "no")
    expect(answer).to_contain_text("q receives M from c cannot occur.")
    expect(answer).to_contain_text("c is empty, and the event needs M at its head.")
    expect(answer.get_by_role("link")).to_have_count(0)


def test_an_event_that_can_occur_leads_to_the_next_state(graph):
    answer = tried(graph, "p sends M on c")
    expect(answer).to_have_attribute("data-may", "yes")
    answer.get_by_role("link", name="state 1").click()
    expect(graph.get_by_role("heading", name="State 1", exact=True)).to_be_visible()
    expect(graph.locator("a[data-state].is-chosen")).to_have_attribute("data-state", "1")

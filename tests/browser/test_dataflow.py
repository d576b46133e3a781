"""The page of a dataflow: edited in tables, drawn in layers, unfolded, simulated."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import LOOKS
from tests.stack import PICTURES


@pytest.fixture
def editor(page):
    page.goto("/topologies/new?kind=dataflow")
    page.locator("#topology-form.is-live").wait_for()
    return page


def boxes(page) -> dict[str, dict[str, float]]:
    """Return the box of each drawn vertex by its name."""
    drawn = page.locator(".flow-vertex")
    names = drawn.locator("title").all_text_contents()
    return {
        name.split(":")[0]: drawn.nth(place).locator(".flow-box").bounding_box()
        for place, name in enumerate(names)
    }


def vertex(page, number: int):
    return page.get_by_role("region", name="Vertices").locator("tbody tr").nth(number)


def edge(page, number: int):
    return page.get_by_role("region", name="Edges").locator("tbody tr").nth(number)


def test_a_vertex_and_its_edges_are_added_in_the_tables_and_drawn_in_their_layer(editor):
    editor.get_by_role("button", name="Add vertex").click()
    added = vertex(editor, 3)
    added.get_by_label("Id of the vertex").fill("clean")
    added.get_by_label("Function of the operator").select_option("filter")
    added.get_by_label("Number of subtasks").fill("2")
    edge(editor, 0).get_by_label("Vertex the edge enters").select_option("clean")
    editor.get_by_role("button", name="Add edge").click()
    edge(editor, 2).get_by_label("Vertex the edge leaves").select_option("clean")
    edge(editor, 2).get_by_label("Vertex the edge enters").select_option("count")
    edge(editor, 2).get_by_label("Exchange").select_option("hash")
    places = boxes(editor)
    in_order = sorted(places, key=lambda name: places[name]["x"])
    assert in_order == ["source", "clean", "count", "sink"]
    editor.get_by_label("Name", exact=True).fill("cleaned words")
    editor.get_by_role("button", name="Save").click()
    expect(editor).to_have_url(re.compile(r"/topologies/\d+$"))
    expect(editor.locator(".flow-exchange")).to_have_text(["hash", "forward", "hash"])


def test_unfolding_shows_the_subtasks_and_their_channels(editor):
    vertex(editor, 1).get_by_label("Number of subtasks").fill("3")
    edge(editor, 1).get_by_label("Exchange").select_option("rebalance")
    editor.get_by_role("button", name="Subtasks", exact=True).click()
    expect(editor.locator(".flow-chip")).to_have_count(7)
    expect(editor.locator(".flow-channel")).to_have_count(12)
    vertex(editor, 1).get_by_label("Number of subtasks").fill("5000")
    expect(editor.locator(".flow-words")).to_contain_text("4,804 subtasks")
    expect(editor.locator(".flow-words")).to_contain_text("are not drawn")
    editor.get_by_role("button", name="Vertices", exact=True).click()
    expect(editor.locator(".flow-chip")).to_have_count(0)


def test_a_vertex_of_the_drawing_leads_to_its_row_and_undo_takes_a_change_back(editor):
    editor.get_by_role("button", name=re.compile("^count, operator")).click()
    row = vertex(editor, 1)
    expect(row.get_by_label("Id of the vertex")).to_be_focused()
    row.get_by_role("button", name="Remove this vertex").click()
    expect(editor.locator(".flow-vertex")).to_have_count(2)
    expect(editor.get_by_role("region", name="Edges").locator("tbody tr")).to_have_count(0)
    editor.get_by_role("button", name="Undo").click()
    expect(editor.locator(".flow-vertex")).to_have_count(3)
    expect(editor.locator(".flow-edge")).to_have_count(2)


def test_a_refusal_of_the_server_stands_at_its_field_with_what_was_typed(editor):
    field = vertex(editor, 1).get_by_label("Number of subtasks")
    field.fill("0")
    editor.get_by_label("Name", exact=True).fill("none")
    editor.get_by_role("button", name="Save").click()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("0")
    expect(vertex(editor, 1).get_by_role("alert")).to_contain_text("between 1 and")


def test_a_dataflow_is_edited_as_text(editor):
    editor.get_by_text("Import, or edit as text").click()
    text = editor.get_by_label("JSON of a dataflow")
    expect(text).to_have_value(re.compile('"two-phase"'))
    text.fill(text.input_value().replace('"count"', '"tally"', 1).replace("two-phase", "plain"))
    text.fill(re.sub('"(source|target)": "count"', r'"\1": "tally"', text.input_value()))
    editor.get_by_role("button", name="Read it").click()
    expect(editor.get_by_role("button", name=re.compile("^tally, operator"))).to_be_visible()
    assert set(boxes(editor)) == {"source", "tally", "sink"}


def test_simulate_opens_the_recording_with_its_checkpoints(stack, editor):
    editor.get_by_label("Name", exact=True).fill("words")
    editor.get_by_label("A checkpoint every").fill("20000")
    editor.get_by_role("radio", name=re.compile("^ ?Unaligned")).check()
    editor.get_by_label("Slow subtask").fill("count[1]")
    editor.get_by_label("A subtask fails").fill("count[0]")
    editor.get_by_label("It fails at").fill("50000")
    editor.get_by_role("button", name="Simulate").click()
    editor.wait_for_url(re.compile(r"/recordings/\d+"))
    editor.locator("#workbench").wait_for(timeout=60_000)
    recording = editor.url.split("/recordings/")[1].split("?")[0]
    answer = editor.request.get(f"/api/recordings/{recording}").json()
    assert (answer["status"], answer["defects_total"]) == ("ready", 0)
    found = editor.request.get(f"/api/recordings/{recording}/snapshots").json()["items"]
    verdicts = {item["verdict"] for item in found}
    assert "consistent" in verdicts
    assert verdicts <= {"consistent", "incomplete"}


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_page_fits_its_width_and_is_pictured(editor, width, scheme):
    editor.emulate_media(color_scheme=scheme)
    editor.set_viewport_size({"width": width, "height": 800})
    editor.get_by_role("button", name="Subtasks", exact=True).click()
    expect(editor.locator(".flow-chip")).to_have_count(6)
    assert editor.evaluate("document.documentElement.scrollWidth") <= width
    PICTURES.mkdir(parents=True, exist_ok=True)
    editor.screenshot(path=PICTURES / f"dataflow-{scheme}-{width}.png")

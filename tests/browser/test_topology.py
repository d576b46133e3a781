"""The topology editor: by pointer, by keyboard alone, in tables, from text."""

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def editor(page):
    page.goto("/topologies/new")
    page.locator("#topology-form.is-live").wait_for()
    return page


def at(page, x: float, y: float) -> dict[str, float]:
    """Return the pixels of a place on the drawing, x and y in 0..1."""
    box = page.locator("svg.drawing").bounding_box()
    return {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}


def double_click(page, x: float, y: float) -> None:
    place = at(page, x, y)
    page.mouse.dblclick(place["x"], place["y"])


def drag(page, start, end) -> None:
    page.mouse.move(**start)
    page.mouse.down()
    page.mouse.move(end["x"] - 5, end["y"], steps=4)
    page.mouse.move(**end)
    page.mouse.up()


def centre(page, name: str) -> dict[str, float]:
    box = page.get_by_role("button", name=re.compile(f"^Process {name}")).locator("circle")
    box = box.bounding_box()
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def channels(page) -> list[str]:
    return page.locator("[aria-label='Id of the channel']").evaluate_all(
        "inputs => inputs.map(input => input.value)"
    )


def processes(page) -> list[str]:
    return page.locator("[aria-label='Id of the process']").evaluate_all(
        "inputs => inputs.map(input => input.value)"
    )


def save(page, name: str) -> None:
    page.locator("#topology-name").fill(name)
    with page.expect_navigation(url=re.compile(r"/topologies/\d+$")):
        page.get_by_role("button", name="Save").click()
    page.locator("#topology-form.is-live").wait_for()


def test_a_topology_is_drawn_with_the_pointer_and_kept(editor):
    double_click(editor, 0.25, 0.5)
    double_click(editor, 0.75, 0.5)
    editor.get_by_role("button", name="Channel", exact=True).click()
    drag(editor, centre(editor, "A"), centre(editor, "B"))
    assert channels(editor) == ["A->B"]
    editor.get_by_label("State at the start").first.fill("10000")
    save(editor, "drawn")
    assert (processes(editor), channels(editor)) == (["A", "B"], ["A->B"])
    expect(editor.get_by_label("State at the start").first).to_have_value("10000")
    assert centre(editor, "A")["x"] < centre(editor, "B")["x"]


def test_both_ways_is_one_drag(editor):
    double_click(editor, 0.25, 0.5)
    double_click(editor, 0.75, 0.5)
    editor.get_by_role("button", name="Both ways").first.click()
    drag(editor, centre(editor, "A"), centre(editor, "B"))
    assert channels(editor) == ["A->B", "B->A"]


def test_a_dragged_process_moves_and_undo_takes_the_whole_drag_back(editor):
    double_click(editor, 0.25, 0.5)
    before = centre(editor, "A")
    drag(editor, before, at(editor, 0.6, 0.3))
    assert centre(editor, "A")["x"] > before["x"] + 50
    editor.get_by_role("button", name="Undo").click()
    assert abs(centre(editor, "A")["x"] - before["x"]) < 2


def test_everything_can_be_done_with_the_keyboard(editor):
    editor.locator("svg.drawing").focus()
    editor.keyboard.press("p")
    editor.keyboard.press("p")
    assert processes(editor) == ["A", "B"]
    editor.keyboard.press("c")
    editor.get_by_role("button", name=re.compile("^Process A")).focus()
    editor.keyboard.press("Enter")
    assert channels(editor) == ["B->A"]
    before = centre(editor, "A")
    editor.get_by_role("button", name=re.compile("^Process A")).focus()
    editor.keyboard.press("ArrowRight")
    assert centre(editor, "A")["x"] > before["x"]
    editor.keyboard.press("Delete")
    assert (processes(editor), channels(editor)) == (["B"], [])
    editor.keyboard.press("Control+z")
    assert (processes(editor), channels(editor)) == (["A", "B"], ["B->A"])
    editor.keyboard.press("Control+Shift+z")
    assert processes(editor) == ["B"]


def test_the_tables_do_what_the_drawing_does(editor):
    for _ in range(2):
        editor.get_by_role("button", name="Add process").click()
    editor.get_by_role("button", name="Add channel").click()
    assert channels(editor) == ["A->B"]
    editor.get_by_label("Id of the process").first.fill("bank 1")
    assert channels(editor) == ["bank 1->B"]
    expect(editor.locator(".drawing-process").first).to_have_attribute(
        "aria-label", re.compile("bank 1")
    )
    editor.get_by_label("Process the channel enters").select_option("bank 1")
    expect(editor.locator("[data-field=target]")).to_have_value(re.compile(".+"))


def test_a_taken_id_is_marked_at_its_field_and_stops_saving(editor):
    for _ in range(2):
        editor.get_by_role("button", name="Add process").click()
    second = editor.get_by_label("Id of the process").nth(1)
    second.fill("A")
    expect(second).to_have_attribute("aria-invalid", "true")
    expect(editor.get_by_role("alert").filter(has_text="already a process A")).to_be_visible()
    editor.locator("#topology-name").fill("twice")
    editor.get_by_role("button", name="Save").click()
    expect(editor).to_have_url(re.compile("/topologies/new$"))
    expect(second).to_be_focused()


def test_a_refusal_of_the_server_stands_at_the_field(editor):
    editor.get_by_role("button", name="Add process").click()
    editor.get_by_label("State at the start").fill("1" + "0" * 30)
    editor.locator("#topology-name").fill("too large")
    editor.get_by_role("button", name="Save").click()
    row = editor.locator("tr[data-key]").first
    expect(row.get_by_role("alert")).to_contain_text("64 bits")
    expect(editor.locator("#topology-name")).to_have_value("too large")


def test_a_text_is_read_into_the_drawing_and_its_errors_have_a_line(editor):
    text = editor.get_by_label("A .top file, JSON, or an edge list")
    text.fill("A -> B\nB -> C D\n")
    editor.get_by_role("button", name="Read it").click()
    expect(editor.get_by_role("alert").filter(has_text="Line 2")).to_be_visible()
    expect(text).to_have_value("A -> B\nB -> C D\n")
    text.fill("A -> B\nB <-> C\n")
    editor.get_by_role("button", name="Read it").click()
    expect(editor.locator(".drawing-process")).to_have_count(3)
    assert channels(editor) == ["A->B", "B->C", "C->B"]


def test_simulate_opens_the_recording(stack, editor):
    editor.get_by_label("A .top file, JSON, or an edge list").fill("A <-> B\nB <-> C\n")
    editor.get_by_role("button", name="Read it").click()
    editor.locator("#topology-name").fill("a line of three")
    editor.get_by_label("Events").fill("200")
    editor.get_by_label("Initiators").select_option(["B"])
    editor.get_by_role("button", name="Simulate").click()
    editor.wait_for_url(re.compile(r"/recordings/\d+"))
    editor.locator("#workbench").wait_for(timeout=60_000)


def test_a_wrong_parameter_stands_at_its_field_and_the_rest_stays(editor):
    editor.get_by_role("button", name="Add process").click()
    editor.locator("#topology-name").fill("one")
    editor.get_by_label("Seed").fill("many")
    editor.get_by_role("button", name="Simulate").click()
    expect(editor.get_by_label("Seed")).to_have_attribute("aria-invalid", "true")
    expect(editor.get_by_label("Seed")).to_have_value("many")
    assert processes(editor) == ["A"]


def test_what_was_done_before_a_refusal_can_be_undone_after_it(editor):
    double_click(editor, 0.25, 0.5)
    double_click(editor, 0.75, 0.5)
    before = processes(editor)
    editor.get_by_label("Seed").fill("-1")
    editor.get_by_role("button", name="Simulate").click()
    expect(editor.get_by_role("alert").first).to_be_visible()
    editor.locator("#topology-form.is-live").wait_for()
    assert processes(editor) == before
    editor.get_by_role("button", name="Undo").click()
    assert processes(editor) == before[:-1]

"""Notes in the workbench by keyboard alone, in two browsers that have the same recording open."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from snapshots.domain.model.recording import MARKER_SEND
from snapshots.domain.simulators.samples import two_banks
from snapshots.domain.simulators.script import Log
from tests.browser.test_snapshot_page import uploaded
from tests.builders import simulated
from tests.damage import record_late, relogged


@pytest.fixture
def colleague(browser, server, signed_in_state):
    """Return another page of the same person, such as a second browser has."""
    context = browser.new_context(base_url=server.url, storage_state=signed_in_state)
    yield context.new_page()
    context.close()


def test_a_note_is_written_kept_and_seen_elsewhere_by_keyboard(stack, page, colleague):
    address = uploaded(page, two_banks(), "noted.jsonl")
    page.goto(f"{address}?event=2@B")
    colleague.goto(address)
    for each in (page, colleague):
        each.locator("#workbench.is-ready").wait_for()
        expect(each.locator("#wb-notes")).to_be_hidden()
    expect(page.locator("#wb-notes-list")).to_contain_text("No notes yet.")
    page.keyboard.press("m")
    expect(page.locator("#wb-notes-subject")).to_contain_text("event 2 of B at 3.8 ms: receive m1")
    page.keyboard.type("<b>why</b> so late?")
    page.keyboard.press("Control+Enter")
    note = page.locator("#wb-notes-list .wb-note")
    expect(note.locator(".wb-note-text")).to_have_text("<b>why</b> so late?")
    expect(page.locator(".wb-pin")).to_have_text(["1"])
    expect(colleague.locator("#wb-notes-count")).to_have_text("1")
    expect(colleague.locator(".wb-pin")).to_have_text(["1"])
    page.keyboard.press("c")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(colleague.locator("#wb-notes-count")).to_have_text("2")
    page.keyboard.press("b")
    expect(page.locator("#wb-notes")).to_be_hidden()
    colleague.locator(".wb-pin").first.click()
    expect(colleague.locator(".wb-note").first).to_be_focused()


def test_the_form_of_a_note_shows_what_was_saved_since_it_was_opened(stack, page, colleague):
    address = uploaded(page, two_banks(), "stale.jsonl")
    page.goto(f"{address}/notes")
    write(page, "first")
    for each in (page, colleague):
        each.goto(address)
        each.locator("#workbench.is-ready").wait_for()
        each.keyboard.press("b")
        each.locator(".wb-note").get_by_role("button", name="Edit").click()
    problem, newer = colleague.locator("#wb-notes-problem"), colleague.locator("#wb-notes-newer")
    text, other = (each.locator("#wb-notes-text") for each in (colleague, page))
    text.fill("mine")
    save_in_panel(page, other, "second")
    text.press("Control+Enter")
    expect(problem).to_contain_text("You yourself saved this note on 20")
    expect(newer).to_have_text("Saved meanwhile, text: second")
    expect(text).to_have_value("mine")

    page.locator(".wb-note").get_by_role("button", name="Edit").click()
    save_in_panel(page, other, "third")
    text.press("Control+Enter")
    expect(newer).to_have_text("Saved meanwhile, text: third")
    text.press("Control+Enter")
    expect(page.locator(".wb-note-text")).to_have_text("mine")


def save_in_panel(page, field, text: str) -> None:
    field.fill(text)
    field.press("Control+Enter")
    expect(page.locator(".wb-note-text")).to_have_text(text)


def test_a_note_about_the_chosen_snapshot_goes_to_it(stack, page):
    """A note goes to the chosen one of two snapshots, though nobody recorded the second."""
    address = uploaded(page, with_a_snapshot_that_nobody_recorded(), "failed.jsonl")
    page.goto(address)
    page.locator("#workbench.is-ready").wait_for()
    subject = page.locator("#wb-notes-subject")
    for snapshot in ("s2", "s1"):
        page.locator("#wb-snapshots .wb-chip", has_text=snapshot).click()
        page.keyboard.press("m")
        expect(subject).to_contain_text(f"snapshot {snapshot}")
        page.keyboard.type(f"about {snapshot}")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#wb-notes-form")).to_be_hidden()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("m")
    expect(subject).to_contain_text("cut at")
    page.keyboard.press("Escape")
    page.locator("#wb-snapshots .wb-chip", has_text="s2").click()
    expect(page.locator("#wb-notes-trail")).to_contain_text("snapshot s2")
    page.keyboard.press("k")
    expect(page.locator("#wb-notes-list .wb-note-place")).to_contain_text(
        ["snapshot s2", "snapshot s1", "snapshot s2"]
    )


def with_a_snapshot_that_nobody_recorded() -> Log:
    """Return a run whose first snapshot was recorded too late, and whose second by nobody."""
    log = record_late(simulated()).log
    marker = next(each for each in log.events if each.kind == MARKER_SEND)
    begun = replace(marker, snapshot="s2", at=log.events[-1].at)
    return relogged(log.header, (*log.events, begun))


def test_only_a_follow_up_asks_for_the_day_on_which_it_is_due(stack, page):
    address = uploaded(page, two_banks(), "due.jsonl")
    for place, note in ((address, "#wb-notes-form"), (f"{address}/notes", "form:has(.entry-due)")):
        page.goto(place)
        if place == address:
            page.locator("#workbench.is-ready").wait_for()
            page.keyboard.press("m")
        form = page.locator(note)
        kind, day = form.get_by_label("Kind of note"), form.get_by_label("due")
        expect(kind).to_be_visible()
        expect(day).to_be_hidden()
        kind.select_option("follow-up")
        day.fill("2026-11-30")
        kind.select_option("note")
        expect(day).to_be_hidden()
        form.get_by_label("Text of the note").fill("never due")
        form.locator("[type=submit]").click()
        texts = page.locator(".wb-note-text, .entry-text")
        expect(texts.last).to_have_text("never due")
    expect(page.locator(".entry")).to_have_count(2)
    expect(page.locator(".badge", has_text="due")).to_have_count(0)


def test_the_page_of_notes_follows_and_keeps_what_somebody_types(stack, page, colleague):
    address = uploaded(page, two_banks(), "followed.jsonl")
    page.goto(f"{address}/notes")
    colleague.goto(f"{address}/notes")
    colleague.locator("#notes-list[data-live]").wait_for()
    write(page, "Why so late?")
    expect(colleague.locator(".entry-text")).to_have_text("Why so late?")
    expect(colleague.locator("#notes-count")).to_have_text("1 note")
    colleague.locator("summary", has_text="Answer").click()
    colleague.get_by_label("Your answer").fill("Because")
    page.get_by_role("button", name="Resolve").click()
    expect(colleague.locator(".entry-changed")).to_contain_text("changed meanwhile")
    expect(colleague.get_by_label("Your answer")).to_have_value("Because")
    colleague.locator("summary", has_text="Answer").click()
    colleague.get_by_label("Text of the note").last.focus()
    expect(colleague.locator(".badge", has_text="resolved")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Delete “").wait_for()
    page.get_by_role("button", name="Delete").click()
    expect(colleague.locator("#notes-list")).to_contain_text("No notes yet.")


def write(page, text: str) -> None:
    page.get_by_label("Text of the note").last.fill(text)
    page.get_by_role("button", name="Write").click()

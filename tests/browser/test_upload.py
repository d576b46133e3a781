"""Uploads in a browser: one file, several, a refused one, and all of them without JavaScript."""

import re

import pytest
from playwright.sync_api import expect

from snapshots.domain.simulators.samples import two_banks
from snapshots.readers.logs.native import write_lines
from tests.builders import simulated

BAD = b'{"kind":"header","format":"cutline","version":1\nnot json at all\n'


def native(log) -> bytes:
    return b"".join(write_lines(log.header, log.events))


def a_file(name: str, content: bytes) -> dict:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def row_of(page, name: str):
    return page.locator(".upload-row", has=page.get_by_text(name, exact=True))


def drop(page, **files: bytes) -> None:
    """Drag files from a folder and drop them onto the page."""
    page.evaluate(
        """files => {
          const data = new DataTransfer();
          for (const [name, text] of files) data.items.add(new File([text], name));
          for (const type of ["dragenter", "dragover", "drop"]) {
            const options = {dataTransfer: data, bubbles: true, cancelable: true};
            document.querySelector("h1").dispatchEvent(new DragEvent(type, options));
          }
        }""",
        [[f"{name}.jsonl", content.decode()] for name, content in files.items()],
    )


def test_one_file_opens_as_soon_as_it_is_ready(stack, page):
    page.goto("/")
    page.set_input_files("#upload-file", a_file("alone.jsonl", native(simulated(events=31))))
    page.wait_for_url(re.compile(r"/recordings/\d+"), timeout=60_000)
    page.locator("#workbench").wait_for()


def test_a_file_that_was_uploaded_before_says_so_and_is_read_again(stack, page):
    same = a_file("same.jsonl", native(simulated(events=50)))
    page.goto("/")
    page.set_input_files("#upload-file", same)
    page.wait_for_url(re.compile(r"/recordings/\d+"), timeout=60_000)  # it opens by itself
    page.goto("/")
    page.set_input_files("#upload-file", same)
    row = row_of(page, "same.jsonl")
    expect(row).to_contain_text("This file was uploaded on")
    expect(row.get_by_role("link", name="open", exact=True)).to_be_visible(timeout=60_000)
    row.get_by_role("link", name="same.jsonl").click()
    page.wait_for_url(re.compile(r"/recordings/\d+"))


def test_dropped_files_each_have_their_own_fate(stack, page):
    page.goto("/")
    drop(page, first=native(two_banks()), broken=BAD, second=native(simulated()))
    broken = row_of(page, "broken.jsonl")
    expect(broken.get_by_role("alert")).to_contain_text("Line 1")
    expect(broken).to_contain_text("upload it again")
    for name in ("first.jsonl", "second.jsonl"):
        expect(row_of(page, name).get_by_role("link", name="open")).to_be_visible(timeout=60_000)
    expect(page.locator("#list")).to_contain_text("second.jsonl")
    assert page.url.endswith("/")
    expect(broken.locator(".excerpt")).to_contain_text('"format":"cutline","version":1')
    for name in ("broken.jsonl", "first.jsonl"):
        page.get_by_role("button", name=f"Dismiss {name}").click()
    expect(page.locator(".upload-row:not([data-unfinished])")).to_have_count(1)


def test_a_page_opened_during_the_job_goes_on_by_itself(stack, page):
    page.goto("/")
    log = simulated(events=20_000, snapshots=((8_000, ("p1",)), (90_000, ("p2",))))
    answer = page.request.post(
        "/api/recordings",
        multipart={"file": a_file("long.jsonl", native(log))},
        headers={"X-CSRFToken": page.locator("[name=csrfmiddlewaretoken]").first.input_value()},
    )
    page.goto(f"/recordings/{answer.json()['id']}")
    page.locator("#workbench").wait_for(timeout=60_000)


def test_a_queued_job_can_be_cancelled_where_it_is_shown(server, page):
    number = a_waiting_job(server)
    page.goto(f"/jobs/{number}")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-job-state]")).to_have_text("cancelled")


def a_waiting_job(server) -> int:
    """Make a job that no worker takes for some minutes, and return its id."""
    code = (
        "from django.utils import timezone; "
        "from snapshots.jobs.postponing import LONGEST_PAUSE; "
        "from django.contrib.auth.models import User; "
        "from snapshots.models import Job, Recording; "
        "owner = User.objects.get(username='owner@localhost'); "
        "recording = Recording.objects.create(owner=owner, name='waiting'); "
        "print(Job.objects.create(kind='ingest', owner=owner, recording=recording, "
        "retry_at=timezone.now() + LONGEST_PAUSE).pk)"
    )
    return int(server.manage("shell", "--verbosity", "0", "-c", code))


@pytest.fixture
def plain(browser, server, signed_in_state):
    """Return a page without JavaScript."""
    context = browser.new_context(
        base_url=server.url, storage_state=signed_in_state, java_script_enabled=False
    )
    yield context.new_page()
    context.close()


def test_without_javascript_the_form_does_the_same(stack, plain):
    plain.goto("/")
    plain.set_input_files("#upload-file", a_file("plain.jsonl", native(two_banks())))
    plain.get_by_role("button", name="Upload").click()
    expect(plain).to_have_url(re.compile(r"/recordings/\d+$"))
    expect(plain.get_by_role("heading", level=1)).to_contain_text("plain.jsonl")


def test_without_javascript_a_refused_file_is_explained(server, plain):
    plain.goto("/")
    plain.set_input_files("#upload-file", a_file("bad.jsonl", BAD))
    plain.get_by_role("button", name="Upload").click()
    expect(plain.get_by_role("alert")).to_contain_text("bad.jsonl")
    expect(plain.get_by_role("alert")).to_contain_text("line 1")

"""The lists in a browser, and a picture of every page for the documentation."""

import re
from itertools import product

import pytest
from playwright.sync_api import expect

from snapshots.readers.logs.native import write_lines
from tests.builders import simulated
from tests.conftest import watch_for_errors
from tests.damage import record_late
from tests.stack import PICTURES

FURNISH = """
from datetime import timedelta
from django.contrib.auth.models import User
from django.utils import timezone
from snapshots.models import Job, Recording
from snapshots.services.topologies import save_topology
owner = User.objects.get(username="owner@localhost")
now = timezone.now()
sentence = 'The channel "A->C" is not in the header. Is its id spelled as there?'
refused = Recording.objects.create(
    owner=owner, name="payments.jsonl", source_name="payments.jsonl", format="cutline", size=4512,
    status="refused", defects_total=2,
    error={"title": "The input was refused", "line": 17, "field": "channel",
           "detail": f"Line 17: {sentence}"},
    defects=[
        {"code": "unknown-channel", "severity": "refused", "line": 17, "field": "channel",
         "sentence": sentence, "count": 1},
        {"code": "clock-skew", "severity": "kept", "line": 30, "field": "at", "count": 3,
         "sentence": '3 receives on "A->B" lie in time before the send.'}])
running = Recording.objects.create(owner=owner, name="checkpoints of friday", format="cutline",
    source_name="friday.jsonl.zst", size=812_345_678, status="running")
job = Job.objects.create(owner=owner, kind="ingest", state="running", recording=running,
    phase="matching messages", done=4_200_000, total=10_000_000, rate=412_345, progress=0.42,
    attempt=1, started_at=now - timedelta(seconds=10), heartbeat_at=now + timedelta(hours=1))
topology = save_topology(owner, {"name": "five banks",
    "processes": [{"id": name, "state": 1000} for name in "ABCDE"],
    "channels": [list(ends) for ends in ("AB", "BA", "BC", "CD", "DE", "EA", "AD")]})
banks = Recording.objects.get(slug="two-banks")
pressed = Recording.objects.get(slug="back-pressure")
twice = Recording.objects.get(slug="counted-twice")
print(refused.pk, running.pk, job.pk, topology.pk, banks.pk, pressed.pk, twice.pk)
"""


@pytest.fixture(scope="module")
def furnished(samples, browser, signed_in_state):
    """Return the address of one page of each kind, by the name of its picture."""
    late = upload(samples, browser, signed_in_state, record_late(simulated()).log)
    found = samples.manage("shell", "--verbosity", "0", "-c", FURNISH).split()
    refused, running, job, topology, banks, pressed, twice = found
    return {
        "recordings": "/",
        "progress": f"/recordings/{running}",
        "refused": f"/recordings/{refused}",
        "defects": f"/recordings/{refused}/defects",
        "snapshot": f"/recordings/{banks}/snapshots/s1",
        "snapshot-inconsistent": f"/recordings/{late}/snapshots/s1",
        "proof": f"/recordings/{banks}/proof?snapshot=s1",
        "properties": f"/recordings/{banks}/properties?property=conservation",
        "properties-refused": f"/recordings/{banks}/properties?expression=A+%2B",
        "predicates": f"/recordings/{banks}/predicates",
        "checkpoints": f"/recordings/{twice}/checkpoints",
        "checkpoint": f"/recordings/{pressed}/checkpoints?checkpoint=1",
        "compare": f"/compare?recordings={twice},{pressed}",
        "learn": "/learn",
        "topologies": "/topologies",
        "topology": f"/topologies/{topology}",
        "topology-new": "/topologies/new",
        "jobs": "/jobs",
        "job": f"/jobs/{job}",
        "account": "/account",
        "rename": f"/recordings/{late}/rename",
        "delete": f"/recordings/{late}/delete",
        "not-found": "/recordings/999999",
    }


def upload(stack, browser, state, log) -> int:
    context = browser.new_context(base_url=stack.url, storage_state=state)
    page = context.new_page()
    page.goto("/")
    content = b"".join(write_lines(log.header, log.events))
    file = {"name": "a snapshot taken late.jsonl", "mimeType": "text/plain", "buffer": content}
    page.set_input_files("#upload-file", file)
    page.wait_for_url(re.compile(r"/recordings/\d+"), timeout=60_000)
    number = int(re.search(r"/recordings/(\d+)", page.url).group(1))
    context.close()
    return number


def test_the_list_is_filtered_and_sorted_in_place(furnished, page):
    page.goto("/")
    page.evaluate("window.sameDocument = true")
    page.get_by_label("Filter recordings").fill("friday")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=friday"))
    page.get_by_label("Filter recordings").fill("")
    page.get_by_role("link", name="Size").click()
    expect(page.get_by_role("columnheader", name="Size")).to_have_attribute(
        "aria-sort", "descending"
    )
    expect(page.locator("#list tbody tr").first).to_contain_text("checkpoints of friday")
    page.get_by_label("Filter recordings").fill("o")
    expect(page).to_have_url(re.compile("q=o"))
    expect(page).to_have_url(re.compile("sort=-size"))
    assert page.evaluate("window.sameDocument")


def test_the_header_of_a_long_list_stays_in_view(furnished, page):
    page.goto("/")
    head = page.locator("#list thead th").first
    assert head.evaluate("cell => getComputedStyle(cell).position") == "sticky"


@pytest.mark.parametrize(("scheme", "width"), list(product(("light", "dark"), (1280, 390))))
def test_every_page_is_pictured(furnished, browser, server, signed_in_state, scheme, width):
    PICTURES.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(
        base_url=server.url,
        storage_state=signed_in_state,
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
    )
    page = context.new_page()
    errors = watch_for_errors(page)
    for name, address in furnished.items():
        page.goto(address)
        if name == "checkpoint":
            page.locator("[data-gantt] .bars path").first.wait_for(state="attached")
        if name == "proof" and page.get_by_role("button", name="Reorder the run").count():
            page.get_by_role("button", name="Reorder the run").click()
        if name == "proof":
            page.locator("#proof.is-ready").wait_for()
        if name.startswith("snapshot"):
            page.wait_for_function("document.querySelector('[data-timeline] .scatterlayer path')")
        page.evaluate("document.fonts.ready")
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, f"{name} is {wider} px too wide at {width}"
        page.screenshot(path=PICTURES / f"{name}-{scheme}-{width}.png")
    context.close()
    assert not errors, errors

"""Texts that try to run, in every place that takes text: no page of them does anything."""

import re
from dataclasses import asdict
from functools import cache
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.conftest import watch_for_errors
from tests.each_time import mostly_long
from tests.hostile.payloads import ADDRESS, ALL, CSS, DIRECTION, HANDLER, SCRIPT, SVG
from tests.hostile.places import FIRST_OF_EACH, PLACES, Form, log_of
from tests.webapp.over_http import Api

# The places whose texts most templates show are walked each time: a log, and notes. The other
# places show their texts with the same parts, and are for the long run.
EACH_TIME = {"recording", "notes"}
CANARY = "window.canary = (text) => console.error(`a payload ran: ${text}`);"
# What a payload would leave behind: elements and attributes that no page of ours has.
TRACES = r"""() => {
  const faults = [];
  const wrong = "iframe, frame, embed, object, base, meta[http-equiv], template, marquee, math, "
    + "audio, video, [srcdoc], [ping], [style*=url], [hx-on\\:click]";
  for (const each of document.querySelectorAll(wrong)) faults.push(each.outerHTML.slice(0, 200));
  for (const each of document.querySelectorAll("*")) {
    for (const { name } of each.attributes) {
      if (/^on/i.test(name)) faults.push(`${name} of ${each.outerHTML.slice(0, 200)}`);
    }
  }
  for (const { protocol, outerHTML } of document.links) {
    if (!["http:", "https:"].includes(protocol)) faults.push(outerHTML.slice(0, 200));
  }
  for (const { action, outerHTML } of document.forms) {
    const own = new URL(String(action), location.href).origin === location.origin;
    if (typeof action === "string" && !own) faults.push(outerHTML.slice(0, 200));
  }
  const texts = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("script, style, textarea")) continue;
    if (/[\u202a-\u202e\u2066-\u2069]/.test(node.data)) faults.push(`direction: ${node.data}`);
  }
  return faults;
}"""

SEND = """({ address, fields, files }) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: address, enctype: "multipart/form-data" });
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  for (const [name, value] of Object.entries({ ...fields, csrfmiddlewaretoken: token })) {
    const field = document.createElement("textarea");
    form.append(Object.assign(field, { name, value }));
  }
  if (files.length) {
    const chosen = new DataTransfer();
    for (const [name, content] of files) chosen.items.add(new File([content], name));
    const field = Object.assign(document.createElement("input"), { type: "file", name: "file" });
    field.files = chosen.files;
    form.append(field);
  }
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
}"""


# People whose names are payloads come into the room of a recording, and point at its processes.
LOOK_TOGETHER = """
import asyncio
from channels.layers import get_channel_layer
from snapshots.domain.reviewing import floor
from snapshots.jobs import live
from snapshots.web.together.shared import Member, SharedRoom
async def come():
    room = SharedRoom("recording.{number}")
    people = [
        Member(100_000 + n, name, name, True, {number}, at=1.0) for n, name in enumerate({names!r})
    ]
    await room.beat(people)
    await room.change_floor(lambda now, here, at: floor.take(now, people[0].seat, here, at))
    layer, group = get_channel_layer(), live.room_group("recording.{number}")
    await layer.group_send(group, {{"type": "room.changed"}})
    for each in people:
        by = {{"person": each.person, "name": each.name, "page": each.page, "recording": {number}}}
        for at in ({{"axis": "time", "at": 9, "process": each.name}}, {{"channel": each.name}}):
            await layer.group_send(group, {{"type": "pointed", "pointer": at | by}})
asyncio.run(come())
"""


@pytest.fixture(scope="module")
def planted(stack, shared_data):
    """Return a function that plants the payloads of a place once, and gives the addresses."""
    api = Api(stack)
    return cache(lambda place: PLACES[place](api, shared_data))


@pytest.fixture
def watched(browser, server, signed_in_state):
    """Provide a page with the canary, and what happened on it that must not happen."""
    context = browser.new_context(base_url=server.url, storage_state=signed_in_state)
    page = context.new_page()
    page.add_init_script(CANARY)
    happened = watch_for_errors(page)

    def note_request(request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https", "ws") and address.port != server.port:
            happened.append(f"a request to {request.url}")

    def note_dialog(dialog) -> None:
        happened.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", note_request)
    page.on("dialog", note_dialog)
    page.on("popup", lambda popup: happened.append(f"a window: {popup.url}"))
    yield page, happened
    context.close()


def test_there_are_enough_different_payloads():
    assert len(set(ALL)) >= 150


@pytest.mark.parametrize("payload", [HANDLER[0], SVG[0], CSS[3], ADDRESS[17], DIRECTION[0]])
def test_a_payload_that_got_through_would_be_seen(watched, payload):
    page, happened = watched
    page.goto("/account")
    page.evaluate("text => document.body.insertAdjacentHTML('beforeend', text)", payload)
    page.evaluate("() => new Promise((done) => setTimeout(done))")  # the policy tells in a task
    assert happened or page.evaluate(TRACES)


@pytest.mark.parametrize("place", mostly_long(PLACES, EACH_TIME))
def test_no_text_does_anything_on_a_page(planted, watched, place):
    page, happened = watched
    faults = []
    for address in planted(place):
        answer = sent(page, address) if isinstance(address, Form) else page.goto(address)
        assert answer.status < 500, address
        look_around(page)
        faults += [f"{address}: {fault}" for fault in [*page.evaluate(TRACES), *happened]]
        happened.clear()
    assert not faults, "\n".join(faults)


@pytest.mark.long
def test_no_name_of_somebody_who_looks_on_does_anything(stack, watched):
    page, happened = watched
    number = Api(stack).ingested(log_of(FIRST_OF_EACH), "together.jsonl")
    page.goto(f"/recordings/{number}")
    page.locator("#workbench.is-ready").wait_for()
    stack.manage(
        *("shell", "--verbosity", "0", "-c"),
        LOOK_TOGETHER.format(number=number, names=FIRST_OF_EACH),
    )
    people = page.locator("#wb-people")
    people.locator("summary").click()
    expect(people.locator("li")).to_have_count(1 + len(FIRST_OF_EACH))
    expect(people).to_contain_text(SCRIPT[0])
    expect(page.locator("#wb-pointed")).not_to_be_empty()
    assert not [*page.evaluate(TRACES), *happened]


def test_an_exported_picture_of_such_names_holds_text_alone(planted, watched):
    page, happened = watched
    page.goto(planted("recording")[0])
    page.locator("#workbench.is-ready").wait_for()
    section = page.locator("[data-panel=spacetime]")
    section.get_by_label("Download this chart").click()
    with page.expect_download() as saved:
        section.get_by_role("button", name="Download as SVG").click()
    picture = ElementTree.parse(saved.value.path()).getroot()
    names = {element.tag.rpartition("}")[2] for element in picture.iter()}
    assert "text" in names
    assert not names & {"script", "foreignObject", "iframe", "a", "animate", "set"}
    pictures = [each for each in picture.iter() if each.tag.endswith("}image")]
    hrefs = {value for each in pictures for name, value in each.attrib.items() if "href" in name}
    assert all(href.startswith("data:image/png;base64,") for href in hrefs)
    attributes = [name for element in picture.iter() for name in element.attrib]
    assert not [name for name in attributes if name.lower().startswith("on")]
    assert "canary" in "".join(picture.itertext())
    assert not happened


def sent(page, form: Form):
    """Send a form as a browser does, and return the answer."""
    page.goto("/")
    with page.expect_navigation() as navigation:
        page.evaluate(SEND, asdict(form))
    return navigation.value


def look_around(page) -> None:
    """Let the page draw all that it draws for somebody who points at it."""
    if page.locator("#workbench").count():
        page.locator("#workbench.is-ready").wait_for()
        page.locator("#wb-topology .main-svg").first.wait_for()
        page.keyboard.press("t")
        page.keyboard.press("/")
        page.keyboard.type("<")
        page.locator(".palette-count").filter(has_text=re.compile(r"\d")).wait_for()
        page.keyboard.press("Enter")
    for figure in page.locator(".figure").all():
        figure.hover()
        figure.locator("> canvas").wait_for(state="hidden")
    for figure in page.locator("[data-map]").all():
        figure.hover()
        page.locator(".byte-plot .main-svg").first.wait_for()

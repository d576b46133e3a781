"""People who look at the same recording at the same time, each in a browser of their own."""

import statistics
import time

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.together import make_team
from tests.conftest import watch_for_errors
from tests.stack import PICTURES

PATIENCE_SECONDS = 10

# Notes each new text of the readout, the play button and the snapshot, with the time of day.
NOTE = """() => {
  window.seen = [];
  const text = () => [
    document.querySelector("#wb-readout").textContent,
    document.querySelector("#wb-play").getAttribute("aria-label"),
    document.querySelector(".wb-chip[aria-current], .wb-chip.is-chosen")?.textContent ?? "",
    document.querySelector("#wb-rate").textContent,
    document.querySelectorAll(".is-folded").length,
  ].join("|");
  const look = () => {
    const now = text();
    if (window.seen.at(-1)?.[1] !== now) window.seen.push([Date.now(), now]);
    requestAnimationFrame(look);
  };
  look();
}"""
# Notes each new place of the cursor, in ten thousandths of the recording, with the time of day.
TRACE = """() => {
  window.trace = [];
  const look = () => {
    const place = Number(document.querySelector("#wb-scrub").value);
    if (window.trace.at(-1)?.[1] !== place) window.trace.push([Date.now(), place]);
    requestAnimationFrame(look);
  };
  look();
}"""
# Notes when the page says that its connection has ended.
NOTE_END = """() => {
  window.endedAt = null;
  new MutationObserver(() => { window.endedAt ??= Date.now(); })
    .observe(document.querySelector(".messages"), { childList: true });
}"""


@pytest.fixture
def team(server):
    return make_team(server, "ada", "bob", "commenter-eve")


@pytest.fixture
def opened(browser, server, team):
    """Return a function that opens the recording for a person. Errors in a page fail the test."""
    contexts, errors = [], []

    def open_for(name: str, address: str = team.address, **options):
        state = team.state(name, server)
        size = {"viewport": {"width": 1280, "height": 800}}
        context = browser.new_context(base_url=server.url, storage_state=state, **(size | options))
        contexts.append(context)
        page = context.new_page()
        errors.append(watch_for_errors(page))
        page.goto(address)
        page.locator("#workbench.is-ready").wait_for()
        return page

    yield open_for
    for context in contexts:
        context.close()
    assert [line for lines in errors for line in lines if "ERR_INTERNET" not in line] == []


def bar(page):
    return page.locator("#wb-together")


def same_text(leader, follower) -> None:
    """Wait until both pages say one moment. The leader's own page may still be moving there."""
    readouts = [page.locator("#wb-readout") for page in (leader, follower)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len({readout.inner_text() for readout in readouts}) > 1:
        assert time.monotonic() < deadline, [readout.inner_text() for readout in readouts]
        leader.wait_for_timeout(20)


def delays(leader, follower) -> list[int]:
    """Return after how many ms each state of the leader was seen on the follower's page."""
    seen = {text: at for at, text in reversed(follower.evaluate("window.seen"))}
    return [seen[text] - at for at, text in leader.evaluate("window.seen") if text in seen]


def test_two_browsers_stay_together(opened, server, team, capsys):
    ada, bob = opened("ada"), opened("bob")
    eve = opened("commenter-eve", viewport={"width": 390, "height": 800})
    expect(ada.locator("#wb-people summary")).to_have_attribute(
        "aria-label", "3 people here. Show who"
    )
    ada.keyboard.press("e")
    expect(bar(ada)).to_contain_text("You present.")
    expect(bar(bob)).to_contain_text("ada presents. Press r to follow.")
    bob.keyboard.press("r")
    expect(bar(bob)).to_contain_text("You follow ada.")
    expect(bar(ada)).to_contain_text("1 person follows.")
    steps_are_followed(ada, bob, capsys)
    playing_is_followed(ada, bob, capsys)
    a_move_of_ones_own_ends_following(ada, bob)
    a_lost_network_is_caught_up_with(ada, bob)
    the_floor_is_handed_over(ada, bob)
    a_commenter_moves_nobody(eve, ada)
    a_pointer_is_seen(bob, ada)
    the_removed_lose_their_socket(server, team, eve, capsys)


@pytest.mark.long
def test_a_follower_in_a_review_goes_to_the_recording_of_the_presenter(opened, team):
    ada = opened("ada", f"/recordings/{team.recording}?review={team.review}")
    bob = opened("bob", f"/recordings/{team.other}?review={team.review}")
    expect(bob.locator("#wb-people")).to_be_visible()
    ada.keyboard.press("e")
    expect(bar(bob)).to_contain_text("ada presents.")
    bob.keyboard.press("r")
    bob.wait_for_url(f"**/recordings/{team.recording}?*review={team.review}*")
    expect(bar(bob)).to_contain_text("You follow ada.")
    ada.keyboard.press("End")
    same_text(ada, bob)


def steps_are_followed(ada, bob, capsys) -> None:
    for page in (ada, bob):
        page.evaluate(NOTE)
    for key in ("ArrowRight", "ArrowRight", "w", "w", "Shift+ArrowRight", "]", "i", "End", "Home"):
        ada.keyboard.press(key)
        ada.wait_for_timeout(300)
    ada.get_by_label("Fold Process states").press("Enter")
    ada.keyboard.press("c")
    expect(ada.locator(".wb-handle:focus")).to_have_count(1)
    expect(bob.locator(".wb-tab.is-folded")).to_have_count(1)
    expect(bob.locator("#wb-verdict")).to_have_text(ada.locator("#wb-verdict").text_content())
    ada.keyboard.press("Escape")
    expect(ada.locator(".wb-handle:focus")).to_have_count(0)
    same_text(ada, bob)
    expect(bar(bob)).to_contain_text("You follow ada.")
    found = delays(ada, bob)
    assert len(found) >= 6
    with capsys.disabled():
        print(f"\nsteps followed after {sorted(found)} ms")


def playing_is_followed(ada, bob, capsys) -> None:
    ada.keyboard.press("Home")
    ada.keyboard.press("Space")
    expect(bob.locator("#wb-play")).to_have_attribute("aria-label", "Pause")
    for page in (ada, bob):
        page.evaluate(TRACE)
    ada.wait_for_timeout(2500)
    offsets = apart(*[page.evaluate("window.trace") for page in (ada, bob)])
    with capsys.disabled():
        median = statistics.median(offsets)
        print(f"playing, apart by a median of {median:.0f} ms, at most {max(offsets):.0f} ms")
    ada.keyboard.press("Space")
    expect(bob.locator("#wb-play")).to_have_attribute("aria-label", "Play")
    same_text(ada, bob)


def apart(ours: list, theirs: list) -> list[float]:
    """Return by how many ms of playing two pages differed, at the times at which one changed."""
    (times, places), (their_times, their_places) = (
        zip(*trace, strict=True) for trace in (ours, theirs)
    )
    a_ms = (places[-1] - places[0]) / (times[-1] - times[0])
    both = [
        (time, place)
        for time, place in zip(times, places, strict=True)
        if their_times[0] <= time <= their_times[-1]
    ]
    return [
        abs(place - float(np.interp(time, their_times, their_places))) / a_ms
        for time, place in both
    ]


def a_move_of_ones_own_ends_following(ada, bob) -> None:
    bob.keyboard.press("ArrowRight")
    expect(bob.locator("#wb-message")).to_contain_text("You have stopped following, because")
    expect(bar(ada)).to_contain_text("Nobody follows yet.")
    expect(bob.locator(".wb-tab.is-folded")).to_have_count(0)  # the own panels are back
    ada.keyboard.press("End")
    bob.keyboard.press("r")
    same_text(ada, bob)
    expect(bob.locator(".wb-tab.is-folded")).to_have_count(1)


def a_lost_network_is_caught_up_with(ada, bob) -> None:
    bob.context.set_offline(True)
    expect(bob.locator("#wb-lost")).to_contain_text("What you see may be old.")
    ada.keyboard.press("Home")
    ada.keyboard.press("w")
    bob.context.set_offline(False)
    expect(bob.locator("#wb-lost")).to_be_empty()
    same_text(ada, bob)
    expect(bar(bob)).to_contain_text("You follow ada.")
    ada.context.set_offline(True)
    expect(bar(bob)).to_contain_text("The connection of the presenter is lost.")
    ada.context.set_offline(False)
    expect(bar(ada)).to_contain_text("You present.")
    ada.keyboard.press("ArrowRight")
    same_text(ada, bob)


def the_floor_is_handed_over(ada, bob) -> None:
    bob.get_by_role("button", name="Ask to present").click()
    expect(bar(ada)).to_contain_text("bob asks to present. Press y to hand over.")
    ada.keyboard.press("y")
    expect(bar(bob)).to_contain_text("You present.")
    expect(ada.locator("#wb-message")).to_contain_text("bob presents now.")
    ada.keyboard.press("r")
    bob.keyboard.press("End")
    expect(bob.locator("#wb-readout")).to_contain_text("event 20 / 20")
    same_text(bob, ada)


def a_commenter_moves_nobody(eve, ada) -> None:
    before = ada.locator("#wb-readout").inner_text()
    eve.keyboard.press("e")
    expect(eve.locator("#wb-message")).to_contain_text("takes an editor")
    eve.keyboard.press("Home")
    expect(bar(eve)).to_contain_text("bob presents.")
    ada.wait_for_timeout(300)
    expect(ada.locator("#wb-readout")).to_have_text(before)


def a_pointer_is_seen(bob, ada) -> None:
    box = bob.locator("#wb-spacetime-moving").bounding_box()
    bob.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    bob.keyboard.down("h")
    expect(ada.locator(".wb-pointer").first).to_be_visible()
    expect(ada.locator("#wb-pointed")).to_contain_text("bob points at")
    PICTURES.mkdir(parents=True, exist_ok=True)
    ada.screenshot(path=PICTURES / "together-light-1280.png")
    bob.keyboard.up("h")
    expect(ada.locator(".wb-pointer")).to_have_count(0)


def the_removed_lose_their_socket(server, team, eve, capsys) -> None:
    eve.evaluate(NOTE_END)
    code = (
        "import time; from webapp.teams import services;"
        "from webapp.teams.models import Membership;"
        f"row = Membership.objects.get(team={team.team}, person={team.people['commenter-eve']});"
        "services.remove(row, row.team.account); print(time.time() * 1000)"
    )
    removed_at = float(server.manage("shell", "--verbosity", "0", "-c", code))
    expect(eve.locator(".messages")).to_contain_text("belongs to someone else")
    with capsys.disabled():
        print(f"the socket closed {eve.evaluate('window.endedAt') - removed_at:.0f} ms later")

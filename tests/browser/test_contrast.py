"""The words on buttons can be read, also while a button is pressed, pointed at, or both."""

import re

import pytest

ENOUGH = 4.5

CONTRASTS = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((n) => n / 255);
  };
  const over = (top, below) =>
    top.map((n, i) => (i < 3 ? n * top[3] + below[i] * (1 - top[3]) : 1));
  const ground = (element) => {
    if (!element) return [1, 1, 1, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(element.parentElement));
  };
  const light = (rgb) => rgb.slice(0, 3)
    .map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4))
    .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
  return [...document.querySelectorAll("[data-tried]")].map((button) => {
    const below = ground(button);
    const text = over(rgba(getComputedStyle(button).color), below);
    const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
    const name = button.getAttribute("aria-label") ?? button.textContent.trim();
    return [`${name} (${button.className})`, (a + 0.05) / (b + 0.05)];
  });
}"""

MARK = """() => {
  for (const button of document.querySelectorAll("button, .btn, [role=tab], summary")) {
    const isSeen = button.checkVisibility() && !button.disabled && button.textContent.trim();
    const kind = button.hasAttribute("aria-pressed") ? "toggle" : "";
    if (isSeen) button.setAttribute("data-tried", kind);
  }
  const still = new CSSStyleSheet();
  still.replaceSync("* { transition: none !important; }");
  document.adoptedStyleSheets.push(still);
}"""

PRESS = """() => {
  for (const button of document.querySelectorAll("[data-tried]")) {
    if (button.dataset.tried === "toggle") button.setAttribute("aria-pressed", "true");
    else button.removeAttribute("data-tried");
  }
}"""
RELEASE = """() => {
  for (const button of document.querySelectorAll("[data-tried=toggle]")) {
    button.setAttribute("aria-pressed", "false");
  }
}"""


def force(session, states: list[str]) -> None:
    """Let the browser style every tried button as if it were in these states, such as hover."""
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    asked = {"nodeId": root, "selector": "[data-tried]"}
    for node in session.send("DOM.querySelectorAll", asked)["nodeIds"]:
        session.send("CSS.forcePseudoState", {"nodeId": node, "forcedPseudoClasses": states})


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_on_buttons_can_be_read_in_every_state(samples, page, scheme):
    page.emulate_media(color_scheme=scheme)
    session = page.context.new_cdp_session(page)
    session.send("DOM.enable")
    session.send("CSS.enable")
    page.goto("/")
    workbench = page.get_by_role("link", name=re.compile("two banks", re.I)).first
    addresses = [workbench.get_attribute("href"), "/", "/topologies"]
    faint = []
    for address in addresses:
        page.goto(address)
        if address == addresses[0]:
            page.locator("#workbench.is-ready").wait_for()
            page.locator(".wb-head summary.btn").first.click()
        page.evaluate(MARK)
        for pressed in (False, True):
            page.evaluate(PRESS if pressed else RELEASE)
            for states in ([], ["hover"], ["hover", "active"], ["focus-visible", "focus"]):
                force(session, states)
                contrasts = page.evaluate(CONTRASTS)
                assert contrasts or pressed
                faint += [
                    f"{address} {name}, pressed {pressed}, {states}: {ratio:.2f}"
                    for name, ratio in contrasts
                    if ratio < ENOUGH
                ]
    assert not faint

"""The keyboard alone is enough: what can be pressed is reached, the focus is seen, and menus close.

Arrow keys reach the items of a group of which Tab reaches one. Pictures of the workbench are left
out: they take no focus, for the commands of the page move, choose and zoom what they show.
"""

import pytest
from playwright.sync_api import expect

from tests.browser.every_page import ADDRESSES
from tests.browser.test_every_page import open_page
from tests.conftest import watch_for_errors

QUICK = {"review", "sharing", "workbench"}
MOST_TABS = 600
# What reacts to the pointer: what looks like it, and what listens to clicks itself.
LISTEN = """() => {
  const { addEventListener } = EventTarget.prototype;
  window.clickable = new Set();
  const kinds = ["click", "pointerdown", "mousedown", "dblclick"];
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (kinds.includes(kind)) window.clickable.add(this);
    return addEventListener.call(this, kind, ...rest);
  };
}"""
TOOLS = """() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex], iframe";
  const GROUPS = ["tablist", "listbox", "tree", "grid", "menu", "toolbar", "radiogroup"]
    .map((role) => `[role=${role}]`).join();
  // Pictures that the commands of the page move, and lines whose rows stand in a table beside them.
  const BY_OTHER_KEYS = ".js-plotly-plot, .workbench canvas, .flow-edge";
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true })
    && [...element.getClientRects()].some(({ width, height }) => width && height);
  const nameOf = (element) => element.cloneNode(false).outerHTML?.slice(0, 160) ?? String(element);
  const canFocus = (element) => element.matches(CONTROLS) && !element.disabled
    && element.tabIndex >= 0 && isSeen(element);
  // One item of a group that moves its tabindex stands for all that the arrow keys reach.
  const isRoving = (element) => element.tabIndex < 0
    && element.parentElement?.closest(GROUPS)?.querySelector("[tabindex='0']");
  const isReached = (element) => canFocus(element) || isRoving(element);
  const reaches = (element) => {
    for (let up = element; up; up = up.parentElement) if (isReached(up)) return true;
    const label = element.closest("label");
    if (label?.control && isSeen(label.control)) return true;
    return [...element.querySelectorAll(CONTROLS)].some(isReached);
  };
  const looks = () => [...document.body.querySelectorAll("*")].filter((element) =>
    getComputedStyle(element).cursor === "pointer"
    && getComputedStyle(element.parentElement).cursor !== "pointer");
  const listens = () => [...window.clickable].filter((element) =>
    element instanceof Element && element !== document.body && element !== document.documentElement
    && document.contains(element));
  const unreachable = () => [...new Set([...looks(), ...listens()])]
    .filter((element) => isSeen(element) && !element.closest(BY_OTHER_KEYS) && !element.disabled
      && element.getAttribute("aria-disabled") !== "true" && !element.closest("[inert]"))
    .filter((element) => !reaches(element))
    .map((element) => `not reached by a key: ${nameOf(element)}`);
  const parts = (element) => [element, element.closest("label"), ...element.children]
    .filter(Boolean);
  const styleOf = (element) => parts(element).map((part) => {
    const { outlineStyle, outlineWidth, boxShadow, stroke, strokeWidth } = getComputedStyle(part);
    const { backgroundColor, borderColor } = getComputedStyle(part);
    const outline = outlineStyle === "none" ? "none" : `${outlineStyle} ${outlineWidth}`;
    return [outline, boxShadow, stroke, strokeWidth, backgroundColor, borderColor].join("; ");
  }).join(" | ");
  const invisible = () => {
    const problems = [];
    const controls = [...document.querySelectorAll(CONTROLS)].filter(canFocus);
    for (const element of controls) {
      document.activeElement.blur();
      const before = styleOf(element);
      element.focus({ preventScroll: true, focusVisible: true });
      if (document.activeElement === element && styleOf(element) === before) {
        problems.push(`its focus is not seen: ${nameOf(element)}`);
      }
      if (element.tabIndex > 0) problems.push(`comes before its turn: ${nameOf(element)}`);
    }
    document.activeElement.blur();
    return problems;
  };
  const active = () => {
    const element = document.activeElement;
    return element === document.body ? null : nameOf(element);
  };
  // The parts of a date and of a time of day are stops of their own.
  const hasParts = (element) => /^(date|time)/.test(element.type ?? "");
  const sameAsBefore = () => {
    const { activeElement, body } = document;
    const isSame = window.lastActive === activeElement;
    window.lastActive = activeElement;
    return isSame && activeElement !== body && !hasParts(activeElement);
  };
  window.keys = { unreachable, invisible, active, sameAsBefore };
}"""


@pytest.fixture(scope="module")
def walker(browser, server, signed_in_state):
    """Provide one page that goes from address to address and notes what listens to clicks."""
    context = browser.new_context(base_url=server.url, storage_state=signed_in_state)
    page = context.new_page()
    page.add_init_script(f"({LISTEN})()")
    errors = watch_for_errors(page)
    yield page
    context.close()
    assert not errors


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.long)
        for name in ADDRESSES
        if name != "api"  # thousands of fields of one kind
    ],
)
def test_keys_reach_everything_on_a_page(furnished, walker, name):
    open_page(walker, name, furnished[name])
    walker.evaluate(f"({TOOLS})()")
    walker.keyboard.press("Tab")  # from now on, the browser shows the focus
    problems = [
        *walker.evaluate("keys.unreachable()"),
        *walker.evaluate("keys.invisible()"),
        *stuck(walker),
        *menus_that_stay(walker),
    ]
    assert not problems, "\n".join(problems)


def stuck(page) -> list[str]:
    """Press Tab until it leaves the page. Return the element that does not let it go on."""
    page.evaluate("window.lastActive = null")
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("keys.sameAsBefore()"):
            return [f"Tab does not leave: {page.evaluate('keys.active()')}"]
        if page.evaluate("keys.active()") is None:
            return []
    return [f"Tab has not come round after {MOST_TABS} times: {page.evaluate('keys.active()')}"]


def menus_that_stay(page) -> list[str]:
    """Open each menu with Enter and press Escape. Return those that stay or lose the focus."""
    problems = []
    for menu in page.locator("details.menu:visible").all():
        summary = menu.locator("> summary")
        summary.focus()
        page.keyboard.press("Enter")
        words = summary.evaluate("it => it.textContent.trim() || it.ariaLabel")
        if not menu.evaluate("it => it.open"):
            problems.append(f"Enter does not open the menu {words}")
            continue
        if menu.locator("a, button, input, select").count():
            page.keyboard.press("Tab")
        page.keyboard.press("Escape")
        if menu.evaluate("it => it.open"):
            problems.append(f"Escape does not close the menu {words}")
            menu.evaluate("it => { it.open = false; }")
        elif not summary.evaluate("it => it === document.activeElement"):
            problems.append(f"the menu {words} does not give the focus back")
    return problems


# A dialog by its page, what is pressed from where, where the focus goes back to, and the dialog.
SHARE, FIND = "summary:text-is('Share')", "[data-command=find]"
DIALOGS = {
    "keys": ("workbench", FIND, ["?"], FIND, "#wb-help"),
    "find": ("workbench", FIND, ["Enter"], FIND, "dialog.palette"),
    "commands": ("workbench", FIND, ["Control+k"], FIND, "dialog.palette"),
    "view": ("workbench", SHARE, ["Enter", "Tab", "Tab", "Enter"], SHARE, "dialog.sharing-dialog"),
    "page": ("snapshot", "a[data-share]", ["Enter"], "a[data-share]", "dialog.sharing-dialog"),
}


@pytest.mark.parametrize("dialog", DIALOGS)
def test_a_dialog_closes_on_escape_and_gives_the_focus_back(furnished, walker, dialog):
    name, opener, keys, after, shown = DIALOGS[dialog]
    open_page(walker, name, furnished[name])
    walker.locator(opener).first.focus()
    for key in keys:
        walker.keyboard.press(key)
    expect(walker.locator(shown)).to_be_visible()
    walker.keyboard.press("Escape")
    expect(walker.locator(shown)).to_be_hidden()
    expect(walker.locator(after).first).to_be_focused()


def test_handles_of_the_workbench_move_by_arrow_keys(furnished, walker):
    open_page(walker, "workbench", furnished["workbench"])
    walker.keyboard.press("c")
    walker.get_by_role("slider", name="Cut at A", exact=True).wait_for()
    for role in ("separator", "slider"):
        handles = walker.locator(f".workbench [role={role}][aria-label]:visible").all()
        assert handles
        for handle in handles:
            handle.focus()
            before = handle.get_attribute("aria-valuenow")
            moved = set()
            for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
                handle.press(key)
                walker.evaluate("() => new Promise((drawn) => requestAnimationFrame(drawn))")
                moved.add(handle.get_attribute("aria-valuenow"))
            assert moved != {before}, handle.get_attribute("aria-label")


def test_handles_of_a_timeline_have_buttons_and_keys(furnished, walker):
    open_page(walker, "review", furnished["review"])
    walker.locator("#review.is-live").wait_for()
    rows = walker.locator(".review-rows[data-group=''] > .review-row")
    first = rows.nth(0).get_attribute("id")
    assert walker.locator("[data-handle]").count() == walker.locator("[data-row]").count()
    rows.nth(0).focus()
    walker.keyboard.press("Alt+ArrowDown")
    expect(rows.nth(1)).to_have_id(first)
    expect(rows.nth(1)).to_be_focused()
    rows.nth(1).get_by_role("button", name="Move up").first.press("Enter")
    expect(rows.nth(0)).to_have_id(first)


def test_what_a_click_or_a_drag_in_a_picture_does_keys_do_too(furnished, walker):
    """A click chooses an event, a message, a channel or a process; a drag zooms and moves."""
    open_page(walker, "workbench", furnished["workbench"])
    details = walker.locator("#wb-details")
    for words, chosen in (
        ("process a", "process A"),
        ("channel b->a", "channel B->A"),
    ):
        walker.keyboard.press("Control+k")
        walker.keyboard.type(words)
        walker.keyboard.press("Enter")
        expect(details).to_contain_text(chosen)
    walker.keyboard.press("/")
    walker.keyboard.type("m1")
    walker.locator(".palette [role=option]", has_text="m1").first.wait_for()
    walker.keyboard.press("Enter")
    walker.keyboard.press("Escape")
    expect(details).to_contain_text("m1")
    readout = walker.locator("#wb-readout")
    for key in ("ArrowRight", "Home", "End"):
        before = readout.inner_text()
        walker.keyboard.press(key)
        expect(readout).not_to_have_text(before)
    for key in ("w", "a", "d", "s"):
        before = walker.url
        walker.keyboard.press(key)
        walker.wait_for_function("before => location.href !== before", arg=before)

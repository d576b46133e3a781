"""Figures as files: the drawing on the screen as PNG and SVG, saved with the keyboard alone."""

import struct
from pathlib import Path
from xml.etree import ElementTree

from tests.browser.conftest import open_sample
from tests.browser.test_workbench import wait_until_drawn

SVG = "{http://www.w3.org/2000/svg}"


def saved(page, menu, name: str) -> bytes:
    """Open a menu and choose an entry, with the keyboard."""
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    entries = menu.get_by_role("button").all_inner_texts()
    for _ in range(entries.index(name) + 1):
        page.keyboard.press("Tab")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    return Path(download.value.path()).read_bytes()


def texts_of(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    return "\n".join("".join(item.itertext()) for item in root.iter(f"{SVG}text"))


def test_a_chart_of_the_workbench_and_a_drawing_of_a_page_are_saved(learn, page):
    open_sample(page, "Two banks")
    wait_until_drawn(page)
    menu = page.locator("[data-panel=spacetime] .download-menu")
    svg = saved(page, menu, "light SVG")
    texts = texts_of(svg)
    assert "Two banks" in texts.splitlines()[-3:][0] or "Space-time diagram" in texts
    assert {"A", "B"} <= set(texts.splitlines())
    assert "time (" in texts
    assert "Saved on" in texts
    box = page.locator("#wb-spacetime").bounding_box()
    png = saved(page, menu, "light PNG")
    assert png.startswith(b"\x89PNG")
    width, _ = struct.unpack(">II", png[16:24])
    assert width == 2 * (round(box["width"]) + 24)
    page.goto(f"{page.url.partition('?')[0]}/states?snapshot=s1")
    states = texts_of(saved(page, page.locator(".download-menu").first, "SVG"))
    assert "Global states" in states
    assert "recorded" in states

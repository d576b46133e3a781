"""The themes and widths in which pages are pictured: two always, all four when run by hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.stack import PICTURES

LOOKS = [
    ("light", 1280),
    ("dark", 390),
    pytest.param("dark", 1280, marks=pytest.mark.long),
    pytest.param("light", 390, marks=pytest.mark.long),
]


@contextmanager
def looking(browser: Browser, url: str, state: Any, look: tuple[str, int]) -> Iterator[Page]:
    """Provide a page of a signed-in person in a theme and a width, of which pictures are taken."""
    scheme, width = look
    PICTURES.mkdir(parents=True, exist_ok=True)
    viewport = {"width": width, "height": 800}
    context = browser.new_context(
        base_url=url, storage_state=state, color_scheme=scheme, viewport=viewport
    )
    try:
        yield context.new_page()
    finally:
        context.close()

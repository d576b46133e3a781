"""Fixtures of the browser's tests."""

import io
import re
from zipfile import ZipFile

import pytest

from tests.browser import every_page
from tests.stack import Stack
from tests.web.api.uploading import zipped


@pytest.fixture(scope="session")
def samples(stack) -> Stack:
    """Return the stack with all samples ready."""
    stack.manage("load_samples", "--wait")
    return stack


@pytest.fixture(scope="session")
def furnished(samples, shared_data) -> dict[str, str]:
    """Return the address of one page of each kind, with data behind it, by a name."""
    return every_page.furnish(samples, shared_data)


@pytest.fixture
def learn(samples, page):
    """Return the page Learn."""
    page.goto("/learn")
    return page


@pytest.fixture
def stranger(browser, server):
    """Return a page of a browser in which nobody is signed in."""
    context = browser.new_context(base_url=server.url)
    yield context.new_page()
    context.close()


def open_sample(page, name: str) -> None:
    """Open a sample from a page that lists it."""
    page.get_by_role("link", name=name).click()
    page.locator("#workbench.is-ready").wait_for()


def hold_plotly(page) -> list:
    """Hold back the requests for Plotly, and return them."""
    held = []
    page.route("**/plotly.min.js", lambda route: held.append(route))  # noqa: PLW0108, Playwright marks it
    return held


@pytest.fixture(scope="module")
def orders(stack, browser, signed_in_state, shared_data, request) -> str:
    """Return the address of the inventory of a case with records in flight, uploaded once."""
    context = browser.new_context(base_url=stack.url, storage_state=signed_in_state)
    page = context.new_page()
    page.goto("/")
    # Other bytes for each module: of the same ones the page would only name the recording.
    packed = io.BytesIO(zipped(shared_data / "flink" / "unaligned-orders", "files", "rest").read())
    with ZipFile(packed, "a") as archive:
        archive.comment = request.module.__name__.encode()
    file = {"name": "orders.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    page.set_input_files("#upload-file", file)
    page.wait_for_url(re.compile(r"/recordings/\d+/answer$"), timeout=90_000)
    page.get_by_role("link", name="Inventory").first.click()
    page.wait_for_url(re.compile(r"/recordings/\d+/contents$"))
    address = page.url.removeprefix(stack.url)
    context.close()
    return address

"""Fixtures of the browser's tests."""

import pytest

from tests.browser import every_page
from tests.stack import Stack


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


def open_sample(page, name: str) -> None:
    """Open a sample from a page that lists it."""
    page.get_by_role("link", name=name).click()
    page.locator("#workbench.is-ready").wait_for()


def hold_plotly(page) -> list:
    """Hold back the requests for Plotly, and return them."""
    held = []
    page.route("**/plotly.min.js", lambda route: held.append(route))  # noqa: PLW0108, Playwright marks it
    return held

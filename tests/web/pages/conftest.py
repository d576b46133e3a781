"""Fixtures of the tests of pages."""

import pytest

from tests.web.given import signed_in


@pytest.fixture
def client(ada):
    """Return a client like a browser in which ``ada`` is signed in."""
    return signed_in(ada)

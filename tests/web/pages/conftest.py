"""What the tests of pages begin with."""

import pytest

from tests.web.given import signed_in


@pytest.fixture
def client(ada):
    """A browser-like client in which ``ada`` is signed in."""
    return signed_in(ada)

"""What the tests of exported documents share."""

import pytest

from tests.domain.proving.checking import a_checker
from tests.web.given import a_ready_recording, signed_in


@pytest.fixture(scope="module")
def checker():
    with a_checker() as process:
        yield process


@pytest.fixture
def client(ada):
    return signed_in(ada)


@pytest.fixture
def banks(ada):
    return a_ready_recording(ada)

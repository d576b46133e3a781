"""The launcher and its supervisor, started by tests and ended after each."""

from functools import partial

import pytest

from tests.webapp.launched import Launched, LaunchedWith, Supervised


def starting(make):
    """Yield a function that starts what ``make`` builds, and end all of it afterwards."""
    started = []

    def start(*args, **variables):
        started.append(make(*args, **variables))
        return started[-1]

    yield start
    for each in started:
        each.end()


@pytest.fixture
def launched(tmp_path):
    yield from starting(partial(Launched, tmp_path / "var"))


@pytest.fixture
def supervised(tmp_path):
    yield from starting(partial(Supervised, tmp_path))


@pytest.fixture
def launched_with(tmp_path):
    yield from starting(partial(LaunchedWith, tmp_path))

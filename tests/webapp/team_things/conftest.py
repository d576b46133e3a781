"""A team of one person, and this person's browser."""

import pytest

from tests.web.given import signed_in
from webapp.teams import services


@pytest.fixture
def team(ada):
    return services.create_team(ada, "payments")


@pytest.fixture
def client(ada):
    return signed_in(ada)

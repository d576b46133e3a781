"""The page of running systems, as it is before any script runs."""

import pytest

from tests.web.api.test_live_systems import TOLD, post
from tests.web.api.test_open_recordings import opened
from tests.web.given import a_client, a_person, signed_in, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir", "rooms")]


def test_what_nobody_has_told_of_a_system_is_not_known():
    person = a_person()
    api = a_client(person)
    pk = opened(api).json()["id"]
    page = text_of(signed_in(person).get("/live"))
    for fact in ("epoch", "sum", "total"):
        assert f'data-show="{fact}">not known<' in page
    assert "Not known, because no command is connected." in page
    post(api, f"{pk}/system", TOLD | {"snapshots": []})
    page = text_of(signed_in(person).get("/live"))
    assert 'data-show="epoch">2 times<' in page
    assert 'data-show="total">10<' in page
    assert "The system has reported none yet." in page

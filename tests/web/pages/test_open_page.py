"""The page of an open recording."""

import re

import pytest

from tests.web.api.test_open_recordings import EVENTS, lines, opened, send
from tests.web.given import a_client, a_person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


def test_every_link_of_an_open_recording_leads_to_a_page(client):
    person = a_person()
    api = a_client(person)
    pk = opened(api).json()["id"]
    send(api, pk, lines(*EVENTS))
    client.force_login(person)
    page = client.get(f"/recordings/{pk}").content.decode()
    links = set(re.findall(rf'href="(/(?:recordings/{pk}|compare)[^"#]*)"', page))
    assert f"/recordings/{pk}/snapshots" in links
    refused = {link: client.get(link).status_code for link in links}
    assert {link: status for link, status in refused.items() if status >= 400} == {}

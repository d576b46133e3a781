"""A document of notes holds its claims with their evidence, and nothing that a page must not."""

import json
import re

import pytest

from snapshots.reviews import entries
from tests.domain.proving.checking import a_checker
from tests.web.given import a_ready_recording, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]

PLACES = (
    "snapshot:s1",
    "moment:time:2000",
    "moment:order:7",
    "cut:A=3:B=2",
    "event:B:2",
    "message:A-%3EB:m1",
    "channel:A-%3EB",
)


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


def noted(user, subject, place, text="look"):
    return entries.write(user, subject, {"text": text, "place": place})


def fetched(client, subject, format="html"):
    answer = client.get(f"/recordings/{subject.pk}/notes/document?format={format}")
    assert answer.status_code == 200, answer.content[-2000:]
    return answer.content.decode() if format == "html" else answer.content


def data_of(html):
    [block] = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL
    )
    return json.loads(block)


def test_every_claim_of_a_document_is_derived_again_from_its_data(client, ada, banks, checker):
    for place in PLACES:
        noted(ada, banks, place)
    html = fetched(client, banks)
    data = data_of(html)
    answers = checker.checked(data)
    outcomes = [answer["outcome"] for answer in answers]
    assert outcomes.count("holds") == len(outcomes) - 1, answers
    assert outcomes.count("not checked here") == 1, "a channel: the moment is not kept"
    for claim in data["claims"]:
        assert f'data-claim="{claim["id"]}"' in html
